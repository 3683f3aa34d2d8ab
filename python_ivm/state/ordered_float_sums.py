"""Floating-point sums below another operator, added up in one order; averages by exact sums.

Spark adds the rows of a group in whatever order they come, so that the last digits of a sum differ
from one computation to the next, and an old value could not be found again. A window function takes
the rows of a partition one after the other: ordered by the values that are added, it gives the same
sum whenever it is computed (docs/decisions/0015).

An average of whole numbers adds doubles, too, which round from 2^53 on. Their exact sum is a
decimal, in whatever order they come.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from python_ivm.algebra.columns import ColumnRef, Named, beside, columns_of, substitute, under
from python_ivm.algebra.nodes import Aggregate, Node, Window
from python_ivm.algebra.walks import bottom_up
from python_ivm.errors import NotYetImplemented
from python_ivm.functions.aggregates import (
    APPROXIMATE,
    AVERAGES,
    ROUNDING,
    SUMS,
    arguments,
    condition,
    core,
    function_name,
    is_aggregate_call,
    is_distinct,
)
from python_ivm.functions.window_frames import (
    RANGE,
    WHOLE,
    everything,
    frame,
    rows_so_far,
    totally_ordered,
)
from python_ivm.parse.parser import DIALECT
from python_ivm.state.sum_types import SqlType, SumKind
from python_ivm.state.totals import average

Types = Mapping[str, Mapping[str, str]]


def in_order(plan: Node, types: Types) -> Node:
    """The plan with each aggregate and window function giving one value whenever it is computed.

    Args:
        plan: What stands below the operator that is stored.
        types: The types of summed arguments, by relation and measure.

    Raises:
        NotYetImplemented: For functions that cannot be computed in one order.
    """

    def rule(node: Node) -> Node:
        if not isinstance(node, (Aggregate, Window)):
            return node
        kinds = types.get(node.relation, {})
        exact = tuple(_by_exact_sum(call, kinds.get(call.name, "")) for call in _calls(node))
        if isinstance(node, Aggregate):
            return _aggregate(replace(node, measures=exact), kinds)
        return _window(replace(node, functions=exact), kinds)

    return bottom_up(plan, rule)


def has_exact_averages(plan: Node) -> bool:
    """Whether :func:`in_order` put an exact sum in the place of an average."""
    return any(
        isinstance(call.expression, exp.Div)
        for node in plan.walk()
        if isinstance(node, (Aggregate, Window))
        for call in _calls(node)
    )


def _calls(node: Aggregate | Window) -> tuple[Named, ...]:
    return node.measures if isinstance(node, Aggregate) else node.functions


def _by_exact_sum(named: Named, kind: str) -> Named:
    """An average of whole numbers as their sum by their number; anything else as it is."""
    sql_type = SqlType.of(kind)
    if sql_type.kind is not SumKind.INTEGRAL:
        return named
    call = named.expression
    function = _function(call)
    if function_name(function) not in AVERAGES:
        return named
    (value,) = arguments(function)
    distinct = isinstance(value, exp.Distinct)
    number = value.expressions[0] if distinct else value

    def of(other_kind: type[exp.AggFunc], argument: exp.Expr) -> exp.Expr:
        """The call with another function in the place of its own."""
        other = other_kind(this=exp.Distinct(expressions=[argument]) if distinct else argument)
        copied = call.copy()
        if isinstance(copied, type(function)):
            return other
        _function(copied).replace(other)
        return copied

    total = of(exp.Sum, exp.cast(number.copy(), "decimal(20,0)"))
    count = exp.func("nullif", of(exp.Count, number.copy()), exp.Literal.number(0))
    return Named(named.name, average(total, count, sql_type))


def _function(call: exp.Expr) -> exp.Expr:
    """The aggregate function of a call, also of one over a window."""
    return core(call.this if isinstance(call, exp.Window) else call)


def _rounds(call: exp.Expr, kind: str) -> bool:
    """Whether the last digits of a call depend on the order of rows."""
    function = core(call)
    name = function_name(function)
    if name in APPROXIMATE and is_aggregate_call(call):
        raise _refused(call, "below another operator")
    # Spark sums text as doubles, too.
    inexact = SqlType.of(kind).kind in (SumKind.FLOATING, SumKind.OTHER)
    return name in ROUNDING or (name in SUMS and inexact)


def _aggregate(node: Aggregate, types: Mapping[str, str]) -> Node:
    rounding = [m for m in node.measures if _rounds(m.expression, types.get(m.name, ""))]
    if not rounding:
        return node
    values: list[exp.Expr] = []
    for measure in rounding:
        if is_distinct(core(measure.expression)):
            raise _refused(measure.expression, "adds distinct floating numbers below an operator")
        values += [a for a in arguments(core(measure.expression)) if a not in values]
    relation = beside(node.relation, "sums")
    others = [m for m in node.measures if m not in rounding]
    named = [item.expression for item in (*node.keys, *others)]
    used = sorted({c for e in named for c in columns_of(e)}, key=str)
    names = [f"{relation}_{number}" for number in range(1, len(rounding) + 1)]
    items, columns = under(relation, used, taken=names)
    partition = tuple(key.expression for key in node.keys)
    functions = []
    sums: dict[str, exp.Expr] = {}
    for name, measure in zip(names, rounding, strict=True):
        functions.append(Named(name, _over(measure.expression, partition, values)))
        sums[measure.name] = exp.Max(this=ColumnRef(relation, name).expression())
    return Aggregate(
        Window(node.input, relation, items, partition, tuple(functions), for_groups=True),
        node.relation,
        tuple(Named(k.name, substitute(k.expression, columns)) for k in node.keys),
        tuple(
            Named(m.name, sums.get(m.name) or substitute(m.expression, columns))
            for m in node.measures
        ),
    )


def _over(call: exp.Expr, partition: tuple[exp.Expr, ...], values: list[exp.Expr]) -> exp.Window:
    order = exp.Order(expressions=[exp.Ordered(this=v.copy(), nulls_first=True) for v in values])
    return exp.Window(
        this=_unfiltered(call), partition_by=[p.copy() for p in partition], order=order,
        spec=everything(), over="OVER",
    )  # fmt: skip


def _unfiltered(call: exp.Expr) -> exp.Expr:
    """A call without its FILTER, which Spark 3.5 does not have over a window."""
    where = condition(call)
    if where is None:
        return call.copy()
    function = core(call).copy()
    value = arguments(function)[0]
    value.replace(exp.Case().when(where.copy(), value.copy()))
    return function


def _window(node: Window, types: Mapping[str, str]) -> Window:
    """Frames of whole partitions and of rows in one order; running sums by way of such a frame."""
    functions, running = [], []
    for named in node.functions:
        window = named.expression
        if isinstance(window, exp.Window) and _rounds(window.this, types.get(named.name, "")):
            if frame(window) == WHOLE:
                window = totally_ordered(window, arguments(core(window.this)))
            elif frame(window) == RANGE:
                running.append(named)
        functions.append(Named(named.name, window))
    node = replace(node, functions=tuple(functions))
    return _running(node, running) if running else node


def _running(node: Window, running: list[Named]) -> Window:
    """Each row's sum up to it, one row after the other; then that of the last of its peers."""
    relation = beside(node.relation, "rows_before")
    used = sorted({c for e in node.expressions for c in columns_of(e)}, key=str)
    names = [f"{relation}_{number}" for number in range(1, 2 * len(running) + 1)]
    items, columns = under(relation, used, taken=names)
    ties = [c.expression() for c in used]
    inner: list[Named] = []
    outer: dict[str, exp.Expr] = {}
    for named in running:
        window = named.expression.copy()
        if not _runs(window):
            raise _refused(window, "adds floating numbers over a RANGE")
        number = totally_ordered(window, ties)
        number.set("spec", None)
        so_far = number.copy()
        so_far.set("spec", rows_so_far())
        number.set("this", exp.RowNumber())
        value, last = names[len(inner) : len(inner) + 2]
        inner += [Named(value, so_far), Named(last, number)]
        picked = (ColumnRef(relation, name).expression() for name in (value, last))
        window.set("this", exp.Anonymous(this="max_by", expressions=list(picked)))
        outer[named.name] = substitute(window, columns)
    return Window(
        Window(node.input, relation, items, node.partition, tuple(inner)),
        node.relation,
        tuple(Named(i.name, substitute(i.expression, columns)) for i in node.items),
        tuple(substitute(p, columns) for p in node.partition),
        tuple(
            Named(f.name, outer.get(f.name) or substitute(f.expression, columns))
            for f in node.functions
        ),
    )


def _runs(window: exp.Expr) -> bool:
    """Whether a frame is all rows up to the current one and its peers."""
    spec = window.args.get("spec")
    if spec is None:
        return True
    bounds = [str(spec.args.get(k) or "").upper() for k in ("start", "start_side", "end")]
    return bounds in (["UNBOUNDED", "PRECEDING", "CURRENT ROW"], ["UNBOUNDED", "PRECEDING", ""])


def _refused(call: exp.Expr, why: str) -> NotYetImplemented:
    text = call.sql(dialect=DIALECT).lower()
    return NotYetImplemented(
        f"{text} {why}",
        operator=text.split("(")[0],
        hint="Cast the argument to a decimal to have it maintained.",
    )
