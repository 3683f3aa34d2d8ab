"""Time points: what one step of a model takes of what is pending (config ``ivm_step``).

By default a run is one step, over the sources as they are. A step for each commit sees the sources
as they were then, one commit after the other, so that the result does not depend on when dbt ran.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from python_ivm.parse.parser import table_key
from python_ivm.refresh.metadata.cached_warehouse import CachedWarehouse
from python_ivm.refresh.metadata.warehouse import Warehouse
from python_ivm.refresh.model import Model
from python_ivm.sources.history import Change, Commit, DataFile, Detail, is_commit_of
from python_ivm.state.bookmark import Bookmark


@dataclass(frozen=True)
class TimePoint:
    """One time point.

    Attributes:
        versions: At which version it sees each source, by planner key.
        more: Whether others are pending behind it.
    """

    versions: Mapping[str, int]
    more: bool


def next_commit(model: Model, bookmark: Bookmark) -> TimePoint | None:
    """The next commit of a model's sources that changed rows.

    Commits of several sources at one time are one time point. Those of the model itself, and of
    what it reads as before the run, are none.

    Args:
        model: The model.
        bookmark: What its state holds.

    Returns:
        None if none is pending, or if it cannot be told from the history what is.
    """
    pending: dict[str, Sequence[Commit]] = {}
    for table in model.tables:
        if table.previous or table.last or table.key == model.own_key:
            continue
        commits = _since(model, table.parts, bookmark, table.key)
        if commits is None:
            return None
        pending[table.key] = commits
    times = sorted(
        {int(c.timestamp) for commits in pending.values() for c in commits if _is_change(c)}
    )
    if not times:
        return None
    versions = {
        key: max([c.version for c in commits if int(c.timestamp) <= times[0]], default=None)
        for key, commits in pending.items()
    }
    seen = {
        key: bookmark.sources[key].version if version is None else version
        for key, version in versions.items()
    }
    return TimePoint(seen, len(times) > 1)


def _is_change(commit: Commit) -> bool:
    return commit.change not in (Change.NONE, Change.COLUMNS)


def _since(
    model: Model, parts: tuple[str, ...], bookmark: Bookmark, key: str
) -> Sequence[Commit] | None:
    """A source's commits since the bookmark's; None if they are not all known."""
    before = bookmark.sources.get(key)
    newest = next(iter(model.warehouse.history(parts, 1) or ()), None)
    if before is None or newest is None or newest.version < before.version:
        return None
    commits = model.warehouse.history(parts, newest.version - before.version + 1) or ()
    commits = [c for c in commits if c.version >= before.version]
    first = min(commits, key=lambda commit: commit.version, default=None)
    if first is None or not is_commit_of(first, before):
        return None
    later = [c for c in commits if c.version > before.version]
    return later if all(c.timestamp.isdigit() for c in later) else None


class AsOf(CachedWarehouse):
    """A warehouse as it was at a time point: of some tables later commits are not seen.

    Args:
        warehouse: As it is.
        versions: The newest version that is seen of each, by planner key.
    """

    def __init__(self, warehouse: Warehouse, versions: Mapping[str, int]) -> None:
        """Take what is asked."""
        super().__init__(warehouse)
        self._versions = versions

    def history(self, parts: tuple[str, ...], limit: int | None) -> Sequence[Commit] | None:
        """A table's commits."""
        last = self._versions.get(table_key(parts))
        if last is None or limit is None:
            commits = super().history(parts, limit)
            hidden = [] if last is None else [c for c in commits or () if c.version > last]
            return commits[len(hidden) :] if commits is not None else None
        newest = super().history(parts, 1)
        if not newest:
            return newest
        commits = super().history(parts, limit + max(0, newest[0].version - last)) or ()
        return [c for c in commits if c.version <= last]

    def detail(self, parts: tuple[str, ...]) -> Detail | None:
        """A table's newest version; nothing of one whose newest is not seen."""
        return None if table_key(parts) in self._versions else super().detail(parts)

    def files(self, parts: tuple[str, ...]) -> Sequence[DataFile] | None:
        """A table's files; nothing of one whose newest version is not seen."""
        return None if table_key(parts) in self._versions else super().files(parts)
