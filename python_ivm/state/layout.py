"""What is stored for a model: the plan is cut at its topmost stateful operator.

Below the cut stands the state table; above it, linear and cheap, the public view.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from python_ivm.algebra.nodes import (
    COUNT,
    Aggregate,
    ColumnRef,
    Filter,
    Named,
    Node,
    Project,
    Sort,
    substitute,
)
from python_ivm.errors import NotYetImplemented
from python_ivm.sql.bind import Query
from python_ivm.sql.parse import position
from python_ivm.state.counters import Counter, Kind, Rows
from python_ivm.state.measures import Measures, SqlType, summed_arguments

HASH = "__ivm_hash__"
"""The column of a bag's state by which its rows are found; rows are then compared in full."""

STATE = "__ivm_state__"
"""The planner key by which a plan reads the model's own state."""

_STABLE = (
    exp.Count, exp.Sum, exp.Avg, exp.Min, exp.Max, exp.LogicalAnd, exp.LogicalOr, exp.CountIf,
    exp.ApproxDistinct, exp.Median,
)  # fmt: skip
"""Aggregates whose value follows from the bag of rows, whatever their order."""

_ROUNDING = (
    exp.Stddev, exp.StddevPop, exp.StddevSamp, exp.Variance, exp.VariancePop, exp.Corr,
    exp.CovarPop, exp.CovarSamp,
)  # fmt: skip
"""Aggregates whose last digits depend on the rows' order, whatever their argument."""

_SAFE = re.compile(r"[^ ,;{}()\n\t=]+\Z")


@dataclass(frozen=True)
class Layout:
    """A model's state and view.

    Attributes:
        input: The plan whose rows the state counts.
        keys: The state's key columns, over the input's columns: the groups of an aggregate, or
            all columns of a bag.
        counters: The maintained columns; the first one counts rows.
        is_bag: Whether the state is a bag of rows rather than an aggregate's groups.
        is_global: Whether it is the one row of an aggregate without keys.
        items: The public view's columns over the state's columns.
        condition: The public view's condition (HAVING) over the state's columns.
        sort: The public view's ORDER BY, LIMIT and OFFSET, its keys over the state's columns.
    """

    input: Node
    keys: tuple[Named, ...]
    counters: tuple[Counter, ...]
    is_bag: bool
    is_global: bool
    items: tuple[Named, ...]
    condition: exp.Expr | None = None
    sort: Sort | None = None
    columns: tuple[str, ...] = field(default=())

    @property
    def floating(self) -> bool:
        """Whether some stored value is a floating sum, exact only up to rounding."""
        return any(getattr(c, "kind", None) is Kind.FLOATING for c in self.counters)


def aggregates_to_type(plan: Node) -> dict[str, tuple[Aggregate, tuple[Named, ...]]]:
    """The aggregates whose summed arguments' types decide the layout, by relation name."""
    found = {}
    for node in plan.walk():
        if isinstance(node, Aggregate):
            arguments = summed_arguments(node)
            if arguments:
                found[node.relation] = (node, arguments)
    return found


def layout(query: Query, types: Mapping[str, Mapping[str, str]]) -> Layout:
    """Decide what is stored for a model.

    Args:
        query: The bound model.
        types: For each relation of :func:`aggregates_to_type` the Spark types of its arguments,
            by the measure's name.

    Raises:
        NotYetImplemented: If an aggregate cannot be maintained.
    """
    items, condition, sort, below = _peel(query.plan)
    _refuse_floating_sums_below(below, types)
    _refuse_inner_limits(below)
    if isinstance(below, Aggregate):
        return _aggregate_layout(query, below, types, items, condition, sort)
    return _bag_layout(query, below, items, condition, sort)


def _peel(
    plan: Node,
) -> tuple[tuple[Named, ...], exp.Expr | None, Sort | None, Node]:
    """Split a plan into the view's projection, condition and order, and what is below."""
    items = tuple(Named(c.name, c.expression()) for c in plan.schema)
    condition: exp.Expr | None = None
    sort: Sort | None = None
    node = plan
    while True:
        if isinstance(node, Project):
            mapping = {ColumnRef(node.relation, i.name): i.expression for i in node.items}
            items = tuple(Named(i.name, substitute(i.expression, mapping)) for i in items)
            if condition is not None:
                condition = substitute(condition, mapping)
            if sort is not None:
                sort = _substituted(sort, mapping)
            node = node.input
        elif isinstance(node, Sort) and sort is None and condition is None:
            sort, node = node, node.input
        elif isinstance(node, Filter):
            part = node.condition
            condition = part if condition is None else exp.and_(condition, part)
            node = node.input
        else:
            return items, condition, sort, node


def _substituted(sort: Sort, mapping: dict[ColumnRef, exp.Expr]) -> Sort:
    keys = []
    for key in sort.order:
        copied = key.copy()
        copied.set("this", substitute(key.this, mapping))
        keys.append(copied)
    return Sort(sort.input, tuple(keys), sort.limit, sort.offset)


def _aggregate_layout(
    query: Query,
    node: Aggregate,
    types: Mapping[str, Mapping[str, str]],
    items: tuple[Named, ...],
    condition: exp.Expr | None,
    sort: Sort | None,
) -> Layout:
    visible = {
        item.expression.name: item.name for item in items if isinstance(item.expression, exp.Column)
    }
    measures = Measures(node.relation, types.get(node.relation, {}))
    measures.taken = {COUNT}
    keys = []
    shown: dict[ColumnRef, exp.Expr] = {}
    for number, key in enumerate(node.keys, 1):
        name = visible.get(key.name, "")
        if not _SAFE.match(name) or name.startswith("__ivm_") or name in measures.taken:
            name = f"__ivm_key_{number}__"
        measures.taken.add(name)
        keys.append(Named(name, key.expression))
        shown[ColumnRef(node.relation, key.name)] = exp.column(name, quoted=True)
    for measure in node.measures:
        name = visible.get(measure.name, measure.name)
        free = name not in measures.taken and not name.startswith("__ivm_")
        measures.add(Named(measure.name, measure.expression), measure.name in visible and free)
    shown |= measures.shown
    return Layout(
        input=node.input,
        keys=tuple(keys),
        counters=tuple(measures.counters),
        is_bag=False,
        is_global=node.is_global,
        items=tuple(Named(i.name, substitute(i.expression, shown)) for i in items),
        condition=substitute(condition, shown) if condition is not None else None,
        sort=_substituted(sort, shown) if sort is not None else None,
        columns=query.columns,
    )


def _bag_layout(
    query: Query,
    below: Node,
    items: tuple[Named, ...],
    condition: exp.Expr | None,
    sort: Sort | None,
) -> Layout:
    """A bag stores the visible columns and what the view sorts by, each row once with its count."""
    rows = Filter(below, condition) if condition is not None else below
    keys: list[Named] = []
    shown: list[Named] = []
    for number, item in enumerate(items, 1):
        safe = _SAFE.match(item.name) and not item.name.startswith("__ivm_")
        name = item.name if safe else f"__ivm_col_{number}__"
        keys.append(Named(name, item.expression))
        shown.append(Named(item.name, exp.column(name, quoted=True)))
    if sort is not None:
        ordered = []
        for number, key in enumerate(sort.order, 1):
            found = next((k.name for k in keys if k.expression == key.this), None)
            if found is None:
                found = f"__ivm_order_{number}__"
                keys.append(Named(found, key.this))
            copied = key.copy()
            copied.set("this", exp.column(found, quoted=True))
            ordered.append(copied)
        sort = Sort(sort.input, tuple(ordered), sort.limit, sort.offset)
    return Layout(
        input=rows,
        keys=tuple(keys),
        counters=(Rows(),),
        is_bag=True,
        is_global=False,
        items=tuple(shown),
        sort=sort,
        columns=query.columns,
    )


def _refuse_floating_sums_below(below: Node, types: Mapping[str, Mapping[str, str]]) -> None:
    """A floating sum that feeds another operator must be the same number at every recomputation.

    Spark adds in no fixed order, so that the old value could not be found again by its digits.
    """
    inner = below.inputs if isinstance(below, Aggregate) else (below,)
    for top in inner:
        for node in top.walk():
            if not isinstance(node, Aggregate):
                continue
            for measure in node.measures:
                _refuse_unstable(measure, types.get(node.relation, {}))


def _refuse_unstable(measure: Named, types: Mapping[str, str]) -> None:
    """Refuse an inner aggregate that may be another value at the next look at the same rows."""
    call = measure.expression
    inner = call.this if isinstance(call, exp.Filter) else call
    name = inner.sql(dialect="spark").split("(")[0].lower()
    if not isinstance(inner, (*_STABLE, *_ROUNDING)):
        raise NotYetImplemented(
            f"The aggregate {name}() below another operator",
            operator=f"{name}()",
            **position(inner),
        )
    # Spark sums text as doubles, too.
    kind = SqlType.of(types.get(measure.name, "bigint")).kind
    if kind in (Kind.FLOATING, Kind.OTHER) or isinstance(inner, _ROUNDING):
        raise NotYetImplemented(
            f"{inner.sql(dialect='spark').lower()} adds floating numbers below another operator",
            operator=f"{name}()",
            hint="Cast the argument to a decimal to have it maintained.",
            **position(inner),
        )


def _refuse_inner_limits(below: Node) -> None:
    for node in below.walk():
        if isinstance(node, Sort) and (node.limit is not None or node.offset is not None):
            raise NotYetImplemented("LIMIT below the top of a model", operator="LIMIT")
