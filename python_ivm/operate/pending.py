"""What happened to a source since a model's last refresh, as its history tells it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone

from python_ivm.refresh.metadata.versions import with_schemas
from python_ivm.refresh.metadata.warehouse import Warehouse
from python_ivm.sources.history import (
    Change,
    Commit,
    SourceVersion,
    classify,
    is_commit_of,
    known_sum,
)

_MOST = 1_000
"""Of more commits only their number is told: to read them takes longer than a look may."""


@dataclass(frozen=True)
class Pending:
    """What happened to a source since a model's last refresh.

    Attributes:
        source: The source's name.
        bookmark: Its version at the last refresh; None if it was not read then.
        version: Its newest version; None if it is no Delta table.
        change: What its commits did together: ``unchanged``, ``columns only``, ``inserts only``,
            ``general``, ``replaced``, or ``unknown``.
        commits: How many of them changed rows; None if that is not known.
        inserted: Rows that they inserted; None where a commit does not tell.
        updated: Rows that they updated; None likewise.
        deleted: Rows that they deleted; None likewise.
        bytes: The size of the files that they wrote; None likewise.
        since: The time of the first of them, as ISO 8601 in UTC; None if there is none.
        by: The model that would make the last of them in the same run; empty if none would.
        rewritten: Whether one of them is a refresh that wrote all rows of a state.
    """

    source: str
    bookmark: int | None
    version: int | None
    change: str = "unknown"
    commits: int | None = None
    inserted: int | None = None
    updated: int | None = None
    deleted: int | None = None
    bytes: int | None = None
    since: str | None = None
    by: str = ""
    rewritten: bool = False

    @property
    def is_changed(self) -> bool:
        """Whether rows changed, as far as it is known."""
        return self.change not in (Change.NONE.value, Change.COLUMNS.value)


def pending(
    warehouse: Warehouse, parts: tuple[str, ...], bookmark: SourceVersion | None, by: str = ""
) -> Pending:
    """What happened to a source since a bookmark.

    Args:
        warehouse: Is asked for the source's history.
        parts: The source's name.
        bookmark: Its version at the last refresh, if it was read then.
        by: The model that would change it in the same run.
    """
    name = ".".join(parts)
    newest = next(iter(warehouse.history(parts, 1) or ()), None)
    if newest is None:
        return Pending(name, bookmark.version if bookmark else None, None, by=by)
    if bookmark is None:
        return Pending(name, None, newest.version, by=by)
    behind = newest.version - bookmark.version
    if not 0 <= behind < _MOST:
        return Pending(name, bookmark.version, newest.version, by=by)
    found = warehouse.history(parts, behind + 1) or ()
    commits = [c for c in found if c.version <= newest.version]
    commits = list(with_schemas(warehouse, parts, commits))
    own = next((c for c in commits if c.version == bookmark.version), None)
    if own is None or not is_commit_of(own, bookmark):
        return Pending(name, bookmark.version, newest.version, by=by)
    return _summed(
        name, bookmark.version, newest, [c for c in commits if c.version > bookmark.version], by
    )


def _summed(name: str, version: int, newest: Commit, commits: Sequence[Commit], by: str) -> Pending:
    changed = [c for c in commits if c.change not in (Change.NONE, Change.COLUMNS)]
    counted = [commit.counts for commit in changed]
    inserted, updated, deleted = (
        known_sum([None if counts is None else counts[place] for counts in counted])
        for place in range(3)
    )
    return Pending(
        name,
        version,
        newest.version,
        classify(commits).value,
        len(changed),
        inserted,
        updated,
        deleted,
        known_sum([commit.bytes_written for commit in changed]),
        iso(changed[-1].timestamp) if changed else None,
        by,
        any(commit.rewrites for commit in changed),
    )


def iso(milliseconds: str) -> str | None:
    """A commit's time as ISO 8601 in UTC; None if it is told otherwise."""
    if not milliseconds.isdigit():
        return None
    time = datetime.fromtimestamp(int(milliseconds) / 1000, timezone.utc)
    return time.isoformat(sep=" ", timespec="seconds").removesuffix("+00:00") + "Z"
