"""The statement that brings a state up to date after a change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from python_ivm.algebra.nodes import Node
from python_ivm.algebra.plans import size
from python_ivm.algebra.term import Changes, Term
from python_ivm.delta.compile import delta
from python_ivm.refresh import statements as emit
from python_ivm.refresh.bounding import Bounding
from python_ivm.refresh.maintained import Maintained
from python_ivm.refresh.model import Model
from python_ivm.refresh.reading import ReadVolume
from python_ivm.refresh.reason import Reason
from python_ivm.refresh.statement import Statement
from python_ivm.sources.clock import CLOCK, Clock
from python_ivm.sources.history import Change, SourceChange
from python_ivm.state.layout import Layout
from python_ivm.state.recompute import difference

_MOST_OPERATORS = 5000
"""How large a refresh Spark gets to plan: some 25 operators a second."""


@dataclass(frozen=True)
class Followed:
    """How a change is followed.

    Attributes:
        merge: The statement, without bookmark and fence; None if the query sees nothing of it.
        read: The changes that the query sees.
        anew: Whether the statement computes the query anew, as that is cheaper.
    """

    merge: Statement | None
    read: Mapping[str, SourceChange]
    anew: bool = False


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
        bounding = Bounding(self.model, self.changes, self.clock, self.how.layout.input, set(read))
        found = self._followed(read, bounding)
        if not bounding.unseen:
            return found
        seen = {source: change for source, change in read.items() if source not in bounding.unseen}
        if not seen and not self.clock_moved:
            return Followed(None, seen)
        return self._followed(seen, bounding)

    def _followed(self, read: Mapping[str, SourceChange], bounding: Bounding) -> Followed | Reason:
        model, layout = self.model, self.how.layout
        inserts = {key: change.change is Change.INSERTS for key, change in read.items()}
        moved = Changes(inserts | ({CLOCK: False} if self.clock_moved else {}))
        terms = delta(layout.input, moved)
        too_large = _too_large(terms)
        if too_large is not None:
            return too_large
        merge, source = emit.merge_statement(
            model.request, layout, terms, moved, self.changes, self.clock, bounding,
            model.found.version,
        )  # fmt: skip
        volume = ReadVolume(model, read)
        differing = difference(layout)
        if self.how.comparable and volume.is_dearer(source, differing):
            anew = statement_anew(model, layout, differing, self.changes, self.clock)
            return Followed(anew, read, anew=True)
        return Followed(replace(merge, execution=volume.execution(source)), read)


def statement_anew(
    model: Model,
    layout: Layout,
    differing: Node,
    sources: Mapping[str, SourceChange],
    clock: Clock | None,
) -> Statement:
    """The statement that computes the query anew, and writes the rows that differ."""
    version = model.found.version
    anew = emit.anew_statement(model.request, layout, differing, sources, clock, version)
    return replace(anew, execution=ReadVolume(model, {}).execution(differing))


def _too_large(terms: list[Term]) -> Reason | None:
    operators = size(*(term.plan for term in terms))
    if operators <= _MOST_OPERATORS:
        return None
    told = f"finding what changed takes {operators:,} operators; split the model"
    return Reason("PLAN_TOO_LARGE", told)
