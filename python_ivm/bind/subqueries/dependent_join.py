"""Dependent joins: correlated subqueries for which no simpler rule has the shape.

The subquery is evaluated once for the domain, the distinct values that the outer query gives it
(:mod:`unnest`, :mod:`domain`), and joined to the outer query on these values.

Source: Neumann and Kemper, "Unnesting Arbitrary Queries", BTW 2015, §3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from python_ivm.algebra.columns import Named, columns_of
from python_ivm.algebra.nodes import Node
from python_ivm.bind.scope import SelectScope, beside
from python_ivm.bind.subqueries.correlation import field_to_spark, no_rule
from python_ivm.bind.subqueries.unnest import Unnested, unnest
from python_ivm.parse.trees import relation_names


@dataclass(frozen=True)
class DependentJoin:
    """A correlated subquery whose outer query's rows are not known yet.

    Attributes:
        around: The outer query.
        unnested: The subquery over its domain.
        relation: The domain's name.
        conditions: The values of its free columns, over the rows of the outer query; behind them
            what IN compares.
        is_value: Whether it is a scalar subquery, rather than EXISTS or IN.
        negated: Whether the value is the opposite.
    """

    around: SelectScope
    unnested: Unnested
    relation: str
    conditions: tuple[exp.Expr, ...]
    is_value: bool = False
    negated: bool = False

    def opposite(self) -> DependentJoin:
        """NOT EXISTS or NOT IN."""
        return replace(self, negated=True)

    @property
    def compared(self) -> tuple[exp.Expr, ...]:
        """What IN compares with the subquery's columns."""
        return self.conditions[len(self.unnested.names) :]

    def rows(self, node: Node, wanted: str) -> tuple[Node, list[exp.Expr], list[exp.Expr]]:
        """The subquery's rows for the whole domain.

        Args:
            node: The rows of the outer query.
            wanted: The name that the relation should have.

        Returns:
            The relation, its own columns, and when its rows belong to a row of the outer query.

        Raises:
            NotYetImplemented: If the subquery names columns of a query further out.
        """
        names = self.unnested.names
        values = self.conditions[: len(names)]
        own = set(node.schema)
        if any(not columns_of(value) <= own for value in values):
            raise no_rule("A subquery that names columns of a query further out", self.around.tree)
        keys = tuple(Named(name, value) for name, value in zip(names, values, strict=True))
        binder = self.around.binder
        domain = binder.domain(node, self.relation, keys)
        ctes = beside(self.around.ctes, self.relation, domain)
        found = binder.query(self.unnested.tree, wanted, ctes)
        columns: list[exp.Expr] = [column.expression() for column in found.schema]
        width = len(columns) - len(names)
        same: list[exp.Expr] = [
            exp.NullSafeEQ(this=value, expression=column)
            for value, column in zip(values, columns[width:], strict=True)
        ]
        return found, columns[:width], same


def dependent_join(
    around: SelectScope,
    tree: exp.Query,
    compared: Sequence[exp.Expr] = (),
    is_value: bool = False,
) -> DependentJoin:
    """A correlated subquery as a dependent join.

    Args:
        around: The outer query.
        tree: The subquery.
        compared: What IN compares with its columns, as the outer query has it.
        is_value: Whether it is a scalar subquery.

    Raises:
        NotYetImplemented: If it has clauses that cannot be evaluated for each row of the domain.
    """
    named = relation_names(tree)
    relation = around.binder.name("asked")
    while relation in named:
        relation = around.binder.name("asked")
    unnested = unnest(tree, relation)
    columns = _columns(around, tree)
    for free in unnested.free:
        for column in free.find_all(exp.Column):
            if column.table in columns:
                raise field_to_spark(column)
    values = [around.expression(free) for free in (*unnested.free, *compared)]
    return DependentJoin(around, unnested, relation, tuple(values), is_value)


def _columns(around: SelectScope, tree: exp.Query) -> set[str]:
    """The names of columns that a subquery may read or make."""
    names = {alias.alias.lower() for alias in tree.find_all(exp.Alias)}
    for table in tree.find_all(exp.Table):
        if table.name in around.ctes:
            names.update(around.ctes[table.name].columns)
        elif table.name in around.binder.schemas:
            names.update(name.lower() for name in around.binder.schemas[table.name].columns)
    return names
