"""Aggregates whose value depends on the order of rows, in a deterministic form.

``first(x)`` may be any of a group's values, and Spark may give another one whenever it computes the
group again. Here all such calls of a SELECT follow one order of the rows, by the arguments of these
calls. The result is one that Spark could give, and the same one at every computation; values that
one row had are still shown together (docs/decisions/0014).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from sqlglot import exp

from python_ivm.algebra.conditions import not_null
from python_ivm.algebra.ties import tie
from python_ivm.errors import NotYetImplemented
from python_ivm.functions.aggregates import (
    MAINTAINED,
    ORDERED,
    SETLIKE,
    arguments,
    condition,
    core,
    function_name,
    ignores_nulls,
    is_distinct,
    within_group,
)
from python_ivm.parse.trees import position, spark_call

_SYNONYMS: dict[str, type[exp.Expr]] = {
    "mean": exp.Avg,
    "any": exp.LogicalOr,
    "some": exp.LogicalOr,
    "every": exp.LogicalAnd,
    "std": exp.Stddev,
}
_CHOOSING = frozenset(
    {"any_value", "first", "first_value", "last", "last_value", "max_by", "min_by"}
)
"""Functions that give the value of one row."""
_UNORDERED = frozenset({"sort_array", "array_sort", "size", "cardinality", "array_size"})
"""Functions that give the same for an array in any order, where they have one argument."""


@dataclass(frozen=True)
class RowOrder:
    """The order in which the rows of a group are taken.

    Attributes:
        columns: What they are sorted by, NULLs first.
        alone: Whether only one call follows the order, by its own argument.
        numbered: Whether the only column is the row's number, which is never NULL.
    """

    columns: tuple[exp.Expr, ...] = ()
    alone: bool = False
    numbered: bool = False

    @staticmethod
    def of(calls: Iterable[exp.Expr]) -> RowOrder:
        """The order that a SELECT's aggregate calls share."""
        following: list[exp.Expr] = []
        for call in map(_without_distinct, calls):
            function = core(call)
            ordered = function_name(function) in ORDERED and not is_distinct(function)
            if ordered and call not in following:
                following.append(call)
        values = dict.fromkeys(arguments(core(call))[0] for call in following)
        return RowOrder(tuple(values), len(following) == 1)

    def key(self, *before: exp.Expr) -> exp.Expr:
        """A value that sorts as the rows do, after ``before``; never NULL."""
        if self.numbered and not before:
            return self.columns[0].copy()
        return struct(*before, *(tie(column) for column in self.columns))


def is_choice(call: exp.Expr) -> bool:
    """Whether Spark may give several values for a call over the same rows."""
    function = core(call)
    name = function_name(function)
    if name == "mode":
        return within_group(call) is None and len(arguments(function)) == 1
    around = call.parent
    while isinstance(around, exp.Paren):
        around = around.parent
    if isinstance(around, exp.Func) and len(arguments(around)) == 1:
        outside = function_name(around)
        if name in ("collect_list", "array_agg", "collect_set") and outside in _UNORDERED:
            return False
    return name in ORDERED | SETLIKE | {"any_value"}


def determined(
    call: exp.Expr,
    order: RowOrder,
    placed: Callable[[exp.Expr], exp.Expr] = lambda function: function,
) -> exp.Expr:
    """A call whose value follows from the rows alone.

    Args:
        call: An aggregate call.
        order: The order of rows that it follows, if it follows any.
        placed: Puts the aggregate function where the call stood: into a window, say.

    Returns:
        An expression with one aggregate call in it.

    Raises:
        NotYetImplemented: For an aggregate that the planner has no rule for.
    """
    call = _without_distinct(call)
    function = core(call)
    name = function_name(function)
    if name not in MAINTAINED:
        raise NotYetImplemented(
            f"The aggregate {name}()", operator=f"{name}()", **position(function)
        )
    given = arguments(function)
    where = condition(call)

    def whole(aggregate: exp.Expr, within: exp.Order | None = None) -> exp.Expr:
        """The aggregate with its order and its FILTER, in its place."""
        if within is not None:
            aggregate = exp.WithinGroup(this=aggregate, expression=within)
        if where is not None:
            aggregate = exp.Filter(this=aggregate, expression=exp.Where(this=where.copy()))
        return placed(aggregate)

    if name in _SYNONYMS:
        return whole(_SYNONYMS[name](this=given[0].copy()), within_group(call))
    if name == "regr_count" and is_distinct(function):
        return whole(exp.Count(this=given[0].copy()))
    if name == "regr_count":
        return whole(exp.Count(this=present(given[1], present(given[0], exp.Literal.number(1)))))
    if name == "count_if" and not is_distinct(function):
        return whole(exp.Count(this=exp.Case().when(given[0].copy(), exp.Literal.number(1))))
    if name == "any_value":
        return whole(exp.Min(this=tie(given[0])))
    if name in ("first", "first_value", "last", "last_value"):
        return whole(_end(given[0], name.startswith("first"), order, ignores_nulls(call)))
    if name in ("max_by", "min_by"):
        by = present(given[1], order.key(given[1]))
        return whole(spark_call(name, given[0], by, *given[2:]))
    if name in ("collect_list", "array_agg"):
        if isinstance(function.parent, exp.RespectNulls):
            raise NotYetImplemented("RESPECT NULLS", operator="RESPECT NULLS", **position(function))
        return _collected(function, order, whole)
    if name == "collect_set":
        return _sorted(whole(function.copy()))
    if name == "mode" and within_group(call) is None:
        return whole(exp.Mode(this=given[0].copy(), deterministic=exp.true()))
    if name in ("listagg", "string_agg"):
        return whole(function.copy(), _list_order(function, within_group(call), order))
    return whole(function.copy(), within_group(call))


def _without_distinct(call: exp.Expr) -> exp.Expr:
    """A call that chooses a row without its DISTINCT, which changes nothing of the choice."""
    function = core(call)
    if function_name(function) not in _CHOOSING or not is_distinct(function):
        return call
    value, *others = arguments(function)[0].expressions
    if len(others) > 1:  # max_by(DISTINCT x, y, 3) gives three values
        name = f"{function_name(function)}(DISTINCT) of several rows"
        raise NotYetImplemented(name, operator=name, **position(function))
    plain: exp.Expr
    if isinstance(function, exp.Anonymous):
        plain = spark_call(function.name, value, *others)
    else:
        plain = type(function)(this=value.copy())
        if others == [exp.true()]:  # first(DISTINCT x, true)
            plain = exp.IgnoreNulls(this=plain)
    if function is call:
        return plain
    copied = call.copy()
    core(copied).replace(plain)
    return copied


def _end(value: exp.Expr, is_first: bool, order: RowOrder, present_only: bool) -> exp.Expr:
    """The value of the first or the last row; of a call by itself, the least or the greatest."""
    if order.alone:
        return exp.Min(this=tie(value)) if is_first else exp.Max(this=tie(value))
    key = present(value, order.key()) if present_only else order.key()
    return spark_call("min_by" if is_first else "max_by", value, key)


def _collected(
    function: exp.Expr, order: RowOrder, whole: Callable[[exp.Expr], exp.Expr]
) -> exp.Expr:
    """The array of a group's values, in the order of their rows."""
    (value,) = arguments(function)
    if order.alone or is_distinct(function):
        return _sorted(whole(function.copy()))
    columns = dict.fromkeys((*order.columns, value))
    pairs = exp.ArrayAgg(this=present(value, struct(*columns)), nulls_excluded=True)
    field = exp.to_identifier(f"c{list(columns).index(value) + 1}")
    picked = exp.Dot(this=exp.to_identifier("e"), expression=field)
    return exp.Transform(
        this=_sorted(whole(pairs)),
        expression=exp.Lambda(this=picked, expressions=[exp.to_identifier("e")]),
    )


def _list_order(function: exp.Expr, given: exp.Order | None, order: RowOrder) -> exp.Order:
    """WITHIN GROUP of a listagg, with what it leaves open."""
    keys = [k.copy() for k in given.expressions] if given is not None else []
    value = arguments(function)[0]
    ties = value.expressions[:1] if isinstance(value, exp.Distinct) else list(order.columns)
    known = {key.this for key in keys}
    return exp.Order(
        expressions=[*keys, *(exp.Ordered(this=t.copy(), nulls_first=True)
                              for t in ties if t not in known)]
    )  # fmt: skip


def _sorted(array: exp.Expr) -> exp.Expr:
    return spark_call("sort_array", array)


def struct(*values: exp.Expr) -> exp.Struct:
    """Values as one, which sorts by the first, then by the second, and so on."""
    return exp.Struct(
        expressions=[
            exp.PropertyEQ(this=exp.to_identifier(f"c{number}"), expression=value.copy())
            for number, value in enumerate(values, 1)
        ]
    )


def present(value: exp.Expr, result: exp.Expr) -> exp.Expr:
    """A result where a value is not NULL, and NULL elsewhere."""
    return exp.Case().when(not_null(value), result)
