"""Rules that bring a plan into the shape that the later stages expect, in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

from sqlglot import exp

from python_ivm.algebra import nodes
from python_ivm.algebra.columns import ColumnRef, Named, columns_of, substitute
from python_ivm.algebra.conditions import common_conjuncts
from python_ivm.algebra.nodes import Node
from python_ivm.algebra.ties import tie
from python_ivm.algebra.walks import bottom_up, from_the_top, readers, rewritten


def normalize(plan: Node) -> Node:
    """Apply every rule of :data:`RULES` once, each from the leaves up."""
    for rule in RULES:
        plan = rule(plan)
    return plan


def order_limited_rows(plan: Node) -> Node:
    """A LIMIT without ORDER BY takes the first rows of an ordered subquery.

    Between the two stand projections and filters alone, through which Spark keeps the order.
    """

    def rule(node: Node) -> Node:
        if not isinstance(node, nodes.Sort) or node.order or not _limits(node):
            return node
        path: list[nodes.Project | nodes.Filter] = []
        below = node.input
        while isinstance(below, (nodes.Project, nodes.Filter)):
            path.append(below)
            below = below.input
        if not isinstance(below, nodes.Sort) or not below.order:
            return node
        rows: Node = below if _limits(below) else below.input
        mapping: dict[ColumnRef, exp.Expr] = {c: c.expression() for c in below.schema}
        for step in reversed(path):
            if isinstance(step, nodes.Filter):
                rows = nodes.Filter(rows, substitute(step.condition, mapping))
            else:
                shown = {i.name: substitute(i.expression, mapping) for i in step.items}
                mapping = {ColumnRef(step.relation, name): e for name, e in shown.items()}
        limited: Node = replace(node, input=rows, order=below.order)
        for step in reversed(path):
            if isinstance(step, nodes.Project):
                limited = step.with_inputs((limited,))
        return limited

    return bottom_up(plan, rule)


def drop_inner_orders(plan: Node) -> Node:
    """ORDER BY without LIMIT has no effect but at the top."""
    if isinstance(plan, nodes.Project):
        return plan.with_inputs((drop_inner_orders(plan.input),))

    def rule(node: Node) -> Node:
        idle = isinstance(node, nodes.Sort) and not _limits(node)
        return node.inputs[0] if idle else node

    if isinstance(plan, nodes.Sort):
        return plan.with_inputs((bottom_up(plan.input, rule),))
    return bottom_up(plan, rule)


def merge_joins(plan: Node) -> Node:
    """Joins of joins become one join, and filters over inner joins become its conditions.

    An inner join is associative and a filter above it is one more condition, so that a delta may
    start from whichever input changed. What all sides of an OR share is a condition of its own: an
    equality among them joins by it.
    """

    def rule(node: Node) -> Node:
        if isinstance(node, nodes.Filter) and isinstance(
            node.input, (nodes.Join, nodes.Filter, nodes.Scan)
        ):
            below = node.input
            conditions = tuple(common_conjuncts(node.condition))
            if isinstance(below, nodes.Scan):
                return nodes.Join((below,), conditions)
            if isinstance(below, nodes.Join):
                return replace(below, conditions=(*below.conditions, *conditions))
        if isinstance(node, nodes.Join):
            parts: list[Node] = []
            merged = [c for condition in node.conditions for c in common_conjuncts(condition)]
            for part in node.parts:
                if isinstance(part, nodes.Join):
                    parts.extend(part.parts)
                    merged.extend(part.conditions)
                else:
                    parts.append(part)
            return nodes.Join(tuple(parts), tuple(merged))
        return node

    return bottom_up(plan, rule)


def flatten_unions(plan: Node) -> Node:
    """A union of unions becomes one union."""

    def rule(node: Node) -> Node:
        if not isinstance(node, nodes.UnionAll):
            return node
        parts: list[Node] = []
        for part in node.parts:
            parts.extend(part.parts if isinstance(part, nodes.UnionAll) else (part,))
        return replace(node, parts=tuple(parts))

    return bottom_up(plan, rule)


def merge_projections(plan: Node) -> Node:
    """A projection of a projection becomes one; one that only picks from an aggregate vanishes.

    What several operators read stays one relation, and what is computed once is not written twice.
    """
    read_by = readers(plan)

    def rule(node: Node, before: Node) -> Node:
        if not isinstance(node, nodes.Project) or read_by[id(before.inputs[0])] > 1:
            return node
        below = node.input
        if isinstance(below, nodes.Project) and not _computes_twice(node, below):
            mapping = {ColumnRef(below.relation, i.name): i.expression for i in below.items}
            items = tuple(Named(i.name, substitute(i.expression, mapping)) for i in node.items)
            return nodes.Project(below.input, node.relation, items, node.title or below.title)
        if isinstance(below, nodes.Aggregate) and _picks(node, below):
            shown = {item.name for item in node.items}
            measures = tuple(m for m in below.measures if m.name in shown)
            return replace(below, relation=node.relation, measures=measures)
        return node

    return rewritten(plan, rule)


def _computes_twice(node: nodes.Project, below: nodes.Project) -> bool:
    """Whether one projection would repeat what the other computes once."""
    simple = (exp.Column, exp.Literal, exp.Null, exp.Boolean)
    computed = {i.name for i in below.items if not isinstance(i.expression, simple)}
    named = Counter(c.name for i in node.items for c in i.expression.find_all(exp.Column))
    return any(named[name] > 1 for name in computed)


def _picks(node: nodes.Project, below: nodes.Aggregate) -> bool:
    """Whether a projection shows an aggregate's columns in their order, all keys among them."""
    shown = [
        item.name
        for item in node.items
        if isinstance(item.expression, exp.Column) and item.expression.name == item.name
    ]
    kept = [c.name for c in below.schema if c.name in set(shown)]
    keys = {key.name for key in below.keys}
    picked = len(shown) == len(node.items) and shown == kept and keys <= set(shown)
    return picked and (not below.measures or len(shown) > len(keys))


def prune_columns(plan: Node) -> Node:
    """Scans read, and operators compute, only what something above names."""
    used: set[ColumnRef] = set(plan.schema)
    for node in from_the_top(plan):
        kept = _kept(node, used)
        for expression in kept.expressions:
            used |= columns_of(expression)
        if isinstance(node, nodes.ByPosition):
            for part in node.inputs:
                used |= set(part.schema)
    return bottom_up(plan, lambda node: _kept(node, used))


def _kept(node: Node, used: set[ColumnRef]) -> Node:
    """An operator without the columns that nothing uses."""
    if isinstance(node, nodes.Scan):
        kept = tuple(n for n in node.columns if ColumnRef(node.relation, n) in used)
        return replace(node, columns=kept)
    if isinstance(node, (nodes.Mark, nodes.Window)):
        items = tuple(i for i in node.items if ColumnRef(node.relation, i.name) in used)
        return replace(node, items=items)
    if isinstance(node, nodes.Project):
        items = tuple(i for i in node.items if ColumnRef(node.relation, i.name) in used)
        return replace(node, items=items or _one(node))
    if isinstance(node, nodes.Aggregate):
        measures = tuple(m for m in node.measures if ColumnRef(node.relation, m.name) in used)
        return replace(node, measures=measures or node.measures[:1])
    return node


def _one(node: nodes.Project) -> tuple[Named, ...]:
    """A column for a projection of which only the number of rows matters."""
    return node.items[:1]


def total_order(plan: Node) -> Node:
    """A LIMIT below the top keeps the same rows whenever it is computed: ties are ordered too.

    Rows that agree in all columns which something above reads are interchangeable.
    """

    def rule(node: Node) -> Node:
        if not isinstance(node, nodes.Sort) or not _limits(node):
            return node
        known = {key.this for key in node.order}
        ties = [c.expression() for c in node.schema if c.expression() not in known]
        return replace(
            node, order=(*node.order, *(exp.Ordered(this=tie(t), nulls_first=True) for t in ties))
        )

    top = plan
    while isinstance(top, nodes.Project):
        top = top.input
    if isinstance(top, nodes.Sort):
        below = bottom_up(top.input, rule)
        return _replaced(plan, top, top.with_inputs((below,)))
    return bottom_up(plan, rule)


def keeps_some(plan: Node) -> bool:
    """Whether a LIMIT below the top may choose among rows that its order leaves equal."""
    return any(isinstance(n, nodes.Sort) and _limits(n) for n in without_top_order(plan).walk())


def limits_at_top(plan: Node) -> bool:
    """Whether a LIMIT or OFFSET at the plan's top leaves rows out."""
    while isinstance(plan, nodes.Project):
        plan = plan.input
    return isinstance(plan, nodes.Sort) and _limits(plan)


def without_top_order(plan: Node) -> Node:
    """The plan without ORDER BY, LIMIT and OFFSET at its top."""
    if isinstance(plan, nodes.Project):
        return plan.with_inputs((without_top_order(plan.input),))
    return plan.input if isinstance(plan, nodes.Sort) else plan


def _limits(node: nodes.Sort) -> bool:
    return node.limit is not None or node.offset is not None


def _replaced(plan: Node, old: Node, new: Node) -> Node:
    if plan is old:
        return new
    return plan.with_inputs(tuple(_replaced(child, old, new) for child in plan.inputs))


RULES: tuple[Callable[[Node], Node], ...] = (
    order_limited_rows,
    drop_inner_orders,
    merge_joins,
    flatten_unions,
    merge_projections,
    prune_columns,
    total_order,
)
"""The rules, in the order in which they are applied."""
