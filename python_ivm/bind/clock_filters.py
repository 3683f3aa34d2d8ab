"""Conditions that read the clock: they get a node of their own, above the others."""

from __future__ import annotations

from sqlglot import exp

from python_ivm.algebra.columns import columns_of
from python_ivm.algebra.conditions import conjuncts
from python_ivm.algebra.nodes import ClockFilter, Filter, Join, Node
from python_ivm.sources.clock import readings


def filtered(node: Node, condition: exp.Expr) -> Node:
    """The rows that a condition keeps; what of it reads the clock stands above the rest."""
    if not readings(condition):
        return Filter(node, condition)
    plain = [c for c in conjuncts(condition) if not readings(c)]
    timed = [c for c in conjuncts(condition) if readings(c)]
    below = Filter(node, exp.and_(*plain)) if plain else node
    return ClockFilter(below, exp.and_(*timed))


def inner_join(node: Node, other: Node, conditions: tuple[exp.Expr, ...]) -> Node:
    """An inner join; conditions that read the clock stand above it."""
    timed = [c for c in conditions if readings(c)]
    joined = Join((node, other), tuple(c for c in conditions if c not in timed))
    return ClockFilter(joined, exp.and_(*timed)) if timed else joined


def by_the_clock(
    kind: str, node: Node, other: Node, conditions: list[exp.Expr]
) -> tuple[Node, Node, list[exp.Expr]]:
    """Move conditions of an outer or semi join that read the clock to the side that they filter.

    Args:
        kind: The kind of the join, such as ``LEFT OUTER``.
        node: The rows so far.
        other: The relation that is joined to them.
        conditions: The conjuncts of ON.

    Returns:
        The two sides, and the conditions that are left: those of them that still read the clock
        are not of the side that can have no match.
    """
    timed = [c for c in conditions if readings(c)]
    if not timed or kind in ("", "INNER", "CROSS"):
        return node, other, conditions
    left = [c for c in conditions if c not in timed]
    condition = exp.and_(*timed)
    if kind.startswith("RIGHT") and columns_of(condition) <= set(node.schema):
        return filtered(node, condition), other, left
    sided = kind.startswith(("LEFT", "SEMI", "ANTI"))
    if sided and columns_of(condition) <= set(other.schema):
        return node, filtered(other, condition), left
    return node, other, conditions
