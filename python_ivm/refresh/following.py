"""The statement that brings a state up to date after a change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

from python_ivm.algebra.nodes import Node
from python_ivm.algebra.plans import size
from python_ivm.delta.compile import delta
from python_ivm.delta.relevant import relevant
from python_ivm.delta.term import Changes, Term
from python_ivm.refresh import emit
from python_ivm.refresh.bounding import Bounding
from python_ivm.refresh.maintained import Maintained
from python_ivm.refresh.model import Model
from python_ivm.refresh.reading import ReadVolume
from python_ivm.refresh.reason import Reason
from python_ivm.refresh.statements import Statement
from python_ivm.sources.clock import CLOCK, Clock
from python_ivm.sources.history import Change, SourceChange
from python_ivm.sql.schema import kind_of
from python_ivm.state.anew import difference
from python_ivm.state.layout import Layout

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


def follow(
    model: Model,
    how: Maintained,
    changes: Mapping[str, SourceChange],
    read: Mapping[str, SourceChange],
    moved: Clock | None,
    clock: Clock | None,
) -> Followed | Reason:
    """The statement that brings a state up to date.

    Args:
        model: The model.
        how: How it is maintained.
        changes: What happened to each of its sources.
        read: The changes of those that changed, and that the query reads.
        moved: The clock if it moved so that rows come and go.
        clock: The clock if the query asks it.

    Returns:
        The statement; or why the changes are not to be followed.
    """
    seen = relevant(how.layout.input, partial(kind_of, model.schemas()))
    bounding = Bounding(model, changes, clock, {s: seen[s] for s in read if s in seen})
    found = _followed(model, how, changes, read, moved, clock, bounding)
    if not bounding.unseen:
        return found
    read = {source: change for source, change in read.items() if source not in bounding.unseen}
    if not read and moved is None:
        return Followed(None, read)
    return _followed(model, how, changes, read, moved, clock, bounding)


def _followed(
    model: Model,
    how: Maintained,
    changes: Mapping[str, SourceChange],
    read: Mapping[str, SourceChange],
    moved: Clock | None,
    clock: Clock | None,
    bounding: Bounding,
) -> Followed | Reason:
    inserts = {key: change.change is Change.INSERTS for key, change in read.items()}
    changed = Changes(inserts | ({CLOCK: False} if moved is not None else {}))
    terms = delta(how.layout.input, changed)
    too_large = _too_large(terms)
    if too_large is not None:
        return too_large
    merge, source = emit.merge_statement(
        model.request, how.layout, terms, changed, changes, clock, bounding, model.found.version
    )
    volume = ReadVolume(model, read)
    differing = difference(how.layout)
    if how.comparable and volume.is_dearer(source, differing):
        return Followed(computed_anew(model, how.layout, differing, changes, clock), read, True)
    return Followed(replace(merge, small=volume.is_little(source)), read)


def computed_anew(
    model: Model,
    layout: Layout,
    differing: Node,
    sources: Mapping[str, SourceChange],
    clock: Clock | None,
) -> Statement:
    """The statement that computes the query anew, and writes the rows that differ."""
    version = model.found.version
    anew = emit.anew_statement(model.request, layout, differing, sources, clock, version)
    return replace(anew, small=ReadVolume(model, {}).is_little(differing))


def _too_large(terms: list[Term]) -> Reason | None:
    operators = size(*(term.plan for term in terms))
    if operators <= _MOST_OPERATORS:
        return None
    told = f"finding what changed takes {operators:,} operators; split the model"
    return Reason("PLAN_TOO_LARGE", told)
