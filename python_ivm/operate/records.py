"""What a state's commits tell of the refreshes that made them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from python_ivm.operate.pending import iso
from python_ivm.refresh.plan import Counts
from python_ivm.sources.history import Commit
from python_ivm.state.bookmark import Bookmark, taken
from python_ivm.state.timings import FASTER

_LAST = 5
"""How many of the last refreshes of a kind are read to guess how long the next one takes."""


@dataclass(frozen=True)
class Record:
    """A refresh, as the commit of the state tells of it.

    Attributes:
        refresh: Its number.
        version: The version of the state that it made.
        at: When it was committed, as ISO 8601 in UTC; None if that is not told.
        strategy: noop, incremental, recompute or full; empty if it was written by a version of
            this package that did not tell.
        reason: The code of why; empty likewise.
        sentence: The same in words, where dbt's log has them.
        fallback: Whether all rows were read where one would expect to follow what changed; None if
            that was not told.
        seconds: From when it was asked for to the commit; None if that is not known.
        inserted: Rows of the state that came; None if Delta does not tell, as where all rows of a
            state that stood were written.
        updated: Rows that changed.
        deleted: Rows that went.
        sources: The versions of the sources that the state then showed, by name.
        milliseconds: When it was committed, since 1970; None if that is not told.
        written: Rows that it wrote where these are all of the state's; None if they are not.
    """

    refresh: int
    version: int
    at: str | None
    strategy: str
    reason: str
    sentence: str
    fallback: bool | None
    seconds: float | None
    inserted: int | None
    updated: int | None
    deleted: int | None
    sources: Mapping[str, int]
    milliseconds: int | None = None
    written: int | None = None

    @property
    def affected(self) -> int | None:
        """The rows that came, changed and went, or all that it wrote; None if it is not told."""
        if self.inserted is None or self.updated is None or self.deleted is None:
            return self.written
        return Counts(self.inserted, self.updated, self.deleted).total


def records(commits: Sequence[Commit]) -> list[Record]:
    """The refreshes among a state's commits, in their order."""
    found = ((commit, Bookmark.of(commit.user_metadata)) for commit in commits)
    return [_record(commit, bookmark) for commit, bookmark in found if bookmark is not None]


def _record(commit: Commit, bookmark: Bookmark) -> Record:
    told = bookmark.told
    took = taken(told, commit) if told is not None and commit.operation != "CLONE" else None
    counts = _counts(commit, told is not None and told.is_bag)
    return Record(
        bookmark.refresh,
        commit.version,
        iso(commit.timestamp),
        told.strategy if told is not None else "",
        told.reason if told is not None else "",
        told.sentence if told is not None else "",
        told.fallback if told is not None else None,
        None if took is None else took / 1000,
        *counts,
        {name: version.version for name, version in bookmark.sources.items()},
        int(commit.timestamp) if commit.timestamp.isdigit() else None,
        commit.metric("numOutputRows") if commit.operation != "MERGE" else None,
    )


def _counts(commit: Commit, is_bag: bool) -> tuple[int | None, int | None, int | None]:
    if commit.rewrites:
        return None, None, None
    if commit.operation != "MERGE":
        rows = commit.metric("numOutputRows")
        return rows, None if rows is None else 0, None if rows is None else 0
    inserted, updated, deleted = (
        commit.metric(f"numTargetRows{what}") for what in ("Inserted", "Updated", "Deleted")
    )
    if inserted is None or updated is None or deleted is None:
        return None, None, None
    counts = Counts(inserted, updated, deleted)
    counts = counts.paired() if is_bag else counts
    return counts.inserted, counts.updated, counts.deleted


def usual_seconds(found: Sequence[Record], strategy: str, reason: str) -> float | None:
    """The median of the last refreshes of a kind; None if none of them is known.

    Args:
        found: A state's refreshes, newest first.
        strategy: The strategy.
        reason: Its reason: to write all rows takes another time than to merge those that differ.
    """

    def alike(record: Record) -> bool:
        return record.strategy == strategy and (record.reason == FASTER) == (reason == FASTER)

    known = [r.seconds for r in found if alike(r) and r.seconds is not None]
    return median(known[:_LAST]) if known else None
