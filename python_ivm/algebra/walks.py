"""Walks over plans that treat every node alike: map, fold and rewrite, each node once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, TypeVar

from python_ivm.algebra.nodes import AffectedKeys, ClockFilter, Filter, Generate, Node

T = TypeVar("T")


class OncePerNode:
    """What is computed about nodes, kept by their identity."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._known: dict[tuple[object, int], tuple[Node, Any]] = {}

    def __call__(self, what: object, node: Node, compute: Callable[[], T]) -> T:
        """Something about a node, computed once however often the node is asked about.

        The node is kept with it, so that its identity is not given to another one.
        """
        key = (what, id(node))
        if key not in self._known:
            self._known[key] = (node, compute())
        found: T = self._known[key][1]
        return found


def over(node: Node, inputs: tuple[Node, ...]) -> Node:
    """A node over other inputs; the node itself where they are its own."""
    same = all(new is old for new, old in zip(inputs, node.inputs, strict=True))
    return node if same else node.with_inputs(inputs)


def bottom_up(plan: Node, rule: Callable[[Node], Node]) -> Node:
    """Apply a rule to every node, once even where it stands in several places."""
    return rewritten(plan, lambda node, _: rule(node))


def rewritten(plan: Node, rule: Callable[[Node, Node], Node]) -> Node:
    """Apply a rule to every node over its new inputs, and to what the node was before."""
    once = OncePerNode()

    def visit(node: Node) -> Node:
        return once(
            rule, node, lambda: rule(over(node, tuple(visit(child) for child in node.inputs)), node)
        )

    return visit(plan)


def from_the_top(plan: Node) -> list[Node]:
    """Every node once, before all that it reads."""
    ordered: list[Node] = []
    seen: set[int] = set()
    stack = [(plan, False)]
    while stack:
        node, finished = stack.pop()
        if finished:
            ordered.append(node)
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((child, False) for child in node.inputs)
    return ordered[::-1]


def fold(plan: Node, of: Callable[[Node, list[T]], T]) -> T:
    """A value of a plan, from its inputs' values; computed once for each node.

    Args:
        plan: The plan.
        of: Gives a node's value from the values of its inputs.
    """
    known: dict[int, T] = {}
    for node in reversed(from_the_top(plan)):
        known[id(node)] = of(node, [known[id(child)] for child in node.inputs])
    return known[id(plan)]


def readers(plan: Node) -> Counter[int]:
    """How many operators read each node, by the node's identity."""
    return Counter(id(child) for node in plan.walk() for child in node.inputs)


def size(*plans: Node) -> int:
    """The number of operators of plans, where each stands as often as it is read.

    It is what Spark plans, which writes out every reference to a CTE. Affected keys count as much
    as the operator that has them: what finds them is not there yet.
    """

    def of(node: Node, below: list[int]) -> int:
        asked = size(node.of) if isinstance(node, AffectedKeys) else 0
        return 1 + asked + sum(below)

    return sum(fold(plan, of) for plan in plans)


def ends_in_generate(node: Node) -> bool:
    """Whether a plan's SELECT ends in LATERAL VIEWs, after which no join can stand."""
    while isinstance(node, (Filter, ClockFilter)):
        node = node.input
    return isinstance(node, Generate)
