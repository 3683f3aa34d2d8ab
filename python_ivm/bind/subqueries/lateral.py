"""LATERAL subqueries: joins to relations that may name those before them in FROM.

They are decorrelated as subqueries in expressions are. One of FROM and WHERE alone is a join on its
correlated conditions. With an aggregate, but without GROUP BY, it is a left join to groups. With
GROUP BY, DISTINCT, LIMIT or window functions it is evaluated for every key (`equality_correlated`).
One of another shape is a dependent join (`dependent_join`).

Source: Neumann and Kemper, "Unnesting Arbitrary Queries", BTW 2015.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from python_ivm.algebra.columns import ColumnRef, Named, columns_of, substitute, under
from python_ivm.algebra.conditions import conjuncts
from python_ivm.algebra.nodes import Aggregate, Filter, Join, LeftJoin, Node, Project
from python_ivm.bind.grouping.post_aggregation import PostAggregation
from python_ivm.bind.scope import SelectScope
from python_ivm.bind.subqueries.correlation import no_rule, outer_columns
from python_ivm.bind.subqueries.dependent_join import dependent_join
from python_ivm.bind.subqueries.equality_correlated import equality_correlated
from python_ivm.bind.subqueries.predicate_pullup import SubqueryBinder, asks_subquery
from python_ivm.bind.subqueries.scalar import equal_keys, of_no_rows
from python_ivm.errors import InvalidModel, NotYetImplemented
from python_ivm.functions.aggregates import has_aggregate


def join_lateral(
    select: SelectScope, node: Node, lateral: exp.Lateral, left: bool, on: exp.Expr | None
) -> Node:
    """The rows of a join to a LATERAL subquery.

    Args:
        select: The SELECT; gets the subquery's columns.
        node: The relations before it.
        lateral: The subquery.
        left: Whether rows without a match stay.
        on: The join's condition.

    Raises:
        NotYetImplemented: If the subquery cannot be decorrelated.
    """
    join = _LateralJoin(select, node, lateral, left, None if on == exp.true() else on)
    try:
        return join.by_shape()
    except (InvalidModel, NotYetImplemented):
        if not outer_columns(lateral.this.unnest()):
            raise
        return join.dependent()


@dataclass(frozen=True)
class _LateralJoin:
    """A join to a LATERAL subquery; the attributes are the arguments of :func:`join_lateral`."""

    select: SelectScope
    node: Node
    lateral: exp.Lateral
    left: bool
    on: exp.Expr | None

    @property
    def wanted(self) -> str:
        """The name that the subquery's relation should have."""
        return self.lateral.alias or "derived"

    @property
    def names(self) -> list[str]:
        """The names of the subquery's columns."""
        given = [name.lower() for name in self.lateral.alias_column_names]
        return given or list(self.lateral.this.unnest().named_selects)

    def by_shape(self) -> Node:
        """The rows, where the subquery's shape has a rule of its own."""
        tree = self.lateral.this.unnest()
        subquery = SubqueryBinder(self.select, tree)
        if not outer_columns(tree):
            other = self.select.binder.query(tree, self.wanted, self.select.ctes)
            return self._joined(other, (), [c.expression() for c in other.schema], self.left)
        if not subquery.is_simple(aggregates=True):  # DISTINCT is not: a join would lose it
            found = equality_correlated(self.select, tree, self.wanted)
            return self._joined(found.rows, found.conditions, list(found.columns), self.left)
        if not any(map(has_aggregate, tree.selects)):
            return self._simple(subquery)
        node = self._aggregated(subquery)
        if self.on is None:
            return node
        if self.left:
            raise no_rule("LEFT JOIN LATERAL of an aggregate on a condition", self.on)
        return Filter(node, self.select.expression(self.on))

    def dependent(self) -> Node:
        """The rows of a dependent join."""
        found = dependent_join(self.select, self.lateral.this.unnest())
        rows, columns, same = found.rows(self.node, self.wanted)
        return self._joined(rows, tuple(same), columns, self.left)

    def _simple(self, subquery: SubqueryBinder) -> Node:
        """FROM and WHERE: a join on the correlated conditions."""
        inner, rows, correlated = subquery.from_and_where()
        values = [inner.expression(s.unalias()) for s in subquery.tree.selects]
        own = set(rows.schema)
        if any(map(asks_subquery, values)):
            raise self._subquery_in_list()
        mixed = [v for v in values if not columns_of(v) <= own]
        if mixed and self.left:
            raise no_rule("LEFT JOIN LATERAL with columns of the relations before it", self.lateral)
        used = {c for e in (*correlated, *mixed) for c in columns_of(e) if c in own}
        relation = self.select.binder.name(self.wanted)
        names = self.names
        flat, inward = under(relation, (c for c in rows.schema if c in used), taken=names)
        items = [Named(n, v) for n, v in zip(names, values, strict=True) if v not in mixed]
        items = [*items, *flat] or [Named("one", exp.Literal.number(1))]
        columns = [
            substitute(v, inward) if v in mixed else ColumnRef(relation, n).expression()
            for n, v in zip(names, values, strict=True)
        ]
        conditions = tuple(substitute(c, inward) for c in correlated)
        return self._joined(Project(rows, relation, tuple(items)), conditions, columns, self.left)

    def _aggregated(self, subquery: SubqueryBinder) -> Node:
        """Aggregates without GROUP BY: always one row, so a left join to the groups by the keys."""
        inner, rows, correlated = subquery.from_and_where()
        keys, outer = subquery.equalities(rows, correlated)
        grouping = PostAggregation(self.select.binder.name(f"{self.wanted}_groups"), list(keys))
        columns = [
            of_no_rows(grouping.apply(inner.expression(s.unalias())), grouping)
            for s in subquery.tree.selects
        ]
        if any(map(asks_subquery, [*columns, *(m.expression for m in grouping.measures)])):
            raise self._subquery_in_list()
        own = set(rows.schema)
        if any(not columns_of(m.expression) <= own for m in grouping.measures):
            raise no_rule("An aggregate with columns of the relations before it", self.lateral)
        other = Aggregate(rows, grouping.relation, keys, tuple(grouping.measures))
        return self._joined(other, equal_keys(outer, other), columns, True, with_on=False)

    def _joined(
        self,
        other: Node,
        conditions: tuple[exp.Expr, ...],
        columns: list[exp.Expr],
        left: bool,
        with_on: bool = True,
    ) -> Node:
        for name, column in zip(self.names, columns, strict=True):
            self.select.columns[ColumnRef(self.lateral.alias, name)] = column
        if with_on and self.on is not None:
            conditions = (*conditions, *conjuncts(self.select.expression(self.on)))
        if left:
            label = self.select.binder.name(f"{self.wanted}_match")
            return self.select.closed_under(LeftJoin(self.node, other, conditions, label))
        return self.select.closed_under(Join((self.node, other), conditions))

    def _subquery_in_list(self) -> NotYetImplemented:
        return no_rule("A subquery in the SELECT list of a LATERAL subquery", self.lateral)
