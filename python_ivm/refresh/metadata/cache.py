"""A cache of what is known of tables: each question about one is asked once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import RLock
from typing import TypeVar

from python_ivm.sources.history import Commit, Detail

Name = tuple[str, ...]
T = TypeVar("T")

_RECENT = 2
"""The least number of commits to ask for: mostly one has come since the last refresh."""

_DETAIL = "detail"


@dataclass
class _Table:
    """What is known of one table.

    Attributes:
        commits: Its newest commits, newest first; None if it is missing or not a Delta table.
        complete: Whether there are no others.
        others: The other answers, by question.
        lock: Held while something is asked, so that no two threads ask the same.
    """

    commits: Sequence[Commit] | None = ()
    complete: bool = False
    others: dict[str, object] = field(default_factory=dict)
    lock: RLock = field(default_factory=RLock)

    def holds(self, limit: int | None) -> bool:
        """Whether the newest `limit` commits are known, or all that there are."""
        if self.commits is None or self.complete:
            return True
        return limit is not None and len(self.commits) >= limit


class MetadataCache:
    """Answers about tables, so that all who ask see one version of each; for any threads."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._tables: dict[Name, _Table] = {}

    def history(
        self, parts: Name, limit: int | None, ask: Callable[[int | None], Sequence[Commit] | None]
    ) -> Sequence[Commit] | None:
        """A table's newest commits as of the first question, newest first.

        Args:
            parts: The table's name.
            limit: How many; None means all.
            ask: Gives the newest commits as of now; None if there is no such Delta table.
        """
        table = self._table(parts)
        with table.lock:
            if not table.holds(limit):
                self._ask_for_more(table, limit, ask)
            return None if table.commits is None else table.commits[:limit]

    @staticmethod
    def _ask_for_more(
        table: _Table, limit: int | None, ask: Callable[[int | None], Sequence[Commit] | None]
    ) -> None:
        newest = table.commits[0].version if table.commits else None
        seen = None
        detail = table.others.get(_DETAIL)
        if isinstance(detail, Detail):
            newest = detail.version if newest is None else newest
            seen = detail.modified
        most = None if limit is None else max(limit, _RECENT)
        while True:
            found = ask(most)
            if found is None:
                table.commits = None
                return
            if newest is None:
                newest = next((c.version for c in found if c.timestamp == seen), None)
            complete = most is None or len(found) < most or found[-1].version == 0
            if newest is None and seen is not None and not complete and _may_follow(found, seen):
                most = 2 * max(most or 1, len(found))
                continue
            # Commits that came since the first question are not seen.
            table.commits = [c for c in found if newest is None or c.version <= newest]
            table.complete = complete
            if table.complete or len(table.commits) >= (limit or 0):
                return
            most = 2 * max(most or 1, len(found))

    def detail(self, parts: Name, ask: Callable[[], Detail | None]) -> Detail | None:
        """A table's newest version as of the first question."""
        return self.other(parts, _DETAIL, ask)

    def other(self, parts: Name, question: str, ask: Callable[[], T]) -> T:
        """Any other answer about a table, or about none."""
        table = self._table(parts)
        with table.lock:
            if question not in table.others:
                table.others[question] = ask()
            return table.others[question]  # type: ignore[return-value]

    def forget(self, parts: Name) -> None:
        """Forget a table that was changed by the one who asks."""
        self._tables.pop(parts, None)

    def _table(self, parts: Name) -> _Table:
        return self._tables.setdefault(parts, _Table())


def _may_follow(commits: Sequence[Commit], time: str) -> bool:
    """Whether the commit of a time may be older than these."""
    oldest = commits[-1].timestamp
    return not (oldest.isdigit() and time.isdigit()) or int(oldest) > int(time)
