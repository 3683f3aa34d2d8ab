"""Which recursions of a change go round in memory, and which in Spark.

Each round of a recursion is two jobs to Spark, however few its rows are. Where few rows changed,
and the tables that the step reads are small, the rounds are no statements.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property

from python_ivm.algebra.columns import beside
from python_ivm.algebra.nodes import Node, Recursion, Scan, UnionAll
from python_ivm.algebra.walks import OncePerNode, bottom_up
from python_ivm.delta.recursion import COPIES
from python_ivm.errors import NotYetImplemented
from python_ivm.loops.given import given_query
from python_ivm.loops.run import OnLimit, Rounds
from python_ivm.loops.set_rounds import SetRounds
from python_ivm.loops.set_steps import Step, steps_apart
from python_ivm.loops.signed_rounds import SignedRounds, loop_of_recursion
from python_ivm.optimize.analysis.reads import changes_in
from python_ivm.optimize.cost import SMALL_TABLE, Cost, ReadSize
from python_ivm.parse.loops import NOW
from python_ivm.refresh.model import Model
from python_ivm.render.sources import table
from python_ivm.rows.circuit import Limits
from python_ivm.rows.kinds import ValueType
from python_ivm.sources.clock import Clock
from python_ivm.sources.history import SourceChange
from python_ivm.state.layout import STATE, Layout

NAME = "rounds_in_memory"
"""What leaves it out, as the name of a pass does."""
MOST_READ = 5_000_000
"""The most rows that are fetched of a step's tables. With more, Spark runs the rounds."""
_LIMITS = Limits(rounds=10_000, rows=300_000)
"""A change that goes on for longer is not followed: the query is recomputed."""


@dataclass(frozen=True)
class InMemory:
    """Takes recursions out of a plan whose rounds are computed before.

    Attributes:
        model: The model.
        layout: What it stores.
        sources: What happened to each of its sources.
        clock: The clock if the query asks it.
        cost: What plans cost.
    """

    model: Model
    layout: Layout
    sources: Mapping[str, SourceChange]
    clock: Clock | None
    cost: Cost
    _once: OncePerNode = field(default_factory=OncePerNode)

    def taken_out(self, plan: Node) -> tuple[Node, list[Rounds]]:
        """The plan with the rows of its recursions as tables, and what computes these.

        Args:
            plan: What a MERGE merges.
        """
        found: list[Rounds] = []
        if NAME in self.model.request.without_passes:
            return plan, found

        def rule(node: Node) -> Node:
            if not isinstance(node, Recursion) or node.names[-1] != COPIES:
                return node
            run = self._rounds(node)
            if run is None:
                return node
            found.append(run)
            return Scan(f"{NOW}.{node.relation}", node.relation, node.names)

        return bottom_up(plan, rule), found

    def _rounds(self, node: Recursion) -> Rounds | None:
        """What computes a recursion's change; None if it is left to Spark."""
        if not self.cost.changed_little(node) or _reads_rounds(node):
            return None
        read = [node.step]
        if node.is_set:
            read += [self._anchor, self._stored]
        if not all(_is_little(self.cost.reading(plan)) for plan in read):
            return None
        own = self.model.request.options.limits
        limits = Limits(min(own.rounds, _LIMITS.rounds), min(own.rows, _LIMITS.rows))
        try:
            if node.is_set:
                return self._of_set(node, limits)
            return self._of_signed_rows(node, limits)
        except NotYetImplemented:
            return None

    def _of_signed_rows(self, node: Recursion, limits: Limits) -> Rounds:
        loop = loop_of_recursion(node, self._kinds, self.model.ansi)
        return SignedRounds(
            self.model.request.model,
            loop,
            self._queries(loop.givens, limits),
            tuple(map(self._kinds, loop.givens)),
            (node.relation,),
            limits,
            OnLimit.ERROR,
        )

    def _of_set(self, node: Recursion, limits: Limits) -> Rounds | None:
        assert self.model.recursive_set is not None
        kinds = self.model.recursive_set.columns.kinds
        steps = steps_apart(node, len(kinds))
        assert steps  # as they were when the set was told from other loops
        for stated in (self._anchor, self._stored):
            own = zip(self._kinds(stated)[:-1], kinds, strict=True)
            if any(one != of and not (one.is_whole and of.is_whole) for one, of in own):
                return None  # rows of other types are no proof
        seeds = bottom_up(node.anchor, lambda n: self._stored if n == self._stored else n)
        read = _beside_state(seeds)
        if read is not None:
            with suppress(NotYetImplemented):
                return self._set_rounds(node, kinds, steps, seeds, read, limits)
        # Spark joins what is large, and computes what the row engine cannot.
        return self._set_rounds(node, kinds, steps, node.anchor, [node.anchor], limits)

    def _set_rounds(
        self,
        node: Recursion,
        kinds: tuple[ValueType, ...],
        steps: Sequence[Step],
        seeds: Node,
        read: Sequence[Node],
        limits: Limits,
    ) -> SetRounds:
        """The rounds of a set's change.

        Args:
            node: The set of the changed rows.
            kinds: The types of the set's columns.
            steps: Its steps.
            seeds: The plan of the rows that the change begins with.
            read: What Spark is asked for them, few rows each.
            limits: How far the change is followed.
        """
        few = [f"{self._query(plan)}\nLIMIT {limits.rows + 1}" for plan in read]
        joined = (table for step in steps for table in step.tables)
        whole = (self._anchor, self._stored, *joined)
        rounds = SetRounds(
            self.model.request.model,
            node.relation,
            node.names[: len(kinds)],
            kinds,
            seeds,
            self._anchor,
            self._stored,
            steps,
            (*read, *whole),
            (*few, *map(self._query, whole)),
            tuple(map(self._kinds, (*read, *whole))),
            len(read),
            self.model.ansi,
            limits,
            self._most,
        )
        rounds.check()
        return rounds

    @property
    def _most(self) -> Limits:
        """What a set may have; it has rounds if it reads the round before."""
        own, loop = self.model.request.options.limits, self.model.loop
        assert loop is not None
        return own if loop.graph.delays else replace(own, rounds=sys.maxsize)

    @cached_property
    def _anchor(self) -> Node:
        """The rows that a set begins with, after the change."""
        assert isinstance(self.layout.input, Recursion)
        return self.layout.input.anchor

    @cached_property
    def _stored(self) -> Node:
        """The rows of a set before the change, with their rounds."""
        stored = self.layout.recursion
        assert stored is not None
        return Scan(
            STATE, beside(self.layout.input.schema[0].relation, "before"), (*stored.values(),)
        )

    def _queries(self, plans: Sequence[Node], limits: Limits) -> tuple[str, ...]:
        """The queries of plans, the first one of no more rows than a change may begin with."""
        first, *others = plans
        return (f"{self._query(first)}\nLIMIT {limits.rows + 1}", *map(self._query, others))

    def _query(self, given: Node) -> str:
        state = table(self.model.request.state, self.model.found.version)
        return self._once(
            "query", given, lambda: given_query(given, self.sources, self.clock, state)
        )

    def _kinds(self, given: Node) -> tuple[ValueType, ...]:
        return tuple(
            ValueType.of(kind) for _, kind in self.model.warehouse.describe(self._query(given))
        )


def _beside_state(seeds: Node) -> list[Node] | None:
    """What the rows that a change begins with read beside the state; None if it may be much.

    It is few rows if each join with the state is one of changed rows.
    """
    found: list[Node] = []

    def visit(node: Node) -> bool:
        if not _reads(node, STATE):
            found.append(node)
            return True
        if isinstance(node, Scan):
            return True
        joined = [child for child in node.inputs if not _reads(child, STATE)]
        few = isinstance(node, UnionAll) or all(map(changes_in, joined))
        return few and all([visit(child) for child in node.inputs])

    return found if visit(seeds) else None


def _reads(plan: Node, source: str) -> bool:
    return any(isinstance(node, Scan) and node.source == source for node in plan.walk())


def _is_little(reading: ReadSize) -> bool:
    """Whether tables are small enough to be fetched; their bytes tell where their rows are not."""
    if reading.rows is not None:
        return reading.rows <= MOST_READ
    return reading.bytes is not None and reading.bytes <= SMALL_TABLE


def _reads_rounds(node: Recursion) -> bool:
    """Whether a recursion reads the rows of another one, whose types Spark does not know yet."""
    return any(isinstance(n, Scan) and n.source.startswith(f"{NOW}.") for n in node.walk())
