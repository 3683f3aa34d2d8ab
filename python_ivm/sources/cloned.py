"""Where a clone came from: a table's version, as the commit tells that made the clone.

Delta's own record of it (``operationParameters``) has no time, by which a version of a table that
was dropped and created anew could be told from one of its predecessor's.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from python_ivm.sources.history import Commit, SourceVersion

RECORD = "clone"
"""The key, in a commit's user metadata, of what :meth:`Cloned.value` gives."""

_OPERATION = "CLONE"


@dataclass(frozen=True)
class Cloned:
    """The version of a table that a clone was made from.

    Attributes:
        parts: The table's full name.
        version: Its version.
    """

    parts: tuple[str, ...]
    version: SourceVersion

    @property
    def key(self) -> str:
        """The table's planner key."""
        return ".".join(self.parts).lower()

    def value(self) -> list[object]:
        """The same as a value of JSON."""
        return [list(self.parts), self.version.version, self.version.timestamp]

    @staticmethod
    def of(value: object) -> Cloned | None:
        """Read what :meth:`value` gives; None if it is nothing of that kind."""
        match value:
            case [[*parts], int(version), str(timestamp)]:
                return Cloned(tuple(map(str, parts)), SourceVersion(version, timestamp))
        return None


def origin(commit: Commit) -> Cloned | None:
    """What a commit made its table a clone of; None if it made none, or does not tell."""
    if commit.operation != _OPERATION or not commit.user_metadata:
        return None
    try:
        told = json.loads(commit.user_metadata)
    except ValueError:
        return None
    return Cloned.of(told.get(RECORD)) if isinstance(told, dict) else None


def newest_clone(commits: Sequence[Commit]) -> tuple[Commit, Cloned] | None:
    """The newest of a table's commits that made it a clone, and of what (newest commit first)."""
    for commit in commits:
        found = origin(commit)
        if found is not None:
            return commit, found
    return None
