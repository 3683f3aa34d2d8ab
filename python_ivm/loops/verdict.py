"""Whether a loop can be run: theorem 2 of the paper (see ``loops/order.py``)."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import combinations

from python_ivm.errors import LoopNotExecutable
from python_ivm.loops.graph import Graph, reading_vertex
from python_ivm.loops.order import components
from python_ivm.loops.program import Program, Reference

_MOST_TOGETHER = 3
"""How many delays are tried together before the advice is to delay every edge."""


@dataclass(frozen=True)
class Knot:
    """A circle without a delay through an input of which more rows may take rows away.

    Attributes:
        path: The vertices, from the reader of that input around to what it reads.
    """

    path: tuple[int, ...]


def knots(graph: Graph, delayed: Collection[int] = ()) -> list[Knot]:
    """The circles that cannot be run, one for each component that no delay opens.

    Args:
        graph: The loop.
        delayed: Further vertices whose inputs are taken as of the round before.
    """
    cut = {*graph.delays.values(), *delayed}
    edges = {
        vertex: [reader for reader in readers if reader not in cut]
        for vertex, readers in graph.edges.items()
    }
    found = []
    for component in components(edges):
        knot = _knot(graph, component, edges)
        if knot is not None:
            found.append(knot)
    return found


def _knot(graph: Graph, component: set[int], edges: Mapping[int, list[int]]) -> Knot | None:
    for reader in sorted(component):
        for place, read in enumerate(graph.inputs[reader]):
            inside = read in component and reader in edges[read]
            if inside and not graph.is_monotone(reader, place):
                return Knot(_way(reader, read, component, edges))
    return None


def _way(
    start: int, end: int, component: set[int], edges: Mapping[int, list[int]]
) -> tuple[int, ...]:
    """A shortest way from one vertex of a component to another one."""
    before: dict[int, int] = {start: start}
    work = deque([start])
    while end not in before:
        vertex = work.popleft()
        for reader in edges[vertex]:
            if reader in component and reader not in before:
                before[reader] = vertex
                work.append(reader)
    way = [end]
    while way[-1] != start:
        way.append(before[way[-1]])
    return tuple(reversed(way))


def refuse_knots(program: Program, graph: Graph) -> None:
    """Refuse a loop that no order can run.

    Raises:
        LoopNotExecutable: With the circle, and where a delay would mend it.
    """
    found = knots(graph)
    if not found:
        return
    path = found[0].path
    first = graph.vertices[path[0]]
    told = " → ".join([*_names(program, graph, path), first.binding])
    advice = " or ".join(
        " and ".join(f"of {r.read} in {r.reader} ({r.line})" for r in references)
        for references in _mends(program, graph)
    )
    raise LoopNotExecutable(
        f"The loop {told} has no delay, and its {first.label} may take back "
        "the rows that it follows from",
        operator=first.label,
        hint=f"Read the round before by ivm_delay: {advice}.",
        **program.position(first.binding),
    )


def _names(program: Program, graph: Graph, path: tuple[int, ...]) -> list[str]:
    """The bindings along a path, with their lines, and the operator that it begins with."""
    first = graph.vertices[path[0]]
    told = [f"{first.binding}'s {first.label}"]
    for vertex in path:
        name = graph.vertices[vertex].binding
        if graph.stored[name] == vertex:
            line = program.position(name).get("line")
            told.append(f"{name} (line {line})" if line else name)
    return told


def _mends(program: Program, graph: Graph) -> list[list[Reference]]:
    """The smallest sets of places where a delay would mend the loop."""
    places = [v for v in range(len(graph.vertices)) if _reads_now(graph, v)]
    for number in range(1, _MOST_TOGETHER + 1):
        mending = [chosen for chosen in combinations(places, number) if not knots(graph, chosen)]
        if mending:
            named = [_references(program, graph, chosen) for chosen in mending]
            return [one for place, one in enumerate(named) if one not in named[:place]]
    return [_references(program, graph, tuple(places))]


def _reads_now(graph: Graph, vertex: int) -> bool:
    read = reading_vertex(graph, vertex)
    return read is not None and not read[1]


def _references(program: Program, graph: Graph, places: tuple[int, ...]) -> list[Reference]:
    found: list[Reference] = []
    for vertex in places:
        read = reading_vertex(graph, vertex)
        assert read is not None
        reader = graph.vertices[vertex].binding
        found += [
            r
            for r in program.references
            if (r.reader, r.read, r.delayed) == (reader, read[0], False) and r not in found
        ][:1]
    return found
