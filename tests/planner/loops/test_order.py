"""The order of a loop's operators, and which loops have none: the paper's two theorems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product
from random import Random

import pytest
from sqlglot import exp

from python_ivm.algebra import nodes
from python_ivm.loops.graph import Graph, Vertex
from python_ivm.loops.order import Order, components, order
from python_ivm.loops.verdict import knots
from tests.planner.loops.all_loops import all_loops, numbering, some_loop

MONOTONE = nodes.UnionAll((), "u", ())
OTHER = nodes.FullJoin(MONOTONE, MONOTONE, (exp.true(),))
KINDS = ("monotone", "other", "delay")


def graphs(size: int) -> Iterator[tuple[tuple[str, ...], dict[int, list[int]]]]:
    """All graphs of so many vertices of each kind."""
    pairs = list(product(range(size), repeat=2))
    for kinds in product(KINDS, repeat=size):
        for chosen in range(2 ** len(pairs)):
            edges: dict[int, list[int]] = {n: [] for n in range(size)}
            for bit, (start, end) in enumerate(pairs):
                if chosen >> bit & 1:
                    edges[start].append(end)
            yield kinds, edges


def circles(edges: dict[int, list[int]]) -> Iterator[list[int]]:
    """Every way along the edges that comes back to where it began, each vertex at most once."""

    def onwards(way: list[int]) -> Iterator[list[int]]:
        for target in edges[way[-1]]:
            if target == way[0]:
                yield way
            elif target > way[0] and target not in way:
                yield from onwards([*way, target])

    for start in edges:
        yield from onwards([start])


def can_be_run(kinds: tuple[str, ...], edges: dict[int, list[int]]) -> bool:
    """By the definition: no circle without a delay has an operator that is not monotone."""
    return not any(
        "other" in {kinds[n] for n in circle} and "delay" not in {kinds[n] for n in circle}
        for circle in circles(edges)
    )


def loop(kinds: tuple[str, ...], edges: dict[int, list[int]]) -> Graph:
    """The same as the planner's graph."""
    graph = Graph()
    for number, kind in enumerate(kinds):
        node = {"monotone": MONOTONE, "other": OTHER, "delay": None}[kind]
        graph.add(Vertex(f"{kind} {number}", "f", node))
        if kind == "delay":
            graph.delays[str(number)] = number
    for start, targets in edges.items():
        for target in targets:
            graph.inputs[target].append(start)
    return graph


def is_right(kinds: tuple[str, ...], edges: dict[int, list[int]], choose: Random | None) -> None:
    """Check the order of a graph, whatever is chosen where it is free."""
    graph = loop(kinds, edges)
    has_right_order(graph, graph.order(choose.choice if choose else min))


@pytest.mark.parametrize("size", [1, 2, 3])
def test_all_small_loops(size: int) -> None:
    for kinds, edges in graphs(size):
        assert (not knots(loop(kinds, edges))) == can_be_run(kinds, edges), (kinds, edges)
        is_right(kinds, edges, None)


def test_all_loops_of_four_operators(pytestconfig: pytest.Config) -> None:
    """All where more examples are asked for (``--ivm-examples``), and else some by chance.

    Each has the numbers of its vertices, and what is chosen where the order is free, by chance.
    """
    random = Random(0)
    every = pytestconfig.getoption("ivm_examples", None)
    loops = all_loops() if every else (some_loop(random) for _ in range(2000))
    verdicts: Counter[bool] = Counter()
    for loop_of_four in loops:
        number = numbering(random)
        graph = loop_of_four.graph(number)
        can = loop_of_four.can_be_run
        assert (not knots(graph)) == can, (loop_of_four, number)
        has_right_order(graph, graph.order(random.choice))
        verdicts[can] += 1
    print(f"{verdicts.total():,} loops, of which {verdicts[True]:,} can be run")
    assert min(verdicts[True], verdicts[False]) > 200


def has_right_order(graph: Graph, found: Order) -> None:
    """Fail unless each vertex comes behind what it reads, but for delays and remaining circles."""
    size = len(graph.vertices)
    assert sorted(found.number.values()) == list(range(size))
    inside = [set(circle) for circle in found.circles]
    for reader, inputs in enumerate(graph.inputs):
        for read in inputs:
            if any({reader, read} <= circle for circle in inside):
                continue
            backwards = found.number[read] >= found.number[reader]
            assert not backwards or reader in graph.delays.values()


def test_what_is_chosen_changes_no_verdict() -> None:
    random = Random(0)
    for _ in range(300):
        size = random.randint(3, 9)
        kinds = tuple(random.choice(KINDS) for _ in range(size))
        edges = {n: random.sample(range(size), random.randint(0, 2)) for n in range(size)}
        delays = {n for n, kind in enumerate(kinds) if kind == "delay"}
        remaining = set()
        for _ in range(5):
            is_right(kinds, edges, random)
            found = order(range(size), edges, delays, random.choice)
            remaining.add(frozenset(frozenset(circle) for circle in found.circles))
        assert len(remaining) == 1


def test_delays_one_inside_another() -> None:
    """As in the paper's figure 2: where none of i, j and k is a delay, these three remain."""
    edges = {
        "d": "cn", "c": "m", "m": "ab", "a": "bh", "b": "h", "h": "ij", "i": "k", "j": "i",
        "k": "jl", "l": "fn", "f": "g", "g": "ah", "n": "e", "e": "cm",
    }  # fmt: skip
    numbers = {name: number for number, name in enumerate(sorted(edges))}
    graph = {numbers[name]: [numbers[t] for t in targets] for name, targets in edges.items()}
    for delays, left in (("ega", ["ijk"]), ("egai", [])):
        found = order(range(len(numbers)), graph, {numbers[d] for d in delays})
        names = {number: name for name, number in numbers.items()}
        assert ["".join(sorted(names[n] for n in c)) for c in found.circles] == left


def test_components_of_a_long_chain() -> None:
    edges = {n: [n + 1] for n in range(5000)} | {5000: [4000]}
    assert sorted(map(len, components(edges)))[-1] == 1001
