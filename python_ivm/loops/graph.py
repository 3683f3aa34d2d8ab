"""The graph of a loop: operators and bindings, and who reads whom."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from python_ivm.algebra import nodes
from python_ivm.algebra.nodes import Node
from python_ivm.errors import NotYetImplemented
from python_ivm.loops.order import Order, order
from python_ivm.parse.loops import DELAY, NOW

_ALL = (
    nodes.Filter,
    nodes.Generate,
    nodes.Join,
    nodes.Project,
    nodes.Repeat,
    nodes.Scan,
    nodes.UnionAll,
)
"""The operators that are monotone in every input."""
_FIRST = (nodes.LeftJoin, nodes.Mark)
"""Those that are monotone in their first input."""


@dataclass(frozen=True)
class Vertex:
    """An operator of a loop, or a binding.

    Attributes:
        label: What it is, for a person.
        binding: The binding of which it is.
        node: The operator of the plan; None for a binding, and for a binding's delay.
        is_given: Whether it reads nothing of the loop: Spark computes it before.
    """

    label: str
    binding: str
    node: Node | None = None
    is_given: bool = False


@dataclass
class Graph:
    """Vertices, and the edges from each to those that read it.

    Attributes:
        vertices: The vertices.
        inputs: For each vertex those that it reads, in order.
        stored: The vertex of each binding.
        delays: The vertex of each binding as of the round before, as far as somebody reads it.
    """

    vertices: list[Vertex] = field(default_factory=list)
    inputs: list[list[int]] = field(default_factory=list)
    stored: dict[str, int] = field(default_factory=dict)
    delays: dict[str, int] = field(default_factory=dict)

    def add(self, vertex: Vertex, inputs: Sequence[int] = ()) -> int:
        """Add a vertex; returns its number."""
        self.vertices.append(vertex)
        self.inputs.append(list(inputs))
        return len(self.vertices) - 1

    @property
    def edges(self) -> dict[int, list[int]]:
        """For each vertex those that read it."""
        found: dict[int, list[int]] = {vertex: [] for vertex in range(len(self.vertices))}
        for reader, inputs in enumerate(self.inputs):
            for read in inputs:
                found[read].append(reader)
        return found

    def order(self, choose: Callable[[Sequence[int]], int] = min) -> Order:
        """The order of the vertices in a round."""
        return order(range(len(self.vertices)), self.edges, set(self.delays.values()), choose)

    def is_monotone(self, reader: int, place: int) -> bool:
        """Whether more rows of an input never take away rows that a vertex gave."""
        node = self.vertices[reader].node
        return node is None or monotone(node, place)


def monotone(node: Node, place: int) -> bool:
    """Whether an operator never takes rows back as one of its inputs gets more.

    Args:
        node: The operator.
        place: The number of the input.
    """
    if isinstance(node, nodes.SemiJoin):
        return place == 0 or not node.anti
    if isinstance(node, nodes.Aggregate):
        return bool(node.keys) and not node.measures
    if isinstance(node, nodes.Sort):
        return node.limit is None and node.offset is None
    return isinstance(node, _ALL) or (isinstance(node, _FIRST) and place == 0)


def graph_of(plans: Mapping[str, Node]) -> Graph:
    """The graph of a loop.

    Args:
        plans: Each binding's bound query, which reads bindings as tables.

    Raises:
        NotYetImplemented: If another recursion reads the loop.
    """
    graph = Graph()
    for name in plans:
        graph.stored[name] = graph.add(Vertex(name, name))
    for name, plan in plans.items():
        reading = _Reading()
        known: dict[int, int] = {}
        vertex = _vertex(graph, name, plan, reading, known)
        graph.inputs[graph.stored[name]] = [vertex]
    return graph


@dataclass
class _Reading:
    """Which nodes of a plan read the loop."""

    known: dict[int, bool] = field(default_factory=dict)

    def of(self, node: Node) -> bool:
        if id(node) not in self.known:
            own = read_binding(node) is not None
            self.known[id(node)] = own or any([self.of(child) for child in node.inputs])
        return self.known[id(node)]


def read_binding(node: Node) -> tuple[str, bool] | None:
    """The binding that a scan reads, and whether as of the round before."""
    if isinstance(node, nodes.Scan):
        schema, _, name = node.source.partition(".")
        if schema in (NOW, DELAY):
            return name, schema == DELAY
    return None


def _vertex(
    graph: Graph, binding: str, node: Node, reading: _Reading, known: dict[int, int]
) -> int:
    if id(node) in known:
        return known[id(node)]
    read = read_binding(node)
    if read is not None:
        name, delayed = read
        if delayed and name not in graph.delays:
            stored = graph.stored[name]
            graph.delays[name] = graph.add(Vertex(f"{name} of the round before", name), [stored])
        source = graph.delays[name] if delayed else graph.stored[name]
        place = graph.add(Vertex(f"reads {name}", binding, node), [source])
    elif not reading.of(node):
        place = graph.add(Vertex(f"rows of {_title(node)}", binding, node, is_given=True))
    else:
        if isinstance(node, nodes.Recursion):
            raise NotYetImplemented(
                "A recursion inside of a loop",
                operator="WITH RECURSIVE",
                hint="Make it a binding of the loop.",
            )
        inputs = [_vertex(graph, binding, child, reading, known) for child in node.inputs]
        place = graph.add(Vertex(_label(node), binding, node), inputs)
    known[id(node)] = place
    return place


def _title(node: Node) -> str:
    sources = [n.source for n in node.walk() if isinstance(n, nodes.Scan)]
    return ", ".join(dict.fromkeys(sources)) or "constants"


_LABELS: Mapping[type[Node], str] = {
    nodes.Bindings: "distinct",
    nodes.FullJoin: "full join",
    nodes.LeftJoin: "outer join",
    nodes.Mark: "mark",
    nodes.UnionAll: "union all",
    nodes.Window: "window",
}


def _label(node: Node) -> str:
    if isinstance(node, nodes.SemiJoin):
        return "antijoin" if node.anti else "semijoin"
    if isinstance(node, nodes.Sort):
        return "limit"
    if isinstance(node, nodes.Aggregate) and not node.measures:
        return "distinct"
    return _LABELS.get(type(node), type(node).__name__.lower())


def reading_vertex(graph: Graph, vertex: int) -> tuple[str, bool] | None:
    """The binding that a vertex reads, and whether as of the round before."""
    node: Any = graph.vertices[vertex].node
    return None if node is None else read_binding(node)
