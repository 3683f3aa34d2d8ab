"""Aggregate functions: what the value of each depends on, and how calls are taken apart.

A call is a function with what may stand around it: FILTER, WITHIN GROUP, IGNORE NULLS.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from sqlglot import exp

from python_ivm.errors import InvalidModel, NotYetImplemented
from python_ivm.parse.parser import DIALECT
from python_ivm.parse.trees import own_nodes, position, spelled

EXACT = frozenset(
    {
        "any", "any_value", "approx_count_distinct", "bit_and", "bit_or", "bit_xor",
        "bitmap_and_agg", "bitmap_construct_agg", "bitmap_or_agg", "bool_and", "bool_or", "count",
        "count_if", "count_min_sketch", "every", "max", "median", "min", "percentile",
        "percentile_cont", "percentile_disc", "regr_count", "some",
    }
)  # fmt: skip
"""The value follows from the rows, in whatever order they come."""

AVERAGES = frozenset({"avg", "mean", "try_avg"})

SUMS = AVERAGES | {"sum", "try_sum"}
"""Exact, but for arguments that are floating numbers, and averages of large whole numbers."""

ROUNDING = frozenset(
    {
        "corr", "covar_pop", "covar_samp", "kurtosis", "regr_avgx", "regr_avgy", "regr_intercept",
        "regr_r2", "regr_slope", "regr_sxx", "regr_sxy", "regr_syy", "skewness", "std", "stddev",
        "stddev_pop", "stddev_samp", "var_pop", "var_samp", "variance",
    }
)  # fmt: skip
"""Floating arithmetic: the last digits depend on the order of the rows."""

ORDERED = frozenset(
    {
        "array_agg", "collect_list", "first", "first_value", "last", "last_value", "listagg",
        "max_by", "min_by", "string_agg",
    }
)  # fmt: skip
"""The value depends on the order of the rows."""

SETLIKE = frozenset({"collect_set", "mode"})
"""The value depends on the order of the rows, which it need not share with other calls."""

APPROXIMATE = frozenset({"approx_percentile", "histogram_numeric", "percentile_approx"})
"""The value depends on how Spark splits the rows; each is as good as another."""

_UNMAINTAINED = frozenset(
    {
        "approx_top_k", "approx_top_k_accumulate", "approx_top_k_combine", "hll_sketch_agg",
        "hll_union_agg", "kll_merge_agg_bigint", "kll_merge_agg_double", "kll_merge_agg_float",
        "kll_sketch_agg_bigint", "kll_sketch_agg_double", "kll_sketch_agg_float", "measure",
        "schema_of_variant_agg", "theta_intersection_agg", "theta_sketch_agg", "theta_union_agg",
        "tuple_intersection_agg_double", "tuple_intersection_agg_integer",
        "tuple_sketch_agg_double", "tuple_sketch_agg_integer", "tuple_union_agg_double",
        "tuple_union_agg_integer", "vector_avg", "vector_sum",
    }
)  # fmt: skip

MAINTAINED = EXACT | SUMS | ROUNDING | ORDERED | SETLIKE | APPROXIMATE
NAMES = MAINTAINED | _UNMAINTAINED | {"grouping_id"}
"""All of them, for those that sqlglot does not know as aggregates."""

_ZERO = exp.Literal.number(0)
_NO_VALUES = exp.Array(expressions=[])
_OF_NO_ROWS = {
    "approx_count_distinct": _ZERO,
    "array_agg": _NO_VALUES,
    "collect_list": _NO_VALUES,
    "collect_set": _NO_VALUES,
    "count": _ZERO,
    "count_if": _ZERO,
    "regr_count": _ZERO,
}
"""What aggregates give for no rows, where it is not NULL."""

WRAPPERS = (exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls)


def core(call: exp.Expr) -> exp.Expr:
    """The function itself, without what stands around it."""
    while isinstance(call, WRAPPERS):
        call = call.this
    return call


def function_name(function: exp.Expr) -> str:
    """A function's name as Spark spells it, in lower case."""
    if isinstance(function, exp.Anonymous):
        return function.name.lower()
    given = ((key, isinstance(value, list)) for key, value in function.args.items() if value)
    kind: Callable[..., exp.Expr] = type(function)
    return _spelled(kind, tuple(given))


@cache
def _spelled(kind: Callable[..., exp.Expr], given: tuple[tuple[str, bool], ...]) -> str:
    """The name under which Spark knows a kind of function with these arguments, single or lists."""
    call = kind(**{key: [exp.null()] if several else exp.null() for key, several in given})
    return call.sql(dialect=DIALECT).split("(")[0].strip().lower()


def arguments(function: exp.Expr) -> list[exp.Expr]:
    """A function's arguments; the first may be a DISTINCT."""
    if isinstance(function, exp.Anonymous):
        return list(function.expressions)
    return list(function.iter_expressions())


def condition(call: exp.Expr) -> exp.Expr | None:
    """The condition of a call's FILTER."""
    found = _wrapper(call, exp.Filter)
    return None if found is None else found.expression.this


def within_group(call: exp.Expr) -> exp.Order | None:
    """The order of a call's WITHIN GROUP."""
    found = _wrapper(call, exp.WithinGroup)
    return None if found is None else found.expression


def ignores_nulls(call: exp.Expr) -> bool:
    """Whether a call has IGNORE NULLS; sqlglot reads ``first(x, true)`` so, too."""
    return _wrapper(call, exp.IgnoreNulls) is not None


def is_distinct(function: exp.Expr) -> bool:
    """Whether a function takes each value once."""
    given = arguments(function)
    return bool(given) and isinstance(given[0], exp.Distinct)


def _wrapper(call: exp.Expr, kind: type[exp.Expr]) -> exp.Expr | None:
    while isinstance(call, WRAPPERS):
        if isinstance(call, kind):
            return call
        call = call.this
    return None


def or_of_no_rows(call: exp.Expr, value: exp.Expr) -> exp.Expr:
    """An aggregate's value, where the group may be missing.

    Args:
        call: The aggregate.
        value: Where its value stands, NULL if there is no group.

    Raises:
        NotYetImplemented: If it is not known what it gives for no rows.
    """
    name = function_name(core(call))
    if name.startswith(("bitmap_", "count_min_")):
        raise NotYetImplemented(f"{name}() over no rows", operator=name, **position(call))
    if name not in _OF_NO_ROWS:
        return value
    return exp.func("coalesce", value, _OF_NO_ROWS[name].copy())


def is_aggregate_call(node: exp.Expr) -> bool:
    """Whether a node is a whole aggregate call, with what stands around it.

    A window function is none.
    """
    if node.arg_key == "this" and isinstance(node.parent, (exp.Window, *WRAPPERS)):
        return False
    function = core(node)
    if isinstance(function, exp.Anonymous):
        return function.name.lower() in NAMES
    if isinstance(function, exp.Any):
        return not isinstance(function.parent, exp.Binary)
    return isinstance(function, exp.AggFunc)


def has_aggregate(expression: exp.Expr) -> bool:
    """Whether an expression calls an aggregate."""
    return any(is_aggregate_call(node) for node in own_nodes(expression))


def refuse_aggregates(expression: exp.Expr, clause: str) -> exp.Expr:
    """The expression itself.

    Raises:
        InvalidModel: If it calls an aggregate; its clause is evaluated before grouping.
    """
    call = next((n for n in own_nodes(expression) if is_aggregate_call(n)), None)
    if call is not None:
        raise InvalidModel(
            f"An aggregate in {clause}",
            operator=spelled(call),
            hint="Aggregates are known after grouping: use HAVING, or a derived table.",
            **position(call),
        )
    return expression
