"""All loops of four operators, each once whatever its operators are called.

A loop is said by the kinds of its vertices, by its edges as bits (of the edge from ``a`` to ``b``
bit ``4 * a + b``), and by which input is the first one of the operators to which that matters.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import combinations_with_replacement, permutations, product
from random import Random

from sqlglot import exp

from python_ivm.algebra import nodes
from python_ivm.loops.graph import Graph, Vertex

SIZE = 4
MONOTONE = nodes.UnionAll((), "u", ())
NODES = {
    "monotone": MONOTONE,
    "other": nodes.FullJoin(MONOTONE, MONOTONE, (exp.true(),)),
    "first": nodes.LeftJoin(MONOTONE, MONOTONE, (exp.true(),)),
    "delay": None,
}
"""Operators monotone in all inputs, in none, in the first one alone, and the round before."""


@dataclass(frozen=True)
class Loop:
    """One of them.

    Attributes:
        kinds: What each vertex is.
        edges: The edges.
        first: The first input of each vertex; -1 where that does not matter.
    """

    kinds: tuple[str, ...]
    edges: int
    first: tuple[int, ...]

    @property
    def can_be_run(self) -> bool:
        """By the definition: each circle has a delay, or all of its inputs are monotone."""
        late = sum(1 << n for n, kind in enumerate(self.kinds) if kind == "delay")
        broken = sum(
            1 << SIZE * start + end
            for start, end in product(range(SIZE), repeat=2)
            if self.kinds[end] == "other"
            or (self.kinds[end] == "first" and self.first[end] != start)
        )
        return not any(
            circle & self.edges == circle and circle & broken and not vertices & late
            for circle, vertices in circles()
        )

    def graph(self, number: tuple[int, ...]) -> Graph:
        """The planner's graph, in which vertex ``n`` has the number ``number[n]``."""
        graph = Graph()
        named = sorted(range(SIZE), key=number.__getitem__)
        for vertex in named:
            kind = self.kinds[vertex]
            graph.add(Vertex(f"{kind} {vertex}", "f", NODES[kind]))
            if kind == "delay":
                graph.delays[str(vertex)] = number[vertex]
        for end in range(SIZE):
            read = [start for start in range(SIZE) if self.edges >> SIZE * start + end & 1]
            read.sort(key=lambda start: (start != self.first[end], number[start]))
            graph.inputs[number[end]] = [number[start] for start in read]
        return graph


@cache
def circles() -> tuple[tuple[int, int], ...]:
    """All circles among four vertices, each vertex at most once: edges and vertices as bits."""
    found = set()
    for length in range(1, SIZE + 1):
        for way in permutations(range(SIZE), length):
            edges = sum(1 << SIZE * a + b for a, b in zip(way, (*way[1:], way[0]), strict=True))
            found.add((edges, sum(1 << n for n in way)))
    return tuple(sorted(found))


def all_loops() -> Iterator[Loop]:
    """Every loop, but for those that differ in the numbers of their vertices alone."""
    for kinds in combinations_with_replacement(NODES, SIZE):
        for edges in _representatives(kinds):
            yield from _with_firsts(kinds, edges)


def _representatives(kinds: tuple[str, ...]) -> Iterator[int]:
    """Of all sets of edges that are the same under another numbering the least one."""
    same = [
        order
        for order in permutations(range(SIZE))
        if all(kinds[order[n]] == kinds[n] for n in range(SIZE))
    ]
    moved = [_moving(order) for order in same]
    seen = bytearray(2 ** (SIZE * SIZE))
    for edges in range(len(seen)):
        if seen[edges]:
            continue
        yield edges
        for low, high in moved:
            seen[low[edges & 255] | high[edges >> 8]] = 1


def _moving(order: tuple[int, ...]) -> tuple[list[int], list[int]]:
    """What another numbering makes of each half of the edges' bits."""
    bits = [1 << SIZE * order[bit // SIZE] + order[bit % SIZE] for bit in range(SIZE * SIZE)]
    halves = (bits[:8], bits[8:])
    low, high = (
        [sum(bit for n, bit in enumerate(half) if byte >> n & 1) for byte in range(256)]
        for half in halves
    )
    return low, high


def _with_firsts(kinds: tuple[str, ...], edges: int) -> Iterator[Loop]:
    """Each choice of first inputs."""
    choices = []
    for end, kind in enumerate(kinds):
        read = [start for start in range(SIZE) if edges >> SIZE * start + end & 1]
        choices.append(read if kind == "first" and read else [-1])
    for first in product(*choices):
        yield Loop(kinds, edges, first)


def some_loop(random: Random) -> Loop:
    """A loop by chance."""
    kinds = tuple(random.choice(list(NODES)) for _ in range(SIZE))
    edges = random.getrandbits(SIZE * SIZE) & random.getrandbits(SIZE * SIZE)
    return random.choice(list(_with_firsts(kinds, edges)))


def numbering(random: Random) -> tuple[int, ...]:
    """Some numbers of the vertices."""
    return tuple(random.sample(range(SIZE), SIZE))
