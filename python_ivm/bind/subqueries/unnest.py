"""A correlated subquery of any shape, rewritten to one that names its domain.

The free columns of a subquery are those of the outer query. Their distinct values are a relation,
the domain. Every SELECT in which a free column stands joins it, and shows for which row of the
domain each of its rows is: GROUP BY, window functions, set operations and LIMIT are done for each
row of the domain. The outer query then joins the result on these columns.

Source: Neumann and Kemper, "Unnesting Arbitrary Queries", BTW 2015, §3: the dependent join with
the domain, pushed down to where no column is free.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from python_ivm.algebra.columns import first_free
from python_ivm.bind.grouping.grouping_sets import has_only_keys
from python_ivm.bind.subqueries.correlation import is_outer_aggregate, no_rule, outer_columns
from python_ivm.bind.windows.window_functions import with_named_windows
from python_ivm.functions.aggregates import (
    core,
    function_name,
    has_aggregate,
    is_aggregate_call,
    or_of_no_rows,
)
from python_ivm.parse.trees import quoted_column

_FREE = "free"
"""The note on a free column: its name in the domain. On a table: its CTE has a free column."""


@dataclass(frozen=True)
class Unnested:
    """A subquery that names its domain instead of the outer query.

    Attributes:
        tree: The subquery; behind its own columns it shows those of the domain.
        free: The columns and aggregates of the outer query that it named.
        names: What the domain's columns are called, in the same order.
    """

    tree: exp.Query
    free: tuple[exp.Expr, ...]
    names: tuple[str, ...]


def unnest(tree: exp.Query, domain: str) -> Unnested:
    """Let a correlated subquery join its domain.

    Args:
        tree: The subquery; it stays as it is.
        domain: The domain's name.

    Raises:
        NotYetImplemented: For clauses that cannot be done for each row of the domain.
    """
    copied = tree.copy()
    taken = {c.name for c in copied.find_all(exp.Column)} | {a.alias for a in _aliases(copied)}
    names: dict[exp.Expr, str] = {}
    for node in _free_parts(copied):
        if node not in names:
            wanted = node.name if isinstance(node, exp.Column) else function_name(core(node))
            new = first_free(f"{domain}_{wanted}", lambda name: name not in taken)
            taken.add(new)
            names[node.copy()] = new
        node.meta[_FREE] = names[node]
    unnesting = _Unnesting(domain, tuple(names.values()))
    done = unnesting.query(copied)
    if unnesting.is_free(done):
        raise no_rule("A correlated CTE in a subquery further inside", tree)
    return Unnested(done, tuple(names), tuple(names.values()))


def _free_parts(tree: exp.Query) -> list[exp.Expr]:
    """The columns and aggregates of the outer query that a subquery names."""
    free = outer_columns(tree)
    around = {id(column) for column in free}
    calls = [node for node in tree.walk() if is_outer_aggregate(node, around)]
    inside = {id(column) for call in calls for column in call.find_all(exp.Column)}
    return [*calls, *(column for column in free if id(column) not in inside)]


def _aliases(tree: exp.Query) -> Iterable[exp.Expr]:
    return tree.find_all(exp.Alias, exp.TableAlias)


@dataclass
class _Unnesting:
    """Rewrites one subquery in place.

    Attributes:
        domain: The domain's name.
        names: The names of its columns.
    """

    domain: str
    names: tuple[str, ...]

    def query(self, tree: exp.Query) -> exp.Query:
        """A query with the domain's columns behind its own."""
        inner = tree.unnest()
        if not isinstance(inner, exp.Query):
            raise no_rule(f"{inner.key.upper()} as a correlated subquery", tree)
        if inner is not tree and any(tree.args.get(k) for k in ("order", "limit", "offset")):
            raise no_rule("A correlated subquery with a modifier behind parentheses", tree)
        with_ = inner.args.get("with_")
        if with_ is not None:
            self._ctes(inner, with_)
            inner.set("with_", None)
        if isinstance(inner, exp.SetOperation):
            done = self._set_operation(inner)
        elif isinstance(inner, exp.Select):
            done = self._select(inner)
        else:
            raise no_rule(f"{inner.key.upper()} as a correlated subquery", tree)
        done.set("with_", with_)
        return done

    def _ctes(self, tree: exp.Query, with_: exp.With) -> None:
        if with_.args.get("recursive"):
            raise no_rule("WITH RECURSIVE in a correlated subquery", tree)
        for cte in with_.expressions:
            if self.is_free(cte.this):
                cte.set("this", self.query(cte.this))
                for table in tree.find_all(exp.Table):
                    if table.name == cte.alias:
                        table.meta[_FREE] = True

    @staticmethod
    def is_free(node: exp.Expr) -> bool:
        """Whether a free column, or a CTE with one, is named somewhere in a tree."""
        return any(n.meta.get(_FREE) for n in node.walk())

    def _of(self, relation: str) -> dict[str, exp.Column]:
        return {name: quoted_column(name, relation) for name in self.names}

    def _outputs(self, relation: str) -> list[exp.Expr]:
        return [exp.alias_(c, name, quoted=True) for name, c in self._of(relation).items()]

    def _joined_on_domain(self, one: str, other: str) -> exp.Expr:
        pairs = zip(self._of(one).values(), self._of(other).values(), strict=True)
        return exp.and_(*(exp.NullSafeEQ(this=a, expression=b) for a, b in pairs))

    # -- one SELECT --------------------------------------------------------------------------

    def _select(self, written: exp.Select) -> exp.Query:
        tree = with_named_windows(written)
        group = tree.args.get("group")
        of_all = [*tree.selects, *filter(None, [tree.args.get("having")])]
        if group is None and any(map(has_aggregate, of_all)):
            return self._one_row(tree)
        relation = self._from(tree)
        self._bind(tree, relation)
        columns = self._of(relation).values()
        if group is not None:
            if not has_only_keys(group):
                raise no_rule("GROUP BY of this shape in a correlated subquery", tree)
            group.set("expressions", [*group.expressions, *(c.copy() for c in columns)])
        tree.set("windows", None)
        within_keys(tree, list(columns))
        if tree.args.get("limit") or tree.args.get("offset"):
            if tree.args.get("qualify"):
                raise no_rule("QUALIFY beside LIMIT in a correlated subquery", tree)
            if tree.args.get("distinct"):
                tree.set("expressions", [*tree.selects, *self._outputs(relation)])
                return self._first_rows(*self._inside_out(tree))
            return self._first_rows(tree, relation, order_over_rows(tree))
        tree.set("order", None)
        tree.set("expressions", [*tree.selects, *self._outputs(relation)])
        return tree

    def _bind(self, tree: exp.Expr, relation: str) -> None:
        """Let free columns name a relation that has the domain's columns."""
        columns = self._of(relation)
        for node in [n for n in tree.walk() if n.meta.get(_FREE) in columns]:
            node.replace(columns[node.meta[_FREE]].copy())

    def _from(self, tree: exp.Select) -> str:
        """Put the domain into FROM; the name of a relation that has its columns in every row."""
        from_ = tree.args.get("from_")
        first = from_.this if from_ is not None else None
        joins = list(tree.args.get("joins") or [])
        keeps_right = any(join.side in ("RIGHT", "FULL") for join in joins)
        if keeps_right and any(self.is_free(part) for part in (first, *joins) if part is not None):
            raise no_rule("A RIGHT or FULL JOIN of correlated relations", tree)
        relation = self.domain
        if first is not None and self._has_domain(first):
            relation = first.alias_or_name
        for join in joins:
            if self._has_domain(join.this):
                same = self._joined_on_domain(relation, join.this.alias_or_name)
                on = join.args.get("on")
                join.set("on", same if on is None else exp.and_(on, same))
                if join.kind == "CROSS":
                    join.set("kind", None)
        if relation != self.domain:
            return relation
        if first is not None:
            if keeps_right:
                first = first.copy()
                first.set("joins", joins)
                first, joins = exp.Subquery(this=first), []
            joins = [exp.Join(this=first, kind="CROSS"), *joins]
        name = exp.to_identifier(relation, quoted=True)
        table = exp.Table(this=name, alias=exp.TableAlias(this=name.copy()))
        tree.set("from_", exp.From(this=table))
        tree.set("joins", joins)
        return relation

    def _has_domain(self, item: exp.Expr) -> bool:
        """Whether an item of FROM has the domain's columns; a derived table gets them."""
        if (
            isinstance(item, exp.Subquery)
            and self.is_free(item)
            and isinstance(item.this, exp.Query)
        ):
            item.set("this", self.query(item.this))
            return True
        return isinstance(item, exp.Table) and bool(item.meta.pop(_FREE, False))

    def _one_row(self, tree: exp.Select) -> exp.Select:
        """Aggregates without GROUP BY: one row for each row of the domain, also over no rows."""
        limit = tree.args.get("limit")
        none = limit is not None and not _whole_number(limit, 0)
        windows = any(item.find(exp.Window) for item in tree.selects)
        if none or windows or tree.args.get("offset") or tree.args.get("qualify"):
            raise no_rule("An aggregate beside other clauses in a correlated subquery", tree)
        groups = f"{self.domain}_groups"
        measures: dict[exp.Expr, str] = {}
        having = tree.args.get("having")
        shown = [*tree.selects, *([having.this] if having is not None else [])]
        values = [self._over_groups(value, groups, measures) for value in shown]
        inner = tree.copy()
        for clause in ("having", "order", "distinct", "limit"):
            inner.set(clause, None)
        items = [exp.alias_(call.copy(), name, quoted=True) for call, name in measures.items()]
        inner.set("expressions", items)
        relation = self._from(inner)
        self._bind(inner, relation)
        inner.set("expressions", [*inner.selects, *self._outputs(relation)])
        inner.group_by(*(c.copy() for c in self._of(relation).values()), copy=False)
        same = self._joined_on_domain(self.domain, groups)
        outer = exp.Select()
        self._from(outer)
        outer.append("joins", exp.Join(this=inner.subquery(groups), side="LEFT", on=same))
        if having is not None:
            outer.where(values.pop(), copy=False)
        outer.set("expressions", [*values, *self._outputs(self.domain)])
        self._bind(outer, self.domain)
        return outer

    def _over_groups(self, value: exp.Expr, groups: str, measures: dict[exp.Expr, str]) -> exp.Expr:
        """An expression with aggregates over the groups' columns, which may be missing."""

        def over(node: exp.Expr) -> exp.Expr:
            if not is_aggregate_call(node) or node.find_ancestor(exp.Query) is not None:
                return node
            if node.meta.get(_FREE):
                raise no_rule("An aggregate of the outer query in a subquery's list", node)
            name = measures.setdefault(node, f"value_{len(measures) + 1}")
            column = quoted_column(name, groups)
            return or_of_no_rows(node, column)

        return value.copy().transform(over)

    # -- first rows --------------------------------------------------------------------------

    def _inside_out(self, tree: exp.Query) -> tuple[exp.Select, str, list[exp.Ordered]]:
        """A DISTINCT or a set operation as a derived table, and its ORDER BY over that."""
        label = f"{self.domain}_rows"
        order = tree.args.get("order")
        items = tree.selects[: -len(self.names)]
        columns = {i.alias_or_name: quoted_column(i.alias_or_name, label) for i in items}
        values = {i.unalias(): columns[i.alias_or_name] for i in items}
        outer = exp.Select().select(*(exp.alias_(c, name) for name, c in columns.items()))
        for clause in ("limit", "offset"):
            outer.set(clause, tree.args.get(clause))
            tree.set(clause, None)
        tree.set("order", None)
        outer = outer.from_(tree.subquery(label))

        def over(node: exp.Expr) -> exp.Expr:
            found = values.get(node)
            if found is None and isinstance(node, exp.Column):
                found = None if node.table else columns.get(node.name)
                if found is None:
                    raise no_rule("ORDER BY of what a correlated subquery does not show", node)
            return node if found is None else found.copy()

        written = order.expressions if order is not None else []
        return outer, label, [key.copy().transform(over) for key in written]

    def _first_rows(self, tree: exp.Select, relation: str, order: list[exp.Ordered]) -> exp.Select:
        """LIMIT and OFFSET: the rows by their number within a row of the domain."""
        label, rank = f"{self.domain}_ranked", f"{self.domain}_rank"
        keys = order or [exp.Ordered(this=s.unalias().copy()) for s in tree.selects]
        limit, offset = (tree.args.get(k) for k in ("limit", "offset"))
        number = exp.Window(
            this=exp.RowNumber(),
            partition_by=list(self._of(relation).values()),
            order=exp.Order(expressions=[key.copy() for key in keys]),
        )
        names = tree.named_selects
        ranked = exp.alias_(number, rank, quoted=True)
        tree.set("expressions", [*tree.selects, ranked, *self._outputs(relation)])
        for clause in ("limit", "offset", "order"):
            tree.set(clause, None)
        outer = exp.Select().from_(tree.subquery(label))
        outer = outer.select(
            *(exp.alias_(quoted_column(n, label), n, quoted=True) for n in names),
            *self._outputs(label),
        )
        first = _whole_number(offset, 0)
        at = quoted_column(rank, label)
        if first:
            outer.where(exp.GT(this=at.copy(), expression=exp.Literal.number(first)), copy=False)
        if limit is not None:
            last = exp.Literal.number(first + _whole_number(limit, 0))
            outer.where(exp.LTE(this=at.copy(), expression=last), copy=False)
        return outer

    # -- set operations ----------------------------------------------------------------------

    def _set_operation(self, tree: exp.SetOperation) -> exp.Query:
        for side in ("this", "expression"):
            tree.set(side, self.query(tree.args[side]))
        if tree.args.get("limit") or tree.args.get("offset"):
            return self._first_rows(*self._inside_out(tree))
        tree.set("order", None)
        return tree


def within_keys(select: exp.Select, keys: Sequence[exp.Expr]) -> None:
    """Let a SELECT's window functions see the rows of one key, in place."""
    for window in select.find_all(exp.Window):
        if window.parent_select is select:
            own = window.args.get("partition_by") or []
            window.set("partition_by", [*(key.copy() for key in keys), *own])


def order_over_rows(tree: exp.Select) -> list[exp.Ordered]:
    """The keys of ORDER BY, with the output columns that they name written out."""
    order = tree.args.get("order")
    outputs = {s.alias: s.unalias() for s in tree.selects if s.alias}
    keys = [key.copy() for key in order.expressions] if order is not None else []
    for key in keys:
        for column in list(key.find_all(exp.Column)):
            if not column.table and column.name in outputs:
                column.replace(outputs[column.name].copy())
    return keys


def _whole_number(clause: exp.Expr | None, otherwise: int) -> int:
    if clause is None:
        return otherwise
    value = clause.expression
    if not isinstance(value, exp.Literal) or not value.is_int:
        raise no_rule("LIMIT of this shape in a correlated subquery", clause)
    return int(value.name)
