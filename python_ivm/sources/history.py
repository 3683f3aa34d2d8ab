"""A Delta table's commits, classified: nothing changed, rows only added, anything, or replaced."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

COMMITS_WITHOUT_JOB = 32
"""How many of a table's newest commits are read from its log without a Spark job. More are read
faster by one, and what tells of a model in passing asks for no more."""

_NO_DATA = frozenset(
    {
        "OPTIMIZE", "VACUUM START", "VACUUM END", "SET TBLPROPERTIES", "UNSET TBLPROPERTIES",
        "ADD CONSTRAINT", "DROP CONSTRAINT", "UPGRADE PROTOCOL", "CLUSTER BY", "REORG",
        "COMPUTE STATS", "ADD FEATURE", "DROP FEATURE", "UPDATE COLUMN METADATA",
    }
)  # fmt: skip
"""Operations that leave every row and column as it is."""

_COLUMNS = frozenset({"ADD COLUMNS", "CHANGE COLUMN", "CHANGE COLUMNS"})
"""Operations that leave every row as it is, but not the columns."""

_REPLACING = frozenset(
    {
        "CREATE OR REPLACE TABLE AS SELECT", "REPLACE TABLE AS SELECT", "CREATE OR REPLACE TABLE",
        "REPLACE TABLE", "CREATE TABLE AS SELECT", "CREATE TABLE", "CONVERT", "CLONE",
        "RENAME COLUMN", "DROP COLUMNS", "REPLACE COLUMNS", "UPDATE SCHEMA", "RESTORE", "FSCK",
    }
)  # fmt: skip
"""Operations behind which a name may mean something else, so that the change feed says nothing.

A restored table has the columns of then, and rows that came back with them are not in the feed; nor
are those of lost files of which a repair rids the table.
"""


_ROWS = {
    "WRITE": ("numOutputRows",),
    "STREAMING UPDATE": ("numOutputRows",),
    "DELETE": ("numDeletedRows",),
    "UPDATE": ("numUpdatedRows",),
    "MERGE": ("numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted"),
}
"""The metrics that count an operation's changed rows."""


_SECOND = 1_000
_DAY = 86_400_000
"""In milliseconds, as the times of commits are."""


class Change(Enum):
    """What a range of commits did to a table's rows."""

    NONE = "unchanged"
    COLUMNS = "columns only"
    INSERTS = "inserts only"
    GENERAL = "general"
    REPLACED = "replaced"


@dataclass(frozen=True)
class Commit:
    """One row of ``DESCRIBE HISTORY``.

    Attributes:
        version: The version that the commit made.
        timestamp: Its time as text; with the version it identifies a commit, so that a table that
            was dropped and created anew is noticed.
        operation: Delta's name of the operation.
        mode: The write's mode, such as ``Append``; empty where the operation has none.
        metrics: The operation's metrics, as text or numbers.
        user_metadata: The text that the writer attached.
        new_schema: Whether an overwrite may have given the table other columns or partitions; None
            if it may have unless the table is partitioned, as it did not say by what.
        feed: Whether it switched the change feed on, or off; None if neither.
    """

    version: int
    timestamp: str
    operation: str
    mode: str = ""
    metrics: Mapping[str, str] = field(default_factory=dict)
    user_metadata: str | None = None
    new_schema: bool | None = False
    feed: bool | None = None

    @property
    def change(self) -> Change:
        """What this commit did."""
        if self.operation in _NO_DATA:
            return Change.NONE
        if self.operation in _COLUMNS:
            return Change.COLUMNS
        if self.operation in _REPLACING or self.new_schema is not False:
            return Change.REPLACED
        if self.operation in ("WRITE", "STREAMING UPDATE", "COPY INTO") and self.mode == "Append":
            return Change.INSERTS
        if self.operation == "MERGE":
            gone = [self.metric(f"numTargetRows{what}") for what in ("Updated", "Deleted")]
            if all(number == 0 for number in gone):
                if self.metric("numTargetRowsInserted") != 0:
                    return Change.INSERTS
                # By schema evolution a MERGE without rows may add columns; a refresh does not.
                return Change.NONE if is_bookmark(self.user_metadata) else Change.COLUMNS
        return Change.GENERAL

    @property
    def rewrites(self) -> bool:
        """Whether it is a refresh's that wrote all rows of a state anew."""
        return self.mode == "Overwrite" and is_bookmark(self.user_metadata)

    @property
    def rows(self) -> int | None:
        """How many rows changed; None where the history does not tell."""
        if self.change in (Change.NONE, Change.COLUMNS):
            return 0
        if self.rewrites:  # most of them are those that were there
            written = self.metric("numOutputRows")
            return None if written is None else 2 * written
        if self.mode not in ("", "Append"):  # how many rows an overwrite removes is not told
            return None
        names = _ROWS.get(self.operation, ())
        numbers = [self.metric(name) for name in names]
        return known_sum(numbers) if names else None

    @property
    def counts(self) -> tuple[int, int, int] | None:
        """Rows inserted, updated and deleted; None where the history does not tell."""
        if self.rows is None or self.rewrites:
            return None
        if self.operation == "MERGE":
            told = (self.metric(name) or 0 for name in _ROWS["MERGE"])
            inserted, updated, deleted = told
            return inserted, updated, deleted
        if self.operation == "UPDATE":
            return 0, self.rows, 0
        return (0, 0, self.rows) if self.operation == "DELETE" else (self.rows, 0, 0)

    @property
    def bytes_written(self) -> int | None:
        """The size of the files that it wrote; None where the history does not tell."""
        for name in ("numTargetBytesAdded", "numOutputBytes", "numAddedBytes"):
            value = self.metric(name)
            if value is not None:
                return value
        return None

    @property
    def bytes_rewritten(self) -> int:
        """The size of the files that were written whole, or replaced for some of their rows."""
        if self.operation == "MERGE":
            copied = self.metric("numTargetRowsCopied")
            return (self.metric("numTargetBytesRemoved") or 0) if copied else 0
        return self.metric("numOutputBytes") or 0

    def metric(self, name: str) -> int | None:
        """A metric as a number; None if the history does not tell it."""
        value = self.metrics.get(name)
        return int(value) if value is not None and str(value).lstrip("-").isdigit() else None


@dataclass(frozen=True)
class Detail:
    """What a Delta table tells of its newest version.

    Attributes:
        modified: The time of its commit, as its history gives it.
        bytes: The size of its files; None if it is not known.
        version: Its number; None if it is not told.
        files: How many files it has; None if it is not told.
        marks_rows: Whether a MERGE marks rows as deleted, instead of copying the others.
    """

    modified: str
    bytes: int | None
    version: int | None = None
    files: int | None = None
    marks_rows: bool = False


@dataclass(frozen=True)
class DataFile:
    """One of a table's files, as the table's log describes it.

    Attributes:
        rows: How many it has; None if it has no statistics.
        lowest: The least values of those columns that have statistics: numbers, or text.
        highest: The greatest ones.
    """

    rows: int | None
    lowest: Mapping[str, object]
    highest: Mapping[str, object]


def is_bookmark(text: str | None) -> bool:
    """Whether what a writer attached to a commit is a bookmark, of whatever format."""
    return bool(text) and str(text).startswith('{"ivm":')


def known_sum(numbers: Collection[int | None]) -> int | None:
    """A sum; None if a part of it is not known."""
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None


def classify(commits: Sequence[Commit]) -> Change:
    """What a range of commits did together: the worst of what each did."""
    order = list(Change)
    return max((c.change for c in commits), key=order.index, default=Change.NONE)


@dataclass(frozen=True)
class Until:
    """A time point of a column that orders a source's rows: those at it and before are seen.

    Rows whose column is NULL are seen at every time point.

    Attributes:
        column: The column.
        kind: Its Spark type.
        value: The time point as text, by which Spark's CAST gives it; None before the first one.
    """

    column: str
    kind: str
    value: str | None = None


@dataclass(frozen=True)
class SourceVersion:
    """A version of a source that a model was computed from.

    Attributes:
        version: Its number.
        timestamp: The time of its commit, in milliseconds since 1970 where it is known.
        until: Up to where its rows are seen; None sees all.
    """

    version: int
    timestamp: str
    until: Until | None = None

    def is_long_after(self, bookmark: SourceVersion) -> bool:
        """Whether a source's history may forget the bookmark's commit before long.

        Delta forgets no commit before there are newer ones, and none of the last day.
        """
        times = (self.timestamp, bookmark.timestamp)
        return all(t.isdigit() for t in times) and int(times[0]) - int(times[1]) > _DAY

    @property
    def is_before_all(self) -> bool:
        """Whether it is no version of the table, but none of its rows."""
        return self.version < 0


BEFORE_ALL = SourceVersion(-1, "")
"""No rows: as the last step saw a source before the first one."""


@dataclass(frozen=True)
class SourceChange:
    """What happened to one source since the last refresh.

    Attributes:
        parts: The table's name.
        pre: The version to read as the old state; rows are as they were at the bookmark.
        post: The version to read as the new state.
        change: What happened in between.
        stored: The stored names of columns that the planner calls otherwise.
        rows: How many rows changed, one that changes back and forth each time; None if unknown.
        location: Where the table lies, if its changes have to be read by that; else empty.
        rewritten: Whether it is a state of which a refresh wrote all rows anew: the feed has those
            that stayed the same, too, as gone and come.
    """

    parts: tuple[str, ...]
    pre: SourceVersion
    post: SourceVersion
    change: Change
    stored: Mapping[str, str] = field(default_factory=dict)
    rows: int | None = None
    location: str = ""
    rewritten: bool = False

    @property
    def changed(self) -> bool:
        """Whether any row changed."""
        return self.change not in (Change.NONE, Change.COLUMNS)


def is_commit_of(commit: Commit | SourceVersion, bookmark: SourceVersion) -> bool:
    """Whether a commit is the one that a bookmark names, by its version and time.

    Of commits at one time Delta moves the later ones on by a millisecond each, unless the first of
    them is beyond the history that was asked for. So the bookmark may have a later time, by as many
    milliseconds as there are versions before it. The commit of another table is of another time.
    """
    if commit.version != bookmark.version:
        return False
    if not (commit.timestamp.isdigit() and bookmark.timestamp.isdigit()):
        return commit.timestamp == bookmark.timestamp
    return 0 <= int(bookmark.timestamp) - int(commit.timestamp) <= min(bookmark.version, _SECOND)


def since(
    parts: tuple[str, ...], bookmark: SourceVersion, commits: Sequence[Commit]
) -> SourceChange | None:
    """What happened since a bookmark.

    Commits that change no rows move the old state forward, so that time travel does not need
    files that only an old version still names.

    Args:
        parts: The table's name.
        bookmark: The version at the last refresh.
        commits: All commits from the bookmark's on, newest first.

    Returns:
        The change, or None if the bookmark's commit is not among them: the table was dropped and
        created anew, or its history was cleaned up.
    """
    ordered = sorted(commits, key=lambda commit: commit.version)
    if not ordered or not is_commit_of(ordered[0], bookmark):
        return None
    newest = ordered[-1]
    pre = ordered[0]
    for commit in ordered[1:]:
        if commit.change not in (Change.NONE, Change.COLUMNS):
            break
        pre = commit
    later = ordered[1:]
    return SourceChange(
        parts,
        SourceVersion(pre.version, pre.timestamp),
        SourceVersion(newest.version, newest.timestamp),
        classify(later),
        rows=known_sum([commit.rows for commit in later]),
        rewritten=any(commit.rewrites for commit in later),
    )
