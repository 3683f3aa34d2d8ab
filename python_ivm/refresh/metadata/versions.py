"""What the planner asks the warehouse about sources and the state, and what follows from it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from python_ivm.algebra.nodes import FEED_COLUMNS
from python_ivm.errors import InvalidModel
from python_ivm.parse.parser import TableReference
from python_ivm.refresh.metadata.warehouse import Warehouse
from python_ivm.refresh.reason import Reason
from python_ivm.sources.cloned import Cloned, newest_clone
from python_ivm.sources.history import (
    Change,
    Commit,
    Detail,
    SourceChange,
    SourceVersion,
    Until,
    since,
)
from python_ivm.state.bookmark import NOT_BUILT, Found, newest

CHANGE_FEED = "delta.enableChangeDataFeed"
_WHOLE_SECOND = "000"
"""How such a time in milliseconds ends."""


def state_history(warehouse: Warehouse, state: tuple[str, ...]) -> Found:
    """The state's newest bookmark; mostly its newest commit holds it, and few follow it else."""
    for limit in (2, 20, None):  # the one before tells which sources seldom change
        commits = warehouse.history(state, limit)
        if not commits:
            return NOT_BUILT
        found = newest(commits)
        if (
            found.bookmark is not None
            or found.newer
            or (limit is not None and len(commits) < limit)
        ):
            break
    return found


def clone_of(warehouse: Warehouse, parts: tuple[str, ...]) -> tuple[Commit, Cloned] | None:
    """The commit that made a table a clone, and of what; None if it is none that dbt made."""
    for limit in (2, 20, None):
        commits = warehouse.history(parts, limit) or ()
        found = newest_clone(commits)
        if found is not None or limit is None or len(commits) < limit:
            return found
    return None


def shows_state(text: str, state: str) -> bool:
    """Whether a view reads a state, and not a former version of it.

    Args:
        text: The view's text.
        state: The state's name, without its schema.
    """
    reads_of_it = re.findall(rf"{_name(state)}(`?\s+version\s+as\s+of\b)?", text, re.IGNORECASE)
    return bool(reads_of_it) and not any(reads_of_it)


def reads(text: str, state: str) -> bool:
    """Whether a view reads a state, or a former version of it."""
    return re.search(_name(state), text, re.IGNORECASE) is not None


def _name(state: str) -> str:
    return rf"(?<!\w){re.escape(state)}(?!\w)"


def change_since(
    warehouse: Warehouse, parts: tuple[str, ...], bookmark: SourceVersion, steady: bool
) -> SourceChange | Reason:
    """What happened to a source since the bookmark.

    Args:
        warehouse: Is asked.
        parts: The source's name.
        bookmark: Its version at the last refresh.
        steady: Whether it has probably not changed.
    """
    detail = warehouse.detail(parts) if steady else None
    if detail is not None and _is_at(detail, bookmark):
        return SourceChange(parts, bookmark, bookmark, Change.NONE, rows=0)
    name = ".".join(parts)
    latest = warehouse.history(parts, 1)
    if not latest:
        if warehouse.columns(parts) is None:
            raise InvalidModel(
                f"Table {name} does not exist",
                hint="Check the name, or run the model that builds it first.",
            )
        return Reason("SOURCE_NOT_DELTA", f"{name} is no Delta table any more")
    newest_commit = latest[0]
    if newest_commit.version < bookmark.version and _still_has(warehouse, parts, bookmark):
        return SourceChange(parts, bookmark, bookmark, Change.NONE, rows=0)
    commits = latest[:1]
    if newest_commit.version > bookmark.version:
        limit = newest_commit.version - bookmark.version + 1
        commits = warehouse.history(parts, limit) or []
        commits = [c for c in commits if c.version >= bookmark.version]
    change = since(parts, bookmark, with_schemas(warehouse, parts, commits))
    if change is None:
        return Reason(
            "SOURCE_RECREATED",
            f"{name} is not the table of the last refresh any more, or its history is gone",
        )
    return change


def seen_since(
    warehouse: Warehouse, table: TableReference, bookmark: Mapping[str, SourceVersion]
) -> SourceChange | Reason:
    """What happened to a source between the last two steps.

    Args:
        warehouse: Is asked.
        table: The source as the last step saw it.
        bookmark: The versions that the last step saw.
    """
    before, seen = bookmark[table.key], bookmark[table.key_now]
    if before.is_before_all:
        return SourceChange(table.parts, before, seen, Change.INSERTS)
    if before.until != seen.until:
        known = replace(seen, until=before.until)
        return SourceChange(table.parts, known, seen, Change.INSERTS)
    newest_commit = next(iter(warehouse.history(table.parts, 1) or ()), None)
    commits: Sequence[Commit] = ()
    if newest_commit is not None and newest_commit.version >= seen.version:
        found = warehouse.history(table.parts, newest_commit.version - before.version + 1) or ()
        commits = [c for c in found if before.version <= c.version <= seen.version]
    change = since(table.parts, before, with_schemas(warehouse, table.parts, commits))
    if change is None or change.post.version != seen.version:
        return Reason(
            "SOURCE_RECREATED",
            f"{table.key_now} is not the table of the last refresh any more, or its history is "
            "gone, so that it is not known which of its rows are new",
        )
    return seen_until(change, seen.until)


def with_schemas(
    warehouse: Warehouse, parts: tuple[str, ...], commits: Sequence[Commit]
) -> Sequence[Commit]:
    """A table's commits, with whether overwrites gave it other columns or partitions.

    The feed does not tell by what the rows were partitioned that went: it has NULL there. Older
    Delta, and other writers, do not log whether a write was allowed to change that. A write that
    names no partitions leaves a table with its partitions, or without any.
    """
    if all(commit.new_schema is not None for commit in commits):
        return commits
    new = not warehouse.is_partitioned(parts)
    return [replace(c, new_schema=new) if c.new_schema is None else c for c in commits]


def seen_until(change: SourceChange, until: Until | None) -> SourceChange:
    """A change of which no more is seen than up to a time point."""
    pre, post = (replace(version, until=until) for version in (change.pre, change.post))
    return replace(change, pre=pre, post=post)


def _still_has(warehouse: Warehouse, parts: tuple[str, ...], bookmark: SourceVersion) -> bool:
    """Whether a table has the version of a bookmark that is newer than the one the run sees.

    Another run refreshed the model meanwhile, from a version that came after this run began.
    """
    newest_commit = next(iter(warehouse.history_now(parts, 1) or ()), None)
    if newest_commit is None or newest_commit.version < bookmark.version:
        return False
    commits = warehouse.history_now(parts, newest_commit.version - bookmark.version + 1) or []
    commits = [c for c in commits if newest_commit.version >= c.version >= bookmark.version]
    return since(parts, bookmark, commits) is not None


def _is_at(detail: Detail, bookmark: SourceVersion) -> bool:
    """Whether a table's newest version is that of a bookmark.

    A statement does not tell its number, and in a store that counts whole seconds two commits may
    have the same time.
    """
    if detail.version is None and bookmark.timestamp.endswith(_WHOLE_SECOND):
        return False
    same = detail.version is None or detail.version == bookmark.version
    return same and detail.modified == bookmark.timestamp


def is_delta(warehouse: Warehouse, parts: tuple[str, ...], steady: bool) -> bool:
    """Whether a name is a Delta table's.

    By statements, the history is a job of Spark's for every table. What a table tells of itself is
    none for one that has not changed since Spark read it, but more than one for a changed table.
    """
    return (steady and warehouse.detail(parts) is not None) or bool(warehouse.history(parts, 1))


def current_versions(
    warehouse: Warehouse, references: Sequence[TableReference]
) -> dict[str, SourceChange]:
    """The present version of each source that is a Delta table.

    Raises:
        InvalidModel: If a source does not exist.
    """
    found: dict[str, SourceChange] = {}
    for reference in references:
        commits = warehouse.history(reference.parts, 1)
        if commits:
            version = SourceVersion(commits[0].version, commits[0].timestamp)
            found[reference.key] = SourceChange(reference.parts, version, version, Change.NONE)
        elif warehouse.columns(reference.parts) is None:
            raise missing(reference)
    return found


def has_change_feed(warehouse: Warehouse, parts: tuple[str, ...]) -> bool:
    """Whether a source's change feed is on; true of what is no Delta table and so has none."""
    if not warehouse.history(parts, 1):
        return True
    return warehouse.properties(parts).get(CHANGE_FEED, "").lower() == "true"


def not_of_a_feed(warehouse: Warehouse, parts: tuple[str, ...]) -> str | None:
    """A column of a source that is named like one of a change feed, so that it can have none."""
    columns = warehouse.columns(parts) or ()
    return next((name for name in columns if name.lower() in FEED_COLUMNS), None)


def without_feed(parts: tuple[str, ...], column: str) -> Reason:
    """Why the changes of a source with such a column are not followed."""
    return Reason(
        "CHANGE_FEED_OFF",
        f"{'.'.join(parts)} has a column named {column}, like one of Delta's change feeds, so that "
        "it can have no feed and the view is recomputed from all rows at each change; rename the "
        "column where the table is written",
    )


def missing(reference: TableReference) -> InvalidModel:
    """The error for a source that does not exist."""
    return InvalidModel(
        f"Table {'.'.join(reference.parts)} does not exist",
        line=reference.line,
        column=reference.column,
        hint="Check the name, or run the model that builds it first.",
    )
