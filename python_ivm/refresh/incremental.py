"""The statement that brings a state up to date after a change."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial

from python_ivm.algebra.linear_recursion import reads_set
from python_ivm.algebra.nodes import Node
from python_ivm.algebra.term import Changes
from python_ivm.algebra.walks import size
from python_ivm.optimize import COST_BASED, compiled, rewritten
from python_ivm.optimize.context import Context
from python_ivm.optimize.cost import Cost
from python_ivm.qualify.schema import kind_of
from python_ivm.refresh import statement_builders
from python_ivm.refresh.changed_keys import ChangedKeys
from python_ivm.refresh.maintainability import Maintained
from python_ivm.refresh.model import Model
from python_ivm.refresh.reason import LOOP_RUN_ANEW, Reason
from python_ivm.refresh.rounds_in_memory import InMemory
from python_ivm.refresh.statement import Statement
from python_ivm.sources.clock import CLOCK, Clock
from python_ivm.sources.history import Change, SourceChange
from python_ivm.state.merge import Merge
from python_ivm.state.recompute import recompute

_MOST_OPERATORS = 5000
"""How large a refresh Spark gets to plan: some 25 operators a second."""


@dataclass(frozen=True)
class Followed:
    """How a change is followed.

    Attributes:
        merge: The statement, without bookmark and fence; None if the query sees nothing of it.
        read: The changes that the query sees.
        plan: What the statement computes.
        rounds: What is run before the statement.
        recomputes: Whether the statement recomputes the query, as that is cheaper.
    """

    merge: Statement | None
    read: Mapping[str, SourceChange]
    plan: Node
    rounds: tuple[Statement, ...] = ()
    recomputes: bool = False


class TooLarge(Exception):
    """A plan has more operators than Spark gets to plan."""


@dataclass(frozen=True)
class Following:
    """Finds the statement that brings a state up to date.

    Attributes:
        model: The model.
        how: How it is maintained.
        changes: What happened to each of its sources.
        clock: The clock if the query asks it.
        clock_moved: Whether it moved so that rows come and go.
    """

    model: Model
    how: Maintained
    changes: Mapping[str, SourceChange]
    clock: Clock | None
    clock_moved: bool

    def follow(self, read: Mapping[str, SourceChange]) -> Followed | Reason:
        """The statement; or why the changes are not to be followed.

        Args:
            read: The changes of those sources that changed, and that the query reads.
        """
        model, layout = self.model, self.how.layout
        cost = Cost(
            model.statistics, {source: change.rows for source, change in self.changes.items()}
        )
        answers = ChangedKeys(model, self.changes, cost, self.clock, layout.input, set(read))
        context = Context(
            partial(kind_of, model.schemas()),
            cost,
            answers,
            follow=lambda unseen: self._merge(read, unseen, context),
            recompute=recompute(layout) if self.how.comparable else None,
            net=self.how.net | {source for source in read if read[source].rewritten},
            without=model.request.without_passes,
        )
        try:
            merge = self._merge(read, (), context)
        except TooLarge as error:
            return Reason("PLAN_TOO_LARGE", str(error), details="split the model")
        if merge.changes is None:
            seen = read.keys() - answers.known_unseen
            return Followed(
                self._statement(merge, cost), _only(read, seen), merge.rows, recomputes=True
            )
        if not merge.follows:
            return Followed(None, {}, merge.rows)
        found = InMemory(model, layout, self.changes, self.clock, cost)
        rows, rounds = found.taken_out(merge.rows)
        if reads_set(rows):
            return LOOP_RUN_ANEW  # Spark has no rule for its rounds
        statement = self._statement(replace(merge, rows=rows), cost)
        before = tuple(
            replace(
                statement_builders.run_loop(r), execution=cost.execution(*r.plans, merges=False)
            )
            for r in rounds
        )
        return Followed(statement, _only(read, merge.follows), merge.rows, before)

    def _merge(
        self, read: Mapping[str, SourceChange], unseen: Collection[str], context: Context
    ) -> Merge:
        """The optimized MERGE that follows all changes but those of which the query sees nothing.

        Raises:
            TooLarge: If its plan is.
        """
        inserts = {
            key: change.change is Change.INSERTS
            for key, change in read.items()
            if key not in unseen
        }
        changes = Changes(inserts | ({CLOCK: False} if self.clock_moved else {}))
        merge = compiled(self.how.layout, changes, context)
        operators = size(merge.rows)
        if operators > _MOST_OPERATORS:
            raise TooLarge(f"finding what changed takes {operators:,} operators")
        return rewritten(merge, context, COST_BASED)

    def _statement(self, merge: Merge, cost: Cost) -> Statement:
        model = self.model
        statement = statement_builders.merge_statement(
            model.request, merge, self.changes, self.clock, model.found.version
        )
        return replace(statement, execution=cost.execution(merge.rows))


def recomputing(
    model: Model, merge: Merge, sources: Mapping[str, SourceChange], clock: Clock | None
) -> Statement:
    """The statement that recomputes the query, and writes the rows that differ."""
    version = model.found.version
    statement = statement_builders.merge_statement(model.request, merge, sources, clock, version)
    return replace(statement, execution=Cost(model.statistics, {}).execution(merge.rows))


def _only(changes: Mapping[str, SourceChange], sources: Collection[str]) -> dict[str, SourceChange]:
    return {source: change for source, change in changes.items() if source in sources}
