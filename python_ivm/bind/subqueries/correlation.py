"""Correlation: what a subquery names of the outer queries."""

from __future__ import annotations

from sqlglot import exp

from python_ivm.errors import NotYetImplemented
from python_ivm.functions.aggregates import is_aggregate_call
from python_ivm.parse.trees import names_in_from, position
from python_ivm.qualify.type_coercion import alike


def outer_columns(node: exp.Expr, within: exp.Expr | None = None) -> list[exp.Column]:
    """The columns of outer queries that an expression names.

    Args:
        node: A subquery, or an expression in one.
        within: The subquery; None if ``node`` is it.
    """
    top = within or node
    return [c for c in node.find_all(exp.Column) if c.table and not _belongs_within(c, top)]


def _belongs_within(column: exp.Column, top: exp.Expr) -> bool:
    """Whether a column's relation stands in the FROM of a SELECT between it and the tree's top."""
    node: exp.Expr = column
    derived = False
    while node is not top and node.parent is not None:
        below, node = node, node.parent
        if isinstance(node, (exp.From, exp.Join)) and not isinstance(below, exp.Lateral):
            derived = not (isinstance(node, exp.Join) and below.arg_key == "on")
        if isinstance(node, exp.Select):
            if not derived and column.table in names_in_from(node):
                return True
            derived = False
    return False


def has_outer_aggregate(tree: exp.Query) -> bool:
    """Whether a subquery names an aggregate of the outer query."""
    around = {id(column) for column in outer_columns(tree)}
    return bool(around) and any(is_outer_aggregate(node, around) for node in tree.walk())


def is_outer_aggregate(node: exp.Expr, around: set[int]) -> bool:
    """Whether an aggregate's columns are all among those of the outer query."""
    columns = list(node.find_all(exp.Column)) if is_aggregate_call(node) else []
    return bool(columns) and all(id(column) in around for column in columns)


def compares_alike(tree: exp.Query) -> bool:
    """Whether no two different inner values equal one outer value, in all correlated equalities."""
    for equality in tree.find_all(exp.EQ):
        sides = equality.left, equality.right
        around = [bool(outer_columns(side, within=tree)) for side in sides]
        if any(around) and not all(around):
            inner, outer = sides if around[1] else sides[::-1]
            if inner.find(exp.Column) is not None and not alike(inner, outer):
                return False
    return True


def no_rule(what: str, node: exp.Expr) -> NotYetImplemented:
    """The error for a correlated subquery."""
    return NotYetImplemented(what, operator="correlated subquery", **position(node))


def field_to_spark(column: exp.Column) -> NotYetImplemented:
    """The error for a table of the outer query that has the name of a column of the subquery."""
    return NotYetImplemented(
        f"{column.table}.{column.name}, which to Spark is a field of a column "
        f"{column.table} of the subquery,",
        operator="correlated subquery",
        hint="Give the table of the query further out another alias.",
        **position(column),
    )
