"""A planned refresh: how, why and by which statements, and what to say about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from textwrap import shorten

from python_ivm.refresh.statement import Statement, StatementKind

_LONGEST = 100
"""Characters of the sentence in a log line; all of it is in the explanation."""
_MOST_RANGES = 3
"""How many sources a log line names; the response names all of them."""


@dataclass(frozen=True)
class SourceRead:
    """A source of a refresh.

    Attributes:
        source: Its name, with its schema.
        before: Its version at the last refresh; None if all of its rows were read.
        version: The version that was read.
        rows: How many of its rows changed in between, as its history tells; None if it does not.
    """

    source: str
    before: int | None
    version: int
    rows: int | None = None


class Strategy(Enum):
    """How a model is refreshed."""

    NOOP = "noop"
    """Nothing to do."""
    INCREMENTAL = "incremental"
    """The rows that follow from what changed in the sources are merged into the state."""
    RECOMPUTE = "recompute"
    """The query is computed from all rows, and those that differ are merged, or all are written."""
    FULL = "full"
    """The state is replaced."""

    @property
    def merges(self) -> bool:
        """Whether the state stays, and rows of it are written: models above can follow these."""
        return self in (Strategy.INCREMENTAL, Strategy.RECOMPUTE)


@dataclass(frozen=True)
class Counts:
    """How many rows of the state were written.

    Attributes:
        inserted: Rows that are new.
        updated: Rows that changed.
        deleted: Rows that went.
    """

    inserted: int = 0
    updated: int = 0
    deleted: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.inserted + self.updated + self.deleted

    def __add__(self, other: Counts) -> Counts:
        """What two commits wrote together, one after the other."""
        return Counts(
            self.inserted + other.inserted,
            self.updated + other.updated,
            self.deleted + other.deleted,
        )

    def paired(self) -> Counts:
        """A row that went and one that came as one that changed."""
        pairs = min(self.inserted, self.deleted)
        return Counts(self.inserted - pairs, self.updated + pairs, self.deleted - pairs)


@dataclass(frozen=True)
class Refresh:
    """A planned refresh.

    Attributes:
        strategy: How.
        reason: A stable code for why, such as ``QUERY_CHANGED``.
        explanation: The reason in words.
        statements: What to run, in order; for a noop nothing that changes a row.
        ranges: The read versions of each source, such as ``orders@5→6``.
        reads: The same of the sources that are tables, for programs.
        warning: What to warn of, if anything.
        sentence: What the log line says of the reason beside its code, if anything.
        again: Whether the refresh is to be planned again after the statements, for what is left.
        is_bag: Whether the state's rows have no keys, so that Delta deletes and inserts where a
            row of the view changes.
        fallback: Whether all rows are read where one would expect to follow what changed.
    """

    strategy: Strategy
    reason: str
    explanation: str
    statements: tuple[Statement, ...] = ()
    ranges: tuple[str, ...] = ()
    warning: str | None = None
    sentence: str = ""
    is_bag: bool = False
    fallback: bool = False
    again: bool = False
    reads: tuple[SourceRead, ...] = ()

    @property
    def writes_all(self) -> bool:
        """Whether all rows of the view are written, so that nobody counts which of them differ."""
        rewrites = any(statement.kind is StatementKind.REWRITE for statement in self.statements)
        return rewrites or self.strategy is Strategy.FULL

    def noted(self, note: str, code: str) -> Refresh:
        """The same refresh with something more to say.

        Args:
            note: What else there is to know.
            code: Its reason code, which a noop takes.
        """
        told = replace(self, explanation=f"{self.explanation}; {note}")
        if self.strategy is Strategy.NOOP:
            return replace(told, reason=code)
        return replace(told, sentence=f"{self.sentence}; {note}" if self.sentence else note)

    def counts(self, written: Counts) -> Counts:
        """The rows that came, changed and went, of what Delta counted (docs/log.md)."""
        return written.paired() if self.is_bag else written

    def summary(self, written: Counts | None = None) -> str:
        """The log line: strategy, reason, rows of the state, sources, and at most a sentence.

        Args:
            written: What Delta counted; None if it is not known.
        """
        sentence = shorten(self.sentence, _LONGEST, placeholder=" …")
        if self.strategy is Strategy.NOOP:
            return f"noop: {sentence or self.explanation}"
        told = self.strategy.value + (
            "" if self.strategy is Strategy.INCREMENTAL else f" ({self.reason})"
        )
        read = f"from {_listed(self.ranges)}" if self.ranges else ""
        done = " ".join(part for part in (self._rows(written), read) if part)
        said = "; ".join(part for part in (done, sentence) if part)
        return f"{told}: {said}" if said else told

    def _rows(self, written: Counts | None) -> str:
        if written is None:
            return ""
        if self.writes_all:
            return f"{written.total:,} row{'' if written.total == 1 else 's'}"
        counts = self.counts(written)
        return f"+{counts.inserted:,} ~{counts.updated:,} -{counts.deleted:,} rows"


def combine(steps: Sequence[Refresh]) -> Refresh:
    """Several refreshes of a model, one after the other, as one.

    Args:
        steps: At least one.
    """
    wrote = [step for step in steps if step.strategy is not Strategy.NOOP] or steps[-1:]
    ends: dict[str, list[str]] = {}
    for told in (told for step in steps for told in step.ranges):
        name, _, versions = told.partition("@")
        ends.setdefault(name, []).extend(versions.split("→"))
    ranges = [f"{name}@{'→'.join(dict.fromkeys((v[0], v[-1])))}" for name, v in ends.items()]
    built = [step for step in wrote if step.strategy is Strategy.FULL]  # further steps may follow
    whole = replace(
        (built or wrote)[-1],
        statements=tuple(statement for step in steps for statement in step.statements),
        ranges=tuple(ranges),
        reads=_read_in_all(steps),
        again=False,
    )
    points = sum(1 for step in steps if step.ranges)
    if points < 2:
        return whole
    told = f"in {points:,} steps"
    sentence = f"{whole.sentence}; {told}" if whole.sentence else told
    return replace(whole, explanation=f"{whole.explanation}, {told}", sentence=sentence)


def _read_in_all(steps: Sequence[Refresh]) -> tuple[SourceRead, ...]:
    """From where the first step read a source to where the last one did."""
    found: dict[str, SourceRead] = {}
    for read in (read for step in steps for read in step.reads):
        first = found.get(read.source)
        if first is not None:
            counted = first.rows is not None and read.rows is not None
            rows = (first.rows or 0) + (read.rows or 0) if counted else None
            read = SourceRead(read.source, first.before, read.version, rows)
        found[read.source] = read
    return tuple(found.values())


def _listed(ranges: Sequence[str]) -> str:
    more = len(ranges) - _MOST_RANGES
    named = ", ".join(ranges[:_MOST_RANGES])
    return f"{named} and {more} more" if more > 0 else named
