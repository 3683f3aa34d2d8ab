"""FROM: relations and their joins."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from python_ivm.algebra.conditions import conjuncts
from python_ivm.algebra.nodes import FullJoin, LeftJoin, Node, SemiJoin
from python_ivm.bind import generators
from python_ivm.bind.clock_filters import by_the_clock, inner_join
from python_ivm.bind.scope import SelectScope, placeholders
from python_ivm.bind.subqueries.lateral import join_lateral
from python_ivm.errors import NotYetImplemented
from python_ivm.functions.aggregates import refuse_aggregates
from python_ivm.functions.generators import is_generator
from python_ivm.parse.trees import SUBQUERIES, position


def joined(select: SelectScope, first: exp.Expr, joins: Sequence[exp.Join]) -> Node:
    """A relation and those that are joined to it; the SELECT can name their columns from then on.

    Args:
        select: The SELECT.
        first: The first relation of FROM.
        joins: The joins behind it.

    Raises:
        NotYetImplemented: For joins that have no rule.
    """
    node = _relation(select, first)
    for join in joins:
        kind = " ".join(w for w in (join.method, join.side, join.kind) if w).upper()
        on = join.args.get("on")
        if isinstance(join.this, exp.Lateral):
            node = _lateral(select, kind, node, join.this, on)
            continue
        node = select.joinable(node)
        other = select.joinable(_relation(select, join.this))
        terms = conjuncts(on) if on is not None else []
        asking = [c for c in terms if c.find(*SUBQUERIES) is not None]
        conditions = [select.expression(c) for c in terms if c.find(*SUBQUERIES) is None]
        for condition in conditions:
            refuse_aggregates(condition, "a join condition")
        if asking and kind not in ("", "INNER", "CROSS"):
            node, other, conditions = _asking_below(select, node, other, conditions, asking)
            asking = []
        node = select.closed_under(_join(select, kind, node, other, conditions, join))
        for condition in asking:
            node, _ = select.asking(node, condition, [])
        if asking:
            node = select.as_one_relation(node, "joined")
    return node


def _asking_below(
    select: SelectScope,
    node: Node,
    other: Node,
    conditions: list[exp.Expr],
    asking: list[exp.Expr],
) -> tuple[Node, Node, list[exp.Expr]]:
    """Join the subqueries of an outer join's condition to the side whose columns they name."""
    every = [*conditions, *(select.expression(c) for c in asking)]
    for placeholder in sorted(set(placeholders(every))):
        named = select.subqueries.free(placeholder)
        if named <= set(other.schema):
            other, every = select.filled(other, every, {placeholder})
        elif named <= set(node.schema):
            node, every = select.filled(node, every, {placeholder})
        else:
            raise NotYetImplemented(
                "A subquery with columns of both sides in the condition of an outer join",
                operator="ON",
                **position(asking[0]),
            )
    return node, other, every


def _lateral(
    select: SelectScope, kind: str, node: Node, lateral: exp.Lateral, on: exp.Expr | None
) -> Node:
    """A join to a function or a subquery that may name the relations before it."""
    sides = {"": False, "INNER": False, "CROSS": False, "LEFT": True, "LEFT OUTER": True}
    if kind not in sides:
        raise NotYetImplemented(
            f"{kind} JOIN LATERAL", operator="LATERAL", **position(lateral.this)
        )
    if is_generator(lateral.this):
        return generators.generate(select, node, lateral, sides[kind], on)
    return join_lateral(select, select.joinable(node), lateral, sides[kind], on)


def _join(
    select: SelectScope,
    kind: str,
    node: Node,
    other: Node,
    conditions: list[exp.Expr],
    join: exp.Join,
) -> Node:
    node, other, conditions = by_the_clock(kind, node, other, conditions)
    on = tuple(conditions)
    label = select.binder.name(f"{_name(other)}_match")
    match kind.removeprefix("NATURAL").strip().removesuffix(" OUTER"):
        case "" | "INNER" | "CROSS":
            return inner_join(node, other, on)
        case "LEFT":
            return LeftJoin(node, other, on, label)
        case "RIGHT":
            return LeftJoin(other, node, on, label)
        case "FULL":
            return FullJoin(node, other, on, label)
        case "LEFT SEMI" | "SEMI":
            return SemiJoin(node, other, on, False, label)
        case "LEFT ANTI" | "ANTI":
            return SemiJoin(node, other, on, True, label)
    raise NotYetImplemented(f"{kind} JOIN", operator=f"{kind} JOIN", **position(join.this))


def _relation(select: SelectScope, source: exp.Expr) -> Node:
    if isinstance(source, exp.Subquery) and _is_from_item(source.this):
        inner = source.this.copy()
        joins = inner.args.get("joins") or []
        inner.set("joins", None)
        return joined(select, inner, joins)
    if source.args.get("joins"):
        raise NotYetImplemented(
            "A join on the right of a join, without parentheses",
            operator="JOIN",
            hint="Write parentheses: a LEFT JOIN (b JOIN c ON …) ON ….",
            **position(source),
        )
    if isinstance(source, exp.Table) and isinstance(source.this, exp.Func):
        return generators.table_function(select, source)
    alias, node = select.binder.relation(source, select.ctes)
    select.show(alias, node.schema)
    select.binder.hint(select.tree, alias, _name(node))
    return node


def _is_from_item(inner: exp.Expr) -> bool:
    """Whether parentheses in FROM hold relations rather than a query."""
    if isinstance(inner, exp.Subquery):
        return bool(inner.alias or inner.args.get("joins"))
    return isinstance(inner, exp.Table)


def _name(node: Node) -> str:
    return node.schema[0].relation if node.schema else "rows"
