"""Scalar subqueries: one value for each row of the outer query."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlglot import exp

from python_ivm.algebra.columns import ColumnRef, Named, substitute
from python_ivm.algebra.nodes import Aggregate, Node
from python_ivm.bind.grouping.post_aggregation import PostAggregation
from python_ivm.functions.aggregates import is_aggregate_call, or_of_no_rows

_TOO_MANY = "[SCALAR_SUBQUERY_TOO_MANY_ROWS] More than one row returned by a subquery"


@dataclass(frozen=True)
class Scalar:
    """A scalar subquery, uncorrelated or correlated by equalities.

    Attributes:
        other: At most one row for each row of the outer query.
        conditions: When that row belongs to a row of the outer query; none if there is one row.
        value: The value, over the columns of ``other``; NULLs there mean that there is no row.
    """

    other: Node
    conditions: tuple[exp.Expr, ...]
    value: exp.Expr


@dataclass(frozen=True)
class Correlated:
    """A scalar subquery that is correlated by other conditions than equalities.

    Attributes:
        rows: The subquery's rows.
        conditions: Which of them belong to a row of the outer query, over both sides' columns.
        relation: The name of the aggregate that gives the value.
        measures: Its measures.
        value: The value, over that relation's columns; NULLs there mean that there is no row.
    """

    rows: Node
    conditions: tuple[exp.Expr, ...]
    relation: str
    measures: tuple[Named, ...]
    value: exp.Expr


def one_for_each(relation: str, rows: Node, value: exp.Expr, same: Iterable[exp.Expr]) -> Scalar:
    """The value of rows that belong to the outer query by equal values.

    Args:
        relation: The name that the values should have.
        rows: The rows.
        value: The value, over them.
        same: Comparisons of the outer query, on the left, with columns of the rows.
    """
    comparisons = list(same)
    keys = [Named(f"key_{n}", c.args["expression"]) for n, c in enumerate(comparisons, 1)]
    grouping = PostAggregation(relation, list(keys))
    shown = value_of(grouping, value)
    other = Aggregate(rows, relation, tuple(keys), tuple(grouping.measures))
    conditions = tuple(
        type(c)(this=c.this, expression=ColumnRef(relation, key.name).expression())
        for c, key in zip(comparisons, keys, strict=True)
    )
    return Scalar(other, conditions, shown)


def equal_keys(outer: Iterable[exp.Expr], groups: Aggregate) -> tuple[exp.Expr, ...]:
    """When a row of the outer query belongs to a group: its values equal the group's keys."""
    return tuple(
        exp.EQ(this=value, expression=ColumnRef(groups.relation, key.name).expression())
        for value, key in zip(outer, groups.keys, strict=True)
    )


def of_no_rows(shown: exp.Expr, grouping: PostAggregation) -> exp.Expr:
    """A value over aggregates whose group may be missing.

    Raises:
        NotYetImplemented: If it is not known what an aggregate gives for no rows.
    """
    values: dict[ColumnRef, exp.Expr] = {}
    for measure in grouping.measures:
        column = ColumnRef(grouping.relation, measure.name)
        call = next(node for node in measure.expression.walk() if is_aggregate_call(node))
        values[column] = or_of_no_rows(call, column.expression())
    return substitute(shown, values)


def only(value: exp.Expr) -> exp.Expr:
    """An aggregate that gives the one value of a group, and Spark's error if there are more."""
    return _one_of(exp.Count(this=exp.Star()), exp.Max(this=value.copy()))


def value_of(grouping: PostAggregation, value: exp.Expr) -> exp.Expr:
    """The one value of a group, and Spark's error where a row of the outer query finds more."""
    grouping.measures.append(Named("value", exp.Max(this=value.copy())))
    grouping.measures.append(Named("number", exp.Count(this=exp.Star())))
    found, number = (ColumnRef(grouping.relation, m.name).expression() for m in grouping.measures)
    return _one_of(number, found)


def _one_of(number: exp.Expr, value: exp.Expr) -> exp.Expr:
    """A value, and Spark's error where it is one of several."""
    several = exp.GT(this=number, expression=exp.Literal.number(1))
    error = exp.Anonymous(this="raise_error", expressions=[exp.Literal.string(_TOO_MANY)])
    return exp.Case().when(several, error).else_(value)
