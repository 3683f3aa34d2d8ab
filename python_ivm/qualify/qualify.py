"""Name resolution: every column gets its relation, stars and USING are written out."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from sqlglot import exp
from sqlglot.errors import OptimizeError, SqlglotError
from sqlglot.optimizer.qualify import qualify as sqlglot_qualify

from python_ivm.algebra.conditions import conjuncts
from python_ivm.errors import InvalidModel, NotYetImplemented
from python_ivm.parse.ctes import cte_of, rename_hidden
from python_ivm.parse.parser import DIALECT, table_key, table_references
from python_ivm.parse.trees import from_items, nodes_in, place, position
from python_ivm.qualify.generators import as_lateral_views
from python_ivm.qualify.lateral import qualify_inner_names
from python_ivm.qualify.ordinals import resolve_ordinals, write_out_all
from python_ivm.qualify.pivot import without_pivots
from python_ivm.qualify.relations import Relations, refuse_unnamed_join
from python_ivm.qualify.schema import Schemas
from python_ivm.qualify.stars import expand_stars
from python_ivm.qualify.struct_fields import name_fields, name_fields_of_outputs, restore_fields
from python_ivm.qualify.table_aliases import name_relations
from python_ivm.qualify.time_windows import name_time_windows
from python_ivm.qualify.type_coercion import annotate

_POSITION = re.compile(r"\s*Line: (\d+), Col: (\d+)")


def qualify(query: exp.Query, schemas: Schemas) -> exp.Query:
    """Resolve all names of a query as Spark does.

    Args:
        query: A parsed query; left as it is.
        schemas: The tables that it reads.

    Returns:
        A new tree in lower case, but for fields and keys, in which each table is one identifier
        (its planner key) with an alias, each column is ``alias.column``, stars, USING and NATURAL
        are expanded, and GROUP BY and HAVING name expressions rather than ordinals or aliases.

    Raises:
        InvalidModel: For an unknown table or column, or an ambiguous one, with its position.
        NotYetImplemented: For some joins in and beside parentheses, stars inside structs, and the
            type time.
    """
    tree = query.copy()
    for reference in table_references(query):
        if reference.key not in schemas:
            raise InvalidModel(
                f"Table {'.'.join(reference.parts)} does not exist",
                line=reference.line,
                column=reference.column,
                hint="Check the name, or run the model that builds it first.",
            )
    name_relations(tree)
    _mend_types(tree)
    name_fields(tree)
    rename_hidden(tree)
    _collapse_table_names(tree, schemas)
    mapping = {
        key: {name.lower(): kind.lower() for name, kind in table.columns.items()}
        for key, table in schemas.items()
    }
    known = Relations(mapping)
    for select in tree.find_all(exp.Select):
        _refuse_two_of_one_name(select)
        _forget_partitions(select)
    for join in tree.find_all(exp.Join):
        join.meta["merges"] = bool(join.args.get("using")) or join.method == "NATURAL"
    _show_fields_of_merged_columns(tree)
    for select in reversed(list(tree.find_all(exp.Select))):
        without_pivots(select, known)
        expand_stars(select, known)
        name_time_windows(select, known)
        as_lateral_views(select, known)
        name_fields_of_outputs(select, known)
        qualify_inner_names(select, known)
    for written in tree.find_all(exp.Coalesce):
        written.meta["written"] = True
    try:
        qualified = sqlglot_qualify(tree, schema=known.schema, dialect=DIALECT)
    except OptimizeError as error:
        refuse_unnamed_join(error)
        raise _unresolved(query, mapping, str(error)) from error
    except SqlglotError as error:
        raise InvalidModel(str(error)) from error
    for select in qualified.find_all(exp.Select):
        resolve_ordinals(select)
    for part in qualified.find_all(exp.Query):
        write_out_all(part)
    restore_fields(qualified, known)
    for part in qualified.find_all(exp.Select):
        _merge_no_hidden_columns(part, known)
    _compare_merged_columns(qualified)
    resolved = _left_columns_of_inner_using(qualified)
    annotate(resolved, known)
    return resolved


def _mend_types(tree: exp.Query) -> None:
    """Tell collations from columns, in place.

    Raises:
        NotYetImplemented: For the type time, which sqlglot writes as timestamp.
    """
    for kind in tree.find_all(exp.DataType):
        if kind.this is exp.DType.TIME:
            raise NotYetImplemented("The type time", operator="time", **place(kind))
        collation = kind.args.get("collate")
        if isinstance(collation, exp.Column):
            kind.set("collate", exp.Var(this=collation.name))


def _forget_partitions(select: exp.Select) -> None:
    """Drop what says only which of Spark's tasks has a row, and in which order, in place.

    With LIMIT it may choose the rows, and stays.
    """
    if not select.args.get("limit") and not select.args.get("offset"):
        for clause in ("sort", "cluster", "distribute"):
            select.set(clause, None)


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
    HAVING, QUALIFY and ORDER BY, in which sqlglot leaves a merged column as it is, get it as well.
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
                both = exp.func("coalesce", left.copy(), right.copy())
                merged[right.name] = {"RIGHT": right, "FULL": both}.get(join.side, left)
        outputs = {item.alias_or_name for item in select.selects}
        for column in list(nodes_in(select, exp.Column, "having", "qualify", "order")):
            held = holders.get(column.name) if not column.table else None
            if held and column.name not in outputs:
                column.replace(exp.func("coalesce", *(h.copy() for h in held)))


def _refuse_two_of_one_name(select: exp.Select) -> None:
    """Columns of relations that share a name could not be told apart."""
    seen: set[str] = set()
    for item in from_items(select) + (select.args.get("laterals") or []):
        name = item.alias_or_name.lower()
        if name and name in seen:
            raise InvalidModel(
                f"Two relations in FROM are named {name}",
                hint="Give one of them another name with AS.",
                **position(item),
            )
        seen.add(name)


def _unresolved(query: exp.Query, mapping: dict[str, dict[str, str]], text: str) -> InvalidModel:
    """The error for a column that no relation, or more than one, has."""
    found = re.search(r"Column '?([^'\n]*?)'? could not|Unknown column: (.*?)\.?$", text)
    name = (found.group(1) or found.group(2) or "").split(".")[-1].strip('`"') if found else ""
    where: dict[str, Any] = {}
    at = _POSITION.search(text)
    for column in query.find_all(exp.Column):
        if column.name.lower() != name.lower():
            continue
        here = position(column.this)
        if at is None or here.get("line") == int(at.group(1)):
            where = here
            break
    if not name:
        return InvalidModel(_POSITION.sub("", text).rstrip("."), **where)
    if sum(name.lower() in columns for columns in mapping.values()) and at is not None:
        return InvalidModel(
            f"Column {name} is ambiguous, or not visible here",
            hint="Qualify the column with its table.",
            **where,
        )
    return InvalidModel(
        f"Column {name} does not exist",
        hint="Check the spelling and the table that it should come from.",
        **where,
    )


def _joining(merged: exp.Coalesce) -> exp.Select | None:
    """The SELECT whose FROM has a merged column: not the nearest one, in a correlated subquery."""
    first = merged.find(exp.Column)
    select = merged.find_ancestor(exp.Select)
    while select is not None and first is not None:
        if any(item.alias_or_name == first.table for item in from_items(select)):
            break
        select = select.find_ancestor(exp.Select)
    return select


def _left_columns_of_inner_using(tree: exp.Query) -> exp.Query:
    """An inner USING shows the left side's column, in its type, where sqlglot shows COALESCE."""
    for coalesce in list(tree.find_all(exp.Coalesce)):
        if coalesce.meta.get("written"):
            continue
        select = _joining(coalesce)
        if select is None:
            continue
        if all(not join.side for join in select.args.get("joins") or []):
            coalesce.replace(coalesce.this)
    return tree


def _collapse_table_names(tree: exp.Query, schemas: Schemas) -> None:
    """Make each source table one identifier, and drop schema names before columns."""
    for table in list(tree.find_all(exp.Table)):
        parts = [p for p in table.parts if isinstance(p, exp.Identifier)]
        key = table_key(tuple(p.name for p in parts))
        if not parts or key not in schemas or cte_of(table) is not None:
            continue
        if not table.alias:
            table.set("alias", exp.TableAlias(this=parts[-1].copy()))
        table.set("this", exp.to_identifier(key, quoted=True))
        table.set("db", None)
        table.set("catalog", None)
    for column in tree.find_all(exp.Column):
        owner = table_key(tuple(p.name for p in column.parts[:-1]))
        if any(f".{key}".endswith(f".{owner}") for key in schemas):  # else a field of a struct
            column.set("db", None)
            column.set("catalog", None)
