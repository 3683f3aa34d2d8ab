"""A circuit of operators, run round by round until nothing changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush

from python_ivm.rows.operators import Bag, Delayed, Operator, Stored, add, difference


@dataclass(frozen=True)
class Circuit:
    """Operators in the order in which they run.

    Attributes:
        operators: The operators.
        readers: For each operator those that read it, and as which of their inputs.
        circles: Operators that read each other within a round, by their places.
        retracting: Operators of circles, and their inputs, of which more rows may take rows away.
    """

    operators: Sequence[Operator]
    readers: Sequence[Sequence[tuple[int, int]]]
    circles: Sequence[frozenset[int]] = ()
    retracting: frozenset[tuple[int, int]] = frozenset()


@dataclass(frozen=True)
class Limits:
    """How far a loop may go.

    Attributes:
        rounds: The most rounds.
        rows: The most rows of all bindings together.
    """

    rounds: int = 1_000_000
    rows: int = 10_000_000


@dataclass
class Result:
    """How a loop ended.

    Attributes:
        rounds: How many rounds changed something.
        rows: The rows of each binding.
        ended: Whether a round changed nothing; else a limit was reached.
        period: After how many rounds the same rows came back; 0 if none did.
        growth: Rows of each binding after the last rounds, the newest last.
        changes: How many rows came and went in all bindings, over all rounds.
    """

    rounds: int = 0
    rows: dict[str, Bag] = field(default_factory=dict)
    ended: bool = True
    period: int = 0
    growth: list[dict[str, int]] = field(default_factory=list)
    changes: int = 0


_REMEMBERED = 4
"""How many of the last rounds a message shows, to tell how a loop grows."""


class Runner:
    """Runs a circuit.

    In a circle rows are added until there are no new ones. If rows that came from outside go, the
    circle is computed anew: what remains of it could prove itself.
    """

    def __init__(self, circuit: Circuit) -> None:
        """Take the circuit."""
        self.circuit = circuit
        self._pending: list[dict[int, Bag]] = [{} for _ in circuit.operators]
        self._waiting: list[int] = []
        self._circle_of = {place: c for c in circuit.circles for place in c}
        self._inputs: dict[frozenset[int], dict[tuple[int, int], Bag]] = {
            circle: {} for circle in circuit.circles
        }
        self._given: dict[frozenset[int], dict[int, Bag]] = {c: {} for c in circuit.circles}

    def run(self, limits: Limits) -> Result:
        """All rounds, until one changes nothing or a limit is reached."""
        stored = [op for op in self.circuit.operators if isinstance(op, Stored)]
        delayed = [
            (place, op) for place, op in enumerate(self.circuit.operators)
            if isinstance(op, Delayed)
        ]  # fmt: skip
        result = Result()
        repeats = _Repeats([op for _, op in delayed])
        for place, operator in enumerate(self.circuit.operators):
            if self.circuit.readers[place]:  # a table of which rows are looked up has none
                self._pass_on(place, operator.start())
        while True:
            self._settle(limits, stored)
            result.growth = [*result.growth[1 - _REMEMBERED :], {op.name: op.size for op in stored}]
            moved = {place: op.next_round() for place, op in delayed if op.waiting}
            if not moved:
                break
            if result.rounds >= limits.rounds or _total(stored) > limits.rows:
                result.ended = False
                break
            result.rounds += 1
            result.period = repeats.seen(moved)
            if result.period:
                result.ended = False
                break
            for place, change in moved.items():
                result.changes += len(change)
                self._pass_on(place, change)
        result.rows = {op.name: op.rows for op in stored}
        return result

    def _pass_on(self, place: int, change: Bag) -> None:
        """Give what an operator gives to those that read it."""
        if not change:
            return
        for reader, port in self.circuit.readers[place]:
            pending = self._pending[reader]
            if not pending:
                heappush(self._waiting, reader)
            if port in pending:
                add(pending[port], change)
            else:
                pending[port] = dict(change)

    def _settle(self, limits: Limits, stored: Sequence[Stored]) -> None:
        """One round: operators in their order, as long as one has something to do."""
        operators = self.circuit.operators
        while self._waiting:
            place = heappop(self._waiting)
            circle = self._circle_of.get(place)
            if circle is not None:
                heappush(self._waiting, place)
                self._turn(circle, limits, stored)
                continue
            changes, self._pending[place] = self._pending[place], {}
            self._pass_on(place, operators[place].step(changes))

    def _turn(self, circle: frozenset[int], limits: Limits, stored: Sequence[Stored]) -> None:
        """Run a circle until it adds nothing more."""
        outside = self._inputs[circle]
        loses = False
        for place in [p for p in self._waiting if p in circle]:
            for port, change in self._pending[place].items():
                loses = loses or (place, port) in self.circuit.retracting
                loses = loses or any(times < 0 for times in change.values())
                add(outside.setdefault((place, port), {}), change)
        if loses:
            for place in circle:
                self.circuit.operators[place].reset()
                self._pending[place] = {}
            for (place, port), rows in outside.items():
                if rows:
                    self._pending[place][port] = dict(rows)
        work = sorted(place for place in circle if self._pending[place])
        self._waiting = [place for place in self._waiting if place not in circle]
        self._waiting.sort()
        given: dict[int, Bag] = {}
        while work:
            place = heappop(work)
            changes, self._pending[place] = self._pending[place], {}
            change = self.circuit.operators[place].step(changes)
            if not change:
                continue
            add(given.setdefault(place, {}), change)
            self._inside(circle, place, change, work)
            if _total(stored) > limits.rows:
                raise Endless({op.name: op.size for op in stored})
        self._give(circle, given, loses)

    def _inside(self, circle: frozenset[int], place: int, change: Bag, work: list[int]) -> None:
        for reader, port in self.circuit.readers[place]:
            if reader not in circle:
                continue
            pending = self._pending[reader]
            if not pending:
                heappush(work, reader)
            add(pending.setdefault(port, {}), change)
            if not pending[port]:
                del pending[port]

    def _give(self, circle: frozenset[int], given: dict[int, Bag], anew: bool) -> None:
        """Tell those outside of a circle what changed in it."""
        totals = self._given[circle]
        for place in circle:
            change = given.get(place, {})
            if anew:
                change = difference(change, totals.get(place, {}))
            if not change:
                continue
            readers = [(r, p) for r, p in self.circuit.readers[place] if r not in circle]
            if readers:
                add(totals.setdefault(place, {}), change)
            for reader, port in readers:
                pending = self._pending[reader]
                if not pending:
                    heappush(self._waiting, reader)
                add(pending.setdefault(port, {}), change)


class Endless(Exception):
    """A circle within a round adds rows without end.

    Attributes:
        sizes: Rows of each binding.
    """

    def __init__(self, sizes: Mapping[str, int]) -> None:
        """Take the sizes."""
        super().__init__(str(sizes))
        self.sizes = sizes


def _total(stored: Sequence[Stored]) -> int:
    return sum(op.size for op in stored)


class _Repeats:
    """Finds out that all delays hold the rows that they held before: the loop has no end.

    A hash of the rows is compared each round. Where it is one from before, the rows are kept, and
    compared themselves one period later.
    """

    def __init__(self, delays: Sequence[Delayed]) -> None:
        self.delays = delays
        self.hash = 0
        self.rounds: dict[int, int] = {0: 0}
        self.round = 0
        self.kept: tuple[int, int, list[Bag]] | None = None

    def seen(self, moved: Mapping[int, Bag]) -> int:
        """The period, if the rows came back; else 0.

        Args:
            moved: What changed, by the delay's place.
        """
        self.round += 1
        for place, change in moved.items():
            for row, times in change.items():
                self.hash += times * hash((place, row, "a round"))
        before = self.rounds.get(self.hash)
        if self.kept is not None:
            since, period, rows = self.kept
            if self.round < since + period:
                return 0
            if all(kept == op.rows for kept, op in zip(rows, self.delays, strict=True)):
                return period
            self.kept = None
        elif before is not None:
            period = self.round - before
            self.kept = (self.round, period, [dict(op.rows) for op in self.delays])
        self.rounds[self.hash] = self.round
        return 0
