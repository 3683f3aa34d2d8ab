"""GROUP BY: the aggregate of a SELECT, and the clauses above it over its output."""

from __future__ import annotations

from dataclasses import replace

from python_ivm.algebra.columns import Named
from python_ivm.algebra.nodes import Aggregate, Join, Node
from python_ivm.bind.clauses import Clauses
from python_ivm.bind.grouping.group_keys import group_keys, grouping_sets
from python_ivm.bind.grouping.order_by import is_constant, order_key
from python_ivm.bind.grouping.post_aggregation import PostAggregation
from python_ivm.bind.scope import SelectScope, placeholders
from python_ivm.bind.windows.session_windows import refuse_sessions, with_sessions
from python_ivm.functions.aggregates import has_aggregate
from python_ivm.functions.deterministic_choice import RowOrder, is_choice


def grouped(select: SelectScope, node: Node, clauses: Clauses) -> tuple[Node, Clauses]:
    """The groups of a SELECT, and its clauses over them.

    Args:
        select: The SELECT.
        node: The rows of FROM and WHERE.
        clauses: The clauses over them.

    Returns:
        The rows, unless the SELECT is grouped; and the clauses, in which names of output columns in
        ORDER BY are replaced by their expressions.
    """
    group = select.tree.args.get("group")
    aggregates = clauses.having is not None or any(map(has_aggregate, clauses.selects))
    if group is None and not aggregates:
        refuse_sessions(clauses.expressions)
        return node, _ordered(clauses, clauses, None)
    columns = list(zip(clauses.names, clauses.selects, strict=True))
    keys = group_keys(group, columns, select.expression) if group is not None else []
    sets = None
    if group is not None:
        relation = select.binder.name("grouping_sets")
        sets = grouping_sets(group, keys, select.expression, relation)
    node, keys, clauses = _with_subqueries_below(select, node, keys, clauses)
    if sets is None:
        node, keys, clauses = with_sessions(select, node, keys, clauses)
    refuse_sessions([*(key.expression for key in keys), *clauses.expressions])
    calls = clauses.aggregates
    select.binder.chooses |= any(map(is_choice, calls))
    grouping = PostAggregation(
        select.binder.name(f"{select.wanted}_groups"), keys, sets, order=RowOrder.of(calls)
    )
    above = replace(
        clauses,
        selects=tuple(
            grouping.apply(e, wanted=name)
            for name, e in zip(clauses.names, clauses.selects, strict=True)
        ),
        having=grouping.apply(clauses.having) if clauses.having is not None else None,
        qualify=grouping.apply(clauses.qualify) if clauses.qualify is not None else None,
    )
    above = _ordered(above, clauses, grouping)
    for placeholder in sorted(set(placeholders(above.expressions))):
        select.subqueries.above_groups(placeholder, grouping.apply)
    if grouping.sets is not None:
        node = Join((node, grouping.sets.rows))
    groups = Aggregate(node, grouping.relation, grouping.grouped_by, tuple(grouping.measures))
    return groups, above


def _with_subqueries_below(
    select: SelectScope, node: Node, keys: list[Named], clauses: Clauses
) -> tuple[Node, list[Named], Clauses]:
    """Join the subqueries in arguments of aggregates and in keys, which the groups are made of."""
    values = [key.expression for key in keys]
    early = set(placeholders(clauses.aggregates)) | select.subqueries.like(placeholders(values))
    if not early:
        return node, keys, clauses
    node, every = select.filled(node, [*values, *clauses.expressions], early)
    named = zip(keys, every[: len(keys)], strict=True)
    return node, [Named(k.name, e) for k, e in named], clauses.over(every[len(keys) :])


def _ordered(above: Clauses, below: Clauses, grouping: PostAggregation | None) -> Clauses:
    """ORDER BY over the groups, without keys that sort nothing."""
    outputs = dict(zip(below.names, below.selects, strict=True))
    order = (order_key(key, outputs, grouping) for key in below.order)
    return replace(above, order=tuple(key for key in order if not is_constant(key.this)))
