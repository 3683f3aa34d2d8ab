"""The change of a recursion, round by round in memory: few rows need no jobs of Spark's.

A change of a linear recursion is a recursion over signed rows (``delta/recursion.py``), and so a
loop of one binding. Spark computes its first rows and the tables that its step reads. The row
engine does the rounds (docs/decisions/0065).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from python_ivm.algebra.nodes import Node, Recursion, Scan, UnionAll, WorkingTable
from python_ivm.algebra.walks import bottom_up
from python_ivm.loops.graph import graph_of
from python_ivm.loops.loop import Describe, Loop, binding_types, pushed
from python_ivm.loops.run import Ask, LoopRun, Relation, bag_of
from python_ivm.parse.loops import DELAY
from python_ivm.rows.circuit import Endless, Limits, Result
from python_ivm.rows.kinds import Overflow, ValueType
from python_ivm.rows.lookups import Lookup
from python_ivm.rows.operators import Bag


class NotFollowed(Exception):
    """The change of a recursion goes on for longer than it is followed."""


@contextmanager
def numbers_that_fit() -> Iterator[None]:
    """Give a change up in which a number does not fit its column.

    Raises:
        NotFollowed: If there is one.
    """
    try:
        yield
    except Overflow as error:
        raise NotFollowed(f"a number of the change does not fit its column: {error}") from None


def changed_rows(rows: Iterable[Sequence[Any]], kinds: Sequence[ValueType], limits: Limits) -> Bag:
    """The rows that a change begins with; their query gives one more than there may be.

    Raises:
        NotFollowed: If there are too many.
    """
    bag = bag_of(rows, kinds)
    if sum(bag.values()) > limits.rows:
        raise NotFollowed(f"the change begins with more than {limits.rows:,} rows")
    return bag


def loop_of_recursion(node: Recursion, describe: Describe, ansi: bool) -> Loop:
    """The change of a recursion as a loop: its first rows, and the step from the round before.

    Args:
        node: The recursion over signed rows.
        describe: Asks for the types of what Spark computes before the loop.
        ansi: Whether ANSI mode is on.

    Raises:
        NotYetImplemented: If the row engine cannot compute something in the step.
    """
    name = node.relation

    def delayed(part: Node) -> Node:
        if not isinstance(part, WorkingTable) or part.recursion != name:
            return part
        return Scan(f"{DELAY}.{name}", part.relation, part.names)

    step = pushed(bottom_up(node.step, delayed))
    plans: dict[str, Node] = {name: UnionAll((node.anchor, step), name, node.names)}
    graph = graph_of(plans)
    names = {name: node.names}
    kinds = binding_types(graph, plans, names, describe, ansi)
    return Loop(None, plans, graph, graph.order(), names, kinds, ansi)


@dataclass(frozen=True)
class SignedRounds(LoopRun):
    """The rounds of a recursion's change; its first query gives the rows that it begins with."""

    def run(self, ask: Ask) -> tuple[list[Relation], Result]:
        """Run the rounds.

        Args:
            ask: Runs a query in Spark.

        Returns:
            The signed rows, and how the rounds ended.

        Raises:
            NotFollowed: If they reach a limit, or a number that does not fit its column.
        """
        try:
            with numbers_that_fit():
                result = self.rounds(ask)
        except Endless as error:
            raise NotFollowed(f"the change has more than {_size(error.sizes):,} rows") from None
        if not result.ended:
            told = f"went on for {result.rounds:,} rounds and {_size(result.growth[-1]):,} rows"
            raise NotFollowed(f"the change {told}")
        return self.relations(result), result

    def given(
        self, place: int, rows: Iterable[Sequence[Any]], kinds: Sequence[ValueType]
    ) -> Bag | Lookup:
        """What Spark gave for one of the queries.

        Raises:
            NotFollowed: If the change begins with too many rows; its query gives one more than it
                may.
        """
        if place > 0:
            return super().given(place, rows, kinds)
        return changed_rows(rows, kinds, self.limits)

    def told(self, result: Result) -> str:
        """How the rounds ended, in the log's words."""
        rounds = result.rounds
        return f"a recursion of {rounds:,} round{'s' if rounds != 1 else ''} in memory"


def _size(sizes: Mapping[str, int]) -> int:
    return sum(sizes.values())
