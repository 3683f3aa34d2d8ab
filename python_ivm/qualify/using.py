"""USING and NATURAL: columns that a join merges.

sqlglot writes a merged column as COALESCE of the sides. Spark shows the left side's column in its
own type; what an outer join makes NULL, and what a semi or anti join hides, is another column.
"""

from __future__ import annotations

from functools import cache

from sqlglot import exp

from python_ivm.algebra.conditions import conjuncts
from python_ivm.errors import NotYetImplemented
from python_ivm.parse.trees import from_items, nodes_in, position
from python_ivm.qualify.relations import Relations


def note_merges(tree: exp.Query) -> None:
    """Note which joins merge columns, before sqlglot writes them as joins on conditions.

    Args:
        tree: Changed in place.
    """
    for join in tree.find_all(exp.Join):
        join.meta["merges"] = bool(join.args.get("using")) or join.method == "NATURAL"
    _refuse_named_like_a_key(tree)
    _show_fields_of_merged_columns(tree)


def _refuse_named_like_a_key(tree: exp.Query) -> None:
    """Refuse ``max(k)`` behind a GROUP BY of which an output is named ``k``, too.

    sqlglot takes the column for the output, whose expression it writes there.

    Raises:
        NotYetImplemented: At the first such column.
    """
    for select in tree.find_all(exp.Select):
        joins = [join for join in select.args.get("joins") or [] if join.meta["merges"]]
        merged = {name.name.lower() for join in joins for name in join.args.get("using") or ()}
        every = any(join.method == "NATURAL" for join in joins)
        outputs = {
            item.alias.lower()
            for item in select.selects
            if isinstance(item, exp.Alias)
            and not isinstance(item.this, exp.Column)
            and item.find(exp.AggFunc) is None
        }
        for column in nodes_in(select, exp.Column, "having", "qualify", "order"):
            name = column.name.lower()
            if column.table or name not in outputs or not (every or name in merged):
                continue
            if column.find_ancestor(exp.AggFunc) is not None:
                raise NotYetImplemented(
                    f"An aggregate of {name}, which a join merges and an output is named like",
                    operator="USING",
                    hint="Qualify the column with its table.",
                    **position(column.this),
                )


def note_written(tree: exp.Query) -> None:
    """Note each COALESCE, before sqlglot adds those of merged columns, in place."""
    for written in tree.find_all(exp.Coalesce):
        written.meta["written"] = True


def merge_columns(tree: exp.Query, known: Relations) -> None:
    """Merge columns as Spark does, where sqlglot does otherwise.

    Args:
        tree: A qualified query, noted by the functions above before; changed in place.
        known: Knows the columns of relations.
    """
    for select in tree.find_all(exp.Select):
        _merge_no_hidden_columns(select, known)
    _compare_merged_columns(tree)
    _show_merged_columns(tree)


def _show_fields_of_merged_columns(tree: exp.Query) -> None:
    """Tell sqlglot that ``p.a`` is a field of a column that USING merges, and no column of p."""
    for select in tree.find_all(exp.Select):
        if not any(join.meta["merges"] for join in select.args.get("joins") or []):
            continue
        every = tree.find_all(exp.Table, exp.Subquery, exp.Lateral, exp.Values)
        relations = {relation.alias_or_name.lower() for relation in every}
        for column in list(select.find_all(exp.Column)):
            if column.parent_select is select and len(column.parts) == 2:
                first, last = column.parts
                if first.name.lower() not in relations:
                    column.replace(exp.Dot(this=exp.column(first.copy()), expression=last.copy()))


def _merge_no_hidden_columns(select: exp.Select, known: Relations) -> None:
    """Let USING take the first column that can be seen, none of a semi or anti join, in place."""
    joins = select.args.get("joins") or []
    hidden = {join.alias_or_name: join for join in joins if join.is_semi_or_anti_join}
    if not hidden or not any(join.meta.get("merges") for join in joins):
        return
    seen = [item for item in from_items(select) if item.alias_or_name not in hidden]

    @cache
    def shown(number: int) -> list[str]:
        probe = exp.Select().select("*").from_(seen[number].copy())
        probe.parent = select  # the CTEs around are visible
        return known.columns(probe)

    for column in list(select.find_all(exp.Column)):
        join, around = hidden.get(column.table), column.parent
        here = column.parent_select
        if isinstance(around, exp.Coalesce) and not around.meta.get("written"):
            here = _joining(around)
        if join is None or here is not select or column.find_ancestor(exp.Join) is join:
            continue
        holder = next((i for n, i in enumerate(seen) if column.name in shown(n)), None)
        if holder is not None:
            column.set("table", exp.to_identifier(holder.alias_or_name, quoted=True))
    for merged in list(select.find_all(exp.Coalesce)):
        columns = list(dict.fromkeys((merged.this, *merged.expressions)))
        if not merged.meta.get("written") and len(columns) <= len(merged.expressions):
            merged.replace(exp.func("coalesce", *columns) if len(columns) > 1 else columns[0])


def _compare_merged_columns(tree: exp.Query) -> None:
    """Let USING compare what the joins before have merged, in place.

    Where sqlglot takes the first relation's column, that may be NULL after a right or full join.
    HAVING, QUALIFY and ORDER BY, in which sqlglot leaves a merged column as it is, get it as well:
    outside of aggregates, unless an output has its name.
    """
    for select in tree.find_all(exp.Select):
        merged: dict[str, exp.Expr] = {}
        holders: dict[str, list[exp.Expr]] = {}
        for join in select.args.get("joins") or []:
            if not join.meta.get("merges") or join.args.get("on") is None:
                continue
            for term in conjuncts(join.args["on"]):
                left, right = term.args["this"], term.args["expression"]
                if right.name in merged:
                    left = merged[right.name].copy()
                term.set("this", left)
                if join.is_semi_or_anti_join:
                    continue
                holders.setdefault(right.name, [left]).append(right)
                merged[right.name] = _merged(join.side, left, right)
        outputs = {item.alias_or_name for item in select.selects}
        for column in list(nodes_in(select, exp.Column, "having", "qualify", "order")):
            held = holders.get(column.name) if not column.table else None
            if held and (column.name not in outputs or column.find_ancestor(exp.AggFunc)):
                column.replace(exp.func("coalesce", *(h.copy() for h in held)))


def _show_merged_columns(tree: exp.Query) -> None:
    """Let USING show the column that has all values, in its type, and no COALESCE, in place.

    That is the left side's, after a right join the right side's, and of a full join both.
    """
    for coalesce in list(tree.find_all(exp.Coalesce)):
        if coalesce.meta.get("written"):
            continue
        select = _joining(coalesce)
        if select is None:
            continue
        sides = {join.alias_or_name: join.side for join in select.args.get("joins") or []}
        shown = coalesce.this
        for right in coalesce.expressions:
            side = sides.get(right.table, "") if isinstance(right, exp.Column) else ""
            shown = _merged(side, shown, right)
        coalesce.replace(shown)


def _merged(side: str, left: exp.Expr, right: exp.Expr) -> exp.Expr:
    """What has all values of a column that a join merges, by the side of the join."""
    if side == "FULL":
        return exp.func("coalesce", left.copy(), right.copy())
    return right if side == "RIGHT" else left


def _joining(merged: exp.Coalesce) -> exp.Select | None:
    """The SELECT whose FROM has a merged column: not the nearest one, in a correlated subquery."""
    first = merged.find(exp.Column)
    select = merged.find_ancestor(exp.Select)
    while select is not None and first is not None:
        if any(item.alias_or_name == first.table for item in from_items(select)):
            break
        select = select.find_ancestor(exp.Select)
    return select
