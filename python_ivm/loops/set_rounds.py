"""The rounds of a recursive set: of all of its rows, and of a change.

All rows come by semi-naive evaluation: each round has the rows that follow from those of the round
before and were not there (Bancilhon and Ramakrishnan, SIGMOD 1986). A change is followed by delete
and rederive (Gupta, Mumick and Subrahmanian, "Maintaining Views Incrementally", SIGMOD 1993). Its
first half deletes too much where rows follow from each other in circles. The rounds prevent that:
a row stays if the anchor or a row of an earlier round still gives it, so that only rows go that
have lost all of these (as in Motik, Nenov, Piro and Horrocks, "Incremental Update of Datalog
Materialisation: the Backward/Forward Algorithm", AAAI 2015, who look for such proofs, too).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from python_ivm.algebra.nodes import Node, WorkingTable
from python_ivm.delta.recursion import COPIES
from python_ivm.loops.recursive_sets import ROUND, RecursiveSet, SetColumns
from python_ivm.loops.run import Ask, LoopRun, Relation, bag_of, rows_of
from python_ivm.loops.set_steps import Step
from python_ivm.loops.signed_rounds import NotFollowed, changed_rows, numbers_that_fit
from python_ivm.parse.loops import LOOP_VIEW
from python_ivm.rows.circuit import Endless, Limits, Result
from python_ivm.rows.kinds import ValueType
from python_ivm.rows.lookups import Lookup
from python_ivm.rows.operators import Bag, Row
from python_ivm.rows.pipeline import Pipeline, Tables

_INT, _BIGINT = ValueType("int"), ValueType("bigint")
_LOOKUPS = 20
"""How often a table is asked for some of its rows before all of them are kept."""
_MOST_GROWTH = 4
"""How many of the last rounds a message shows, to tell how a set grows."""


# -- all rows --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SetBuild(LoopRun):
    """All rounds of a loop that is a recursive set.

    Attributes:
        recursive_set: The set.
        in_place: Whether what stands behind the loop reads the set itself, with the rounds of its
            rows; else it reads the bindings.
    """

    recursive_set: RecursiveSet
    in_place: bool

    def rounds(self, ask: Ask) -> Result:
        """The rounds alone: semi-naive evaluation.

        Returns:
            The set's rows with their rounds, by the set's name.

        Raises:
            Endless: If rows are added without end.
            Overflow: If a number does not fit its column.
        """
        tables: Tables = {
            id(node): (self.given(place, ask(self.queries[place]), types), types)
            for place, (node, types) in enumerate(zip(self.loop.givens, self.kinds, strict=True))
        }
        forward = [
            _forward(step, self._columns.kinds, tables, self.loop.ansi)
            for step in self.recursive_set.steps
        ]
        new: set[Row] = set()
        for binding, anchor in self.recursive_set.anchors:
            new.update(self._begun(binding, anchor, tables))
        delayed = bool(self.loop.graph.delays)  # else all of it is one round
        result = Result()
        found: dict[Row, int] = {}
        sizes = dict.fromkeys(self._columns.places, 0)
        rounds = 0
        while new:
            found.update(dict.fromkeys(new, rounds))
            sizes = self._grown(sizes, new)
            result.growth = [*result.growth[1 - _MOST_GROWTH :], sizes]
            if len(found) > self.limits.rows and not delayed:
                raise Endless(sizes)
            if delayed and (rounds >= self.limits.rounds or len(found) > self.limits.rows):
                result.ended = False
                break
            rounds += 1
            sent = dict.fromkeys(new, 1)
            new = {row for step in forward for row in step.send(sent) if row not in found}
        result.rounds = rounds if delayed else 0
        rows = {(*row, number): 1 for row, number in found.items()}
        result.rows = {self.recursive_set.recursion.loop: rows}
        return result

    def relations(self, result: Result) -> list[Relation]:
        """The set, or the rows of the bindings that are read behind the loop."""
        ((name, rows),) = result.rows.items()
        if self.in_place or not self._columns.are_shared:
            columns = zip(self._columns.names, self._columns.kinds, strict=True)
            return [Relation(LOOP_VIEW.format(name), (*columns, (ROUND, _INT)), rows)]
        return [self._relation(binding, self._own(binding, rows)) for binding in self.shown]

    @property
    def _columns(self) -> SetColumns:
        return self.recursive_set.columns

    def _begun(self, binding: str, anchor: Node, tables: Tables) -> Iterator[Row]:
        """The rows of an anchor that Spark computed, as those of the set."""
        rows, types = tables[id(anchor)]
        shown = list(zip(anchor.schema, self.loop.kinds[binding], strict=True))
        given = rows if isinstance(rows, dict) else bag_of(rows, types)
        for row in Pipeline(anchor, anchor, types, {}, shown, self.loop.ansi).send(given):
            yield tuple(self._columns.laid_out(binding, row, lambda kind: None, str))

    def _own(self, binding: str, rows: Bag) -> Bag:
        """The rows of one of several bindings, with its own columns."""
        places = self._columns.places[binding]
        return {tuple([row[p] for p in places]): 1 for row in rows if row[-2] == binding}

    def _grown(self, sizes: Mapping[str, int], new: Collection[Row]) -> dict[str, int]:
        """How many rows each binding has with new ones."""
        if not self._columns.are_shared:
            return {name: size + len(new) for name, size in sizes.items()}
        more = Counter(row[-1] for row in new)
        return {name: size + more[name] for name, size in sizes.items()}


def _forward(step: Step, kinds: Sequence[ValueType], tables: Tables, ansi: bool) -> Pipeline:
    """From rows of the set to those that follow from them by a step."""
    working = step.working(len(kinds))
    plan = step.forward(working)
    shown = list(zip(plan.schema, kinds, strict=True))
    return Pipeline(plan, working, kinds, tables, shown, ansi)


def _backward(
    step: Step,
    forward: Pipeline,
    kinds: Sequence[ValueType],
    tables: Tables,
    stored: Bag | Lookup,
    ansi: bool,
) -> Pipeline:
    """From rows to the rows of the set that give them: those, these, and the round of these."""
    names = tuple(item.name for item in step.items)
    asked = WorkingTable("__ivm_asked__", "__ivm_asked__", names)
    working = step.working(len(kinds) + 1)
    values = [
        item.expression if own == kind else exp.cast(item.expression.copy(), str(kind))
        for item, own, kind in zip(step.items, forward.kinds, kinds, strict=True)
    ]
    plan = step.backward(asked, working, values)
    of_set = [*kinds, _INT]
    shown = [*zip(asked.schema, kinds, strict=True), *zip(working.schema, of_set, strict=True)]
    given = {**tables, id(working): (stored, of_set)}
    return Pipeline(plan, asked, kinds, given, shown, ansi)


# -- a change --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SetRounds:
    """The rounds of a change of a recursive set.

    Attributes:
        model: The model's name.
        relation: The name of the table that the changed rows are shown as.
        names: The columns of the set.
        kinds: Their types.
        seeds: The plan of the rows that lose or get something that they follow from.
        anchor: The plan of the anchor, after the change.
        stored: The plan of the set as it was.
        steps: The steps, after the change.
        plans: What Spark is asked for: what seeds, anchor and steps read, and the set.
        queries: The same as queries.
        types: The types of their columns.
        few: How many of them, the first ones, are of changed rows.
        ansi: Whether ANSI mode is on.
        limits: How far a change is followed.
        most: How many rows and rounds the set may have after it.
    """

    model: str
    relation: str
    names: tuple[str, ...]
    kinds: tuple[ValueType, ...]
    seeds: Node
    anchor: Node
    stored: Node
    steps: Sequence[Step]
    plans: tuple[Node, ...]
    queries: tuple[str, ...]
    types: tuple[tuple[ValueType, ...], ...]
    few: int
    ansi: bool
    limits: Limits
    most: Limits

    def run(self, ask: Ask) -> tuple[list[Relation], Result]:
        """Run the rounds.

        Args:
            ask: Runs a query in Spark.

        Returns:
            The signed rows, and how the rounds ended.

        Raises:
            NotFollowed: If they reach a limit, or a number that does not fit its column; if the set
                reaches one of its own, as the loop then ends otherwise.
        """
        with numbers_that_fit():
            found, result = self._followed(ask)
        columns = (*zip(self.names, self.kinds, strict=True), (ROUND, _INT), (COPIES, _BIGINT))
        return [Relation(LOOP_VIEW.format(self.relation), columns, found)], result

    def check(self) -> None:
        """See that the row engine can compute the steps, there and back.

        Raises:
            NotYetImplemented: If it cannot.
        """
        none: Bag = {}
        known = zip(self.plans, self.types, strict=True)
        tables: Tables = {id(plan): (none, types) for plan, types in known}
        self._begun(tables)
        _Change(self, tables)

    def told(self, result: Result) -> str:
        """How the rounds ended, in the log's words."""
        rounds = result.rounds
        return f"a recursive set's change in {rounds:,} round{'s' if rounds != 1 else ''}"

    def _followed(self, ask: Ask) -> tuple[Bag, Result]:
        tables: dict[int, tuple[Bag | Lookup, Sequence[ValueType]]] = {}
        for place, (plan, types) in enumerate(zip(self.plans, self.types, strict=True)):
            rows = ask(self.queries[place])
            few = place < self.few
            known = changed_rows(rows, types, self.limits) if few else rows_of(rows, types)
            tables[id(plan)] = known, types
        change = _Change(self, tables)
        lost, got = self._begun(tables)
        change.delete(lost)
        change.insert(got)
        signed = change.signed()
        stored, _ = tables[id(self.stored)]
        self._refuse_too_many(len(stored), signed)
        return signed, Result(rounds=change.rounds, changes=len(change.now))

    def _refuse_too_many(self, stored: int, signed: Bag) -> None:
        size = stored + sum(row[-1] for row in signed)
        rounds = 1 + max((row[-2] for row in signed if row[-1] > 0), default=-1)
        if size > self.most.rows or rounds > self.most.rounds:
            told = f"{size:,} rows and {rounds:,} rounds"
            raise NotFollowed(f"the set would pass ivm_max_rows or ivm_max_rounds, with {told}")

    def _begun(self, tables: Tables) -> tuple[set[Row], set[Row]]:
        """The rows that lose something they follow from, and those that get something."""
        width = len(self.kinds)
        shown = list(zip(self.seeds.schema, (*self.kinds, _INT, _BIGINT), strict=True))
        rows = Pipeline(self.seeds, None, (), tables, shown, self.ansi).first
        sums: dict[Row, int] = {}
        lost: set[Row] = set()
        for row, times in rows.items():
            key, copies = row[:width], row[-1] * times
            sums[key] = sums.get(key, 0) + copies
            if copies < 0:
                lost.add(key)
        return lost, {row for row, copies in sums.items() if copies > 0}


class _Change:
    """What becomes of a set by a change of what it follows from.

    Attributes:
        now: The rows of the set that are looked at: the round that each is of now, None if none.
        rounds: How many times rows followed from rows.
    """

    def __init__(self, of: SetRounds, tables: Tables) -> None:
        """Take the set as it was, and what it follows from after the change."""
        stored, _ = tables[id(of.stored)]
        anchor, _ = tables[id(of.anchor)]
        self.limits = of.limits
        self.anchor = _Rounds(anchor, of.kinds)
        self.stored = _Rounds(stored, of.kinds)
        self.width = len(of.kinds)
        self.forward = [_forward(step, of.kinds, tables, of.ansi) for step in of.steps]
        self.backward = [
            _backward(step, forward, of.kinds, tables, stored, of.ansi)
            for step, forward in zip(of.steps, self.forward, strict=True)
        ]
        self.now: dict[Row, int | None] = {}
        self.rounds = 0

    def delete(self, suspects: Collection[Row]) -> None:
        """Take rows away that no longer follow from the anchor, or from rows of earlier rounds.

        Args:
            suspects: The rows of which something is gone that they followed from.
        """
        earliest = -1
        while suspects:
            found = self._rounds_of(suspects)
            known = {row: number for row, number in found.items() if number > earliest}
            least = self._least_rounds(known)
            gone = [row for row, number in known.items() if least.get(row, number) >= number]
            self.now.update(dict.fromkeys(gone))
            suspects = self._following(gone)
            earliest = min((known[row] for row in gone), default=-1)

    def insert(self, candidates: Collection[Row]) -> None:
        """Bring the rows that follow from what there is: those that came, or went wrongly.

        Args:
            candidates: The rows that have got something that they follow from.
        """
        gone = [row for row, number in self.now.items() if number is None]
        absent = candidates - self._rounds_of(candidates).keys()
        waiting: dict[int, set[Row]] = {}
        for row, number in self._least_rounds({*absent, *gone}).items():
            waiting.setdefault(number + 1, set()).add(row)
        while waiting:
            number = min(waiting)
            asked = waiting.pop(number)
            new = asked - self._rounds_of(asked).keys()
            self.now.update(dict.fromkeys(new, number))
            following = self._following(new)
            if following:
                waiting.setdefault(number + 1, set()).update(following)

    def signed(self) -> Bag:
        """The rows that come and go, with their rounds."""
        signed: Bag = {}
        before = self.stored.of(self.now)
        for row, now in self.now.items():
            old = before.get(row)
            if old == now:
                continue
            if old is not None:
                signed[(*row, old, -1)] = 1
            if now is not None:
                signed[(*row, now, 1)] = 1
        return signed

    def _rounds_of(self, rows: Collection[Row]) -> dict[Row, int]:
        """The rounds of those rows that are there now."""
        found = self.stored.of([row for row in rows if row not in self.now])
        for row in rows:
            number = self.now.get(row)
            if number is not None:
                found[row] = number
        return found

    def _least_rounds(self, rows: Collection[Row]) -> dict[Row, int]:
        """Of each row the least round that it follows from; the anchor's is -1."""
        least = dict.fromkeys(self.anchor.of(rows), -1)
        asked = dict.fromkeys([row for row in rows if row not in least], 1)
        for backward in self.backward if asked else ():
            for found in backward.send(asked):
                row, source, number = found[: self.width], found[self.width : -1], found[-1]
                number = self.now.get(source, number)
                if number is not None:
                    least[row] = min(least.get(row, number), number)
        return least

    def _following(self, rows: Collection[Row]) -> set[Row]:
        """The rows that follow from some, by one step each.

        Raises:
            NotFollowed: If there are more rounds or rows than a change is followed for.
        """
        if not rows:
            return set()
        self.rounds += 1
        if self.rounds > self.limits.rounds or len(self.now) > self.limits.rows:
            told = f"{self.rounds:,} rounds and {len(self.now):,} rows"
            raise NotFollowed(f"the change went on for {told}")
        sent = dict.fromkeys(rows, 1)
        found = {row for forward in self.forward for row in forward.send(sent)}
        if len(found) > self.limits.rows:
            raise NotFollowed(f"{len(found):,} rows follow from what changed")
        return found


class _Rounds:
    """The rows of a table, with the round that is their last column; few of them are asked for."""

    def __init__(self, rows: Bag | Lookup, kinds: Sequence[ValueType]) -> None:
        """Take the table, and the types of its other columns."""
        self.rows = rows
        self.columns = [
            place for place, kind in enumerate(kinds) if kind.is_whole or kind.name == "string"
        ]
        self._asked = 0
        self._known: Mapping[Row, int] | None = None

    def of(self, rows: Collection[Row]) -> dict[Row, int]:
        """The rounds of those rows that are in the table."""
        if not rows:
            return {}
        known = self._known if self._known is not None else self._looked_up(rows)
        return {row: known[row] for row in rows if row in known}

    def _looked_up(self, rows: Collection[Row]) -> Mapping[Row, int]:
        self._asked += 1
        if isinstance(self.rows, Lookup) and self.columns and self._asked <= _LOOKUPS:
            values = {place: {row[place] for row in rows} for place in self.columns}
            known = [place for place in self.columns if None not in values[place]]
            place = max(known, key=lambda place: len(values[place]), default=None)
            if place is not None:
                return {row[:-1]: row[-1] for row in self.rows.find(place, values[place])}
        self._known = {row[:-1]: row[-1] for row in self.rows}
        return self._known
