"""Subqueries whose correlated conditions are conjuncts of their own WHERE: these are pulled up.

The subquery becomes rows without correlation, and the conditions those of a join with the outer
query.

Source: Neumann and Kemper, "Unnesting Arbitrary Queries", BTW 2015, for the special case that a
correlation is a conjunction at the subquery's top.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from python_ivm.algebra.columns import ColumnRef, Named, columns_of, substitute, under
from python_ivm.algebra.conditions import common_conjuncts
from python_ivm.algebra.nodes import Aggregate, Filter, Node, Project
from python_ivm.bind.grouping.post_aggregation import PostAggregation
from python_ivm.bind.scope import SelectScope, placeholders
from python_ivm.bind.subqueries.correlation import compares_alike, no_rule, outer_columns
from python_ivm.bind.subqueries.equality_correlated import equality_correlated
from python_ivm.bind.subqueries.scalar import (
    Correlated,
    Scalar,
    equal_keys,
    of_no_rows,
    one_for_each,
    only,
    value_of,
)
from python_ivm.functions.aggregates import has_aggregate, is_aggregate_call


class SubqueryBinder:
    """Binds a subquery whose expressions may name columns of the outer query."""

    def __init__(self, around: SelectScope, tree: exp.Query) -> None:
        """Take the outer query and the subquery."""
        self.around = around
        self.tree = tree
        self.binder = around.binder

    def rows(
        self, values: tuple[exp.Expr, ...]
    ) -> tuple[Node, list[exp.Expr], tuple[exp.Expr, ...]]:
        """The subquery's rows as a relation.

        Args:
            values: Expressions of the subquery that the caller compares.

        Returns:
            The relation, the values over its columns, and the correlated conditions.
        """
        if not self.is_simple():
            if outer_columns(self.tree):
                found = equality_correlated(self.around, self.tree, "subquery")
                return found.rows, list(found.columns[: len(values)]), found.conditions
            whole = self._uncorrelated()
            return whole, [c.expression() for c in whole.schema[: len(values)]], ()
        select, node, correlated = self.from_and_where()
        bound = [select.expression(v) for v in values]
        node, every = self._filled(select, node, [*bound, *correlated])
        bound, correlated = every[: len(bound)], every[len(bound) :]
        own = set(node.schema)
        used = {c for e in (*bound, *correlated) for c in columns_of(e) if c in own}
        kept = [c for c in node.schema if c in used] or list(node.schema[:1])
        relation = self.binder.name("subquery")
        items, mapping = under(relation, kept)
        return (
            Project(node, relation, items),
            [substitute(e, mapping) for e in bound],
            tuple(substitute(c, mapping) for c in correlated),
        )

    def scalar(self) -> Scalar | Correlated:
        """The subquery as at most one row for each row of the outer query."""
        tree = self.tree
        aggregated = isinstance(tree, exp.Select) and has_aggregate(tree.selects[0])
        if not isinstance(tree, exp.Select) or not self.is_simple(aggregates=True):
            if outer_columns(tree):
                return self._equality_correlated()
            return self._one_row(self._uncorrelated())
        select, node, correlated = self.from_and_where()
        value = select.expression(tree.selects[0].unalias())
        asks = asks_subquery(value)
        if not correlated:
            if asks or not aggregated:
                return self._one_row(self._uncorrelated())
            grouping = PostAggregation(self.binder.name("scalar_value"), [])
            shown = grouping.apply(value)
            self._refuse_outer_columns(node, grouping)
            other = Aggregate(node, grouping.relation, (), tuple(grouping.measures))
            return Scalar(other, (), shown)
        if asks and aggregated and asks_subquery(_without_aggregates(value)):
            raise no_rule("A subquery beside an aggregate of a correlated subquery", self.tree)
        node, (value, *correlated) = self._filled(select, node, [value, *correlated])
        equalities = self.equalities_or_none(node, correlated)
        if equalities is None:
            return self._by_any_condition(node, value, correlated, aggregated)
        keys, outer = equalities
        grouping = PostAggregation(self.binder.name("scalar_value"), list(keys))
        if aggregated:
            shown = of_no_rows(grouping.apply(value), grouping)
        else:
            shown = value_of(grouping, value)
        self._refuse_outer_columns(node, grouping)
        other = Aggregate(node, grouping.relation, keys, tuple(grouping.measures))
        return Scalar(other, equal_keys(outer, other), shown)

    def _equality_correlated(self) -> Scalar:
        """The value for each key of a subquery that groups, is distinct or keeps the first rows."""
        found = equality_correlated(self.around, self.tree, "subquery")
        relation = self.binder.name("scalar_value")
        return one_for_each(relation, found.rows, found.columns[0], found.conditions)

    def _one_row(self, whole: Node) -> Scalar:
        """The one value of a relation that must not have more than one row."""
        relation = self.binder.name("scalar_value")
        value = Named("value", only(whole.schema[0].expression()))
        other = Aggregate(whole, relation, (), (value,))
        return Scalar(other, (), ColumnRef(relation, "value").expression())

    def is_simple(self, aggregates: bool = False) -> bool:
        """Whether the subquery is FROM and WHERE, so that its conditions can be pulled up."""
        tree = self.tree
        if not isinstance(tree, exp.Select):
            return False
        if tree.args.get("group") or tree.args.get("having") or tree.args.get("windows"):
            return False
        if any(tree.args.get(k) for k in ("limit", "offset", "qualify", "with_")):
            return False
        if tree.args.get("distinct") is not None and aggregates:
            return False
        if any(s.find(exp.Window) for s in tree.selects):
            return False
        return aggregates or not any(has_aggregate(s) for s in tree.selects)

    def _uncorrelated(self) -> Node:
        """The subquery bound by itself."""
        return self.binder.query(self.tree, "subquery", self.around.ctes)

    def from_and_where(self) -> tuple[SelectScope, Node, list[exp.Expr]]:
        """FROM and WHERE, and the conditions that name columns of the outer query."""
        assert isinstance(self.tree, exp.Select)
        select = self.around.nested(self.tree)
        node, kept = select.from_and_where()
        own = set(node.schema)
        kept = [
            part for c in kept for part in ([c] if columns_of(c) <= own else common_conjuncts(c))
        ]
        correlated = [c for c in kept if not columns_of(c) <= own]
        local = [c for c in kept if columns_of(c) <= own]
        if local:
            node = Filter(node, exp.and_(*local))
        return select, node, correlated

    def _filled(
        self, select: SelectScope, node: Node, expressions: list[exp.Expr]
    ) -> tuple[Node, list[exp.Expr]]:
        """The rows joined with the nested subqueries of expressions."""
        own = set(node.schema)
        asked = set(placeholders(expressions))
        if not asked:
            return node, expressions
        if any(not select.subqueries.free(placeholder) <= own for placeholder in asked):
            raise no_rule("A subquery that names columns of a query further out", self.tree)
        return select.filled(select.joinable(node), expressions)

    def _by_any_condition(
        self, node: Node, value: exp.Expr, correlated: list[exp.Expr], aggregated: bool
    ) -> Correlated:
        grouping = PostAggregation(self.binder.name("scalar_value"), [])
        if aggregated:
            shown = of_no_rows(grouping.apply(value), grouping)
        else:
            grouping.measures.append(Named("value", only(value)))
            shown = ColumnRef(grouping.relation, "value").expression()
        measures = tuple(grouping.measures)
        used = {c for e in (*correlated, *(m.expression for m in measures)) for c in columns_of(e)}
        self._refuse_outer_columns(node, grouping)
        kept = [c for c in node.schema if c in used] or list(node.schema[:1])
        relation = self.binder.name("subquery")
        items, mapping = under(relation, kept)
        return Correlated(
            Project(node, relation, items),
            tuple(substitute(c, mapping) for c in correlated),
            grouping.relation,
            tuple(Named(m.name, substitute(m.expression, mapping)) for m in measures),
            shown,
        )

    def _refuse_outer_columns(self, node: Node, grouping: PostAggregation) -> None:
        """Refuse aggregates over columns of the outer query."""
        own = set(node.schema)
        if any(c not in own for m in grouping.measures for c in columns_of(m.expression)):
            raise no_rule("A value of a subquery made with a column of the outer query", self.tree)

    def equalities(
        self, node: Node, correlated: Iterable[exp.Expr]
    ) -> tuple[tuple[Named, ...], list[exp.Expr]]:
        """As :meth:`equalities_or_none`.

        Raises:
            NotYetImplemented: If the conditions are more than equalities.
        """
        found = self.equalities_or_none(node, correlated)
        if found is None:
            raise no_rule(
                "A subquery with an aggregate, correlated by more than equalities", self.tree
            )
        return found

    def equalities_or_none(
        self, node: Node, correlated: Iterable[exp.Expr]
    ) -> tuple[tuple[Named, ...], list[exp.Expr]] | None:
        """The inner and the outer sides of conditions that are all ``inner = outer``; else None.

        None, too, where several inner values can equal one outer value.
        """
        if not compares_alike(self.tree):
            return None
        own = set(node.schema)
        keys: list[Named] = []
        outer: list[exp.Expr] = []
        for condition in correlated:
            sides = [condition.left, condition.right] if isinstance(condition, exp.EQ) else []
            inner = [s for s in sides if columns_of(s) and columns_of(s) <= own]
            around = [s for s in sides if not columns_of(s) & own]
            if len(inner) != 1 or len(around) != 1:
                return None
            keys.append(Named(f"key_{len(keys) + 1}", inner[0]))
            outer.append(around[0])
        return tuple(keys), outer


def asks_subquery(expression: exp.Expr) -> bool:
    """Whether a bound expression has a subquery in it."""
    return any(True for _ in placeholders([expression]))


def _without_aggregates(expression: exp.Expr) -> exp.Expr:
    """An expression with NULL for each aggregate."""
    return expression.copy().transform(lambda n: exp.null() if is_aggregate_call(n) else n)
