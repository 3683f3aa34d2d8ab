"""Refreshes whose commits are written without Spark: a long history in minutes instead of hours.

Each is a new row in the source, and its group in each state, as a refresh would leave it: one more
file, the bookmark, and the fence. A state that is maintained gets its files written anew as
often as by `ivm_auto_maintain`.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

_APART = 0.002
"""Seconds between commits, as Delta moves the times of those in the same millisecond."""
_REFRESHES = 16
"""So many pass before files are written anew (docs/decisions/0058)."""


class WrittenSource:
    """A table `k int, v int`.

    Args:
        folder: Where it lies.
        apart: After so many versions its files are written anew.
    """

    def __init__(self, folder: Path, apart: int) -> None:
        """Take the table as it is."""
        self._table = DeltaTable(folder)
        self._folder = folder
        self._apart = apart

    def append(self, k: int) -> list[Any]:
        """Append a row.

        Returns:
            The version, as a bookmark tells it.
        """
        time.sleep(_APART)
        if self._table.version() % self._apart == 0:
            self._table.optimize.compact()
        row = {"k": pa.array([k], pa.int32()), "v": pa.array([1], pa.int32())}
        write_deltalake(self._table, pa.table(row), mode="append")
        self._table.update_incremental()
        version = self._table.version()
        commit = self._folder / "_delta_log" / f"{version:020d}.json"
        return [version, str(commit.stat().st_mtime_ns // 1_000_000)]


class WrittenState:
    """The state of a view that counts and sums the source's rows by `k`.

    Args:
        folder: Where it lies.
        bookmark: That of its last refresh.
        source: The source's key.
        maintained: Whether its files are written anew.
    """

    def __init__(self, folder: Path, bookmark: str, source: str, maintained: bool) -> None:
        """Take the state as it is."""
        self._table = DeltaTable(folder)
        self._bookmark: dict[str, Any] = json.loads(bookmark)
        self._source = source
        self._maintained = maintained

    def append(self, k: int, version: list[Any]) -> None:
        """Append the group of a new row, and move the bookmark to the source's version."""
        told = self._bookmark["told"]
        number = self._bookmark["refresh"] + 1
        if self._maintained and number - (told["optimized"] or 0) >= _REFRESHES:
            self._table.optimize.compact()
            told["optimized"] = number
        self._bookmark |= {"refresh": number, "sources": {self._source: version}}
        row = {
            "__ivm_count__": pa.array([1], pa.int64()),
            "k": pa.array([k], pa.int32()),
            "__ivm_nonnull_1__": pa.array([1], pa.int64()),
            "s": pa.array([1], pa.int64()),
        }
        fence = Transaction(f"dbt-sparkivm:{self._bookmark['state']}", number)
        commit = CommitProperties(
            custom_metadata={"userMetadata": json.dumps(self._bookmark, separators=(",", ":"))},
            app_transactions=[fence],
        )
        write_deltalake(self._table, pa.table(row), mode="append", commit_properties=commit)
        self._table.update_incremental()
