"""In which order the operators of a loop run within a round, and which loops no order can run.

Source: Imaki and Nishizawa, "Turing Completeness of Recursive Stream Data Processing with Delay
Operators", DBSJ Journal, §2.2 (figure 1) and §2.3.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import TypeVar

Vertex = TypeVar("Vertex", bound=Hashable)
Edges = Mapping[int, Collection[int]]
"""For each node those that read it."""
Chooser = Callable[[Sequence[int]], int]
"""Takes one of several nodes, where any will do."""


@dataclass(frozen=True)
class Order:
    """The order of a graph's nodes.

    Attributes:
        number: For each node its place in a round.
        circles: The components that no delay opens; each is in order of its numbers. Whatever was
            chosen, they are the same (the paper's theorem 2).
    """

    number: Mapping[int, int]
    circles: tuple[tuple[int, ...], ...]


def order(
    nodes: Sequence[int], edges: Edges, delays: Collection[int], choose: Chooser = min
) -> Order:
    """Number the nodes, so that only delays are read by those before them.

    The delayed edges are cut at one delay, the rest is taken apart into strongly connected
    components, and each component that still has a delay is taken apart in the same way.

    Args:
        nodes: The graph's nodes.
        edges: Who reads whom.
        delays: The nodes that give what they got a round before.
        choose: Takes one of several nodes where the order is free.
    """
    number: dict[int, int] = {}
    circles: list[tuple[int, ...]] = []

    def numbering(part: Collection[int], start: int | None) -> None:
        inside = set(part)
        kept = {n: [m for m in edges.get(n, ()) if m in inside and m != start] for n in part}
        for component in _sorted(components(kept), kept, choose):
            delayed = sorted(component & set(delays))
            is_circle = len(component) > 1 or any(n in kept[n] for n in component)
            if is_circle and delayed:
                numbering(component, choose(delayed))
                continue
            placed = _along(component, kept)
            for node in placed:
                number[node] = len(number)
            if is_circle:
                circles.append(tuple(placed))

    numbering(nodes, None)
    return Order(number, tuple(circles))


def components(edges: Mapping[Vertex, Collection[Vertex]]) -> list[set[Vertex]]:
    """The strongly connected components of a graph, by Tarjan's algorithm without recursion."""
    index: dict[Vertex, int] = {}
    low: dict[Vertex, int] = {}
    stack: list[Vertex] = []
    on_stack: set[Vertex] = set()
    found: list[set[Vertex]] = []
    for root in edges:
        if root in index:
            continue
        work = [(root, iter(edges[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            node, targets = work[-1]
            deeper = next((t for t in targets if t not in index or t in on_stack), None)
            if deeper is None:
                work.pop()
                if work:
                    above = work[-1][0]
                    low[above] = min(low[above], low[node])
                if low[node] == index[node]:
                    found.append(_popped(stack, on_stack, node))
            elif deeper in index:
                low[node] = min(low[node], index[deeper])
            else:
                index[deeper] = low[deeper] = len(index)
                stack.append(deeper)
                on_stack.add(deeper)
                work.append((deeper, iter(edges[deeper])))
    return found


def _popped(stack: list[Vertex], on_stack: set[Vertex], root: Vertex) -> set[Vertex]:
    component: set[Vertex] = set()
    while True:
        node = stack.pop()
        on_stack.discard(node)
        component.add(node)
        if node == root:
            return component


def _sorted(found: list[set[int]], edges: Edges, choose: Chooser) -> Iterable[set[int]]:
    """Components along the edges between them."""
    home = {node: place for place, component in enumerate(found) for node in component}
    before: dict[int, set[int]] = {place: set() for place in range(len(found))}
    for node, targets in edges.items():
        for target in targets:
            if home[target] != home[node]:
                before[home[target]].add(home[node])
    sorter = TopologicalSorter(before)
    sorter.prepare()
    ready = {min(found[place]): place for place in sorter.get_ready()}
    while ready:
        place = ready.pop(choose(sorted(ready)))
        yield found[place]
        sorter.done(place)
        ready |= {min(found[new]): new for new in sorter.get_ready()}


def _along(component: Collection[int], edges: Edges) -> list[int]:
    """The nodes of a component, each behind one that it reads as far as a circle lets them."""
    placed: list[int] = []
    seen: set[int] = set()
    for root in sorted(component):
        work = [root]
        while work:
            node = work.pop()
            if node in seen:
                continue
            seen.add(node)
            placed.append(node)
            work += [t for t in sorted(edges[node], reverse=True) if t in component]
    return placed
