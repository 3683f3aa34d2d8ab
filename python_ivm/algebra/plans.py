"""Questions to whole plans, and what must be true of every one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from python_ivm.algebra.columns import columns_of
from python_ivm.algebra.nodes import (
    Aggregate,
    ByPosition,
    ClockFilter,
    Filter,
    FullJoin,
    Generate,
    Join,
    LeftJoin,
    Node,
    Project,
)
from python_ivm.errors import Internal

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


def ends_in_generate(node: Node) -> bool:
    """Whether a plan's SELECT ends in LATERAL VIEWs, after which no join can stand."""
    while isinstance(node, (Filter, ClockFilter)):
        node = node.input
    return isinstance(node, Generate)


def size(*nodes: Node) -> int:
    """The number of operators of plans, where each stands as often as it is read.

    It is what Spark plans, which writes out every reference to a CTE.
    """
    known: dict[int, int] = {}
    stack = list(nodes)
    while stack:
        current = stack[-1]
        missing = [child for child in current.inputs if id(child) not in known]
        if missing:
            stack.extend(missing)
            continue
        known[id(stack.pop())] = 1 + sum(known[id(child)] for child in current.inputs)
    return sum(known[id(node)] for node in nodes)


def check(node: Node) -> Node:
    """Check a plan's invariants: names resolve, relations are unique, unions fit.

    Returns:
        The plan itself.

    Raises:
        Internal: If an invariant is broken.
    """
    for current in node.walk():
        visible = {column for child in current.inputs for column in child.schema}
        for expression in current.expressions:
            missing = columns_of(expression) - visible
            if missing:
                names = ", ".join(sorted(f"{c.relation}.{c.name}" for c in missing))
                raise Internal(
                    f"{type(current).__name__} names columns that nothing below has: {names}"
                )
        if isinstance(current, (Join, LeftJoin, FullJoin, Generate, Project, Aggregate)):
            schema = current.schema
            if len(set(schema)) != len(schema):
                raise Internal(f"{type(current).__name__} has two columns of one name: {schema}")
        if isinstance(current, ByPosition):
            for part in current.inputs:
                if len(part.schema) != len(current.names):
                    raise Internal(f"{type(current).__name__} has inputs of different widths")
    return node
