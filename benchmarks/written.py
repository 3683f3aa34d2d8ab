"""Refreshes whose commits are written without Spark: a long history in minutes instead of hours.

Each is a new row in the source, and its group in each state, as a refresh would leave it: one more
file, the bookmark, and the fence. Files are written anew as often as maintenance does it. What a
commit consists of, the Delta protocol says (`add`, `remove`, `txn`, `commitInfo`).
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

_APART = 0.002
"""Seconds between commits, as Delta moves the times of those in the same millisecond."""


class WrittenTable:
    """A Delta table of whole numbers that nobody else writes meanwhile.

    Args:
        folder: Where it lies.
        columns: Their names.
        files: The names of the files that it consists of.
    """

    def __init__(self, folder: Path, columns: Sequence[str], files: Sequence[str]) -> None:
        """Take the table as it is."""
        self._folder, self._log = folder, folder / "_delta_log"
        self._files = list(files)
        stored = pq.read_schema(folder / files[0])  # with columns for the change feed
        self._schema = pa.schema([stored.field(name) for name in columns])
        self.version = max(int(file.stem) for file in self._log.glob("*[0-9].json"))

    def append(self, row: Mapping[str, int], metadata: str = "", *actions: Any) -> list[Any]:
        """Append a row.

        Returns:
            The version, as a bookmark tells it.
        """
        added = self._write(pa.table({k: [v] for k, v in row.items()}, self._schema), True)
        told = {"mode": "Append", "partitionBy": "[]"}
        return self._commit("WRITE", told, metadata, [*actions, added])

    def compact(self) -> None:
        """Write its files anew, as one."""
        gone = [
            {"remove": {"path": name, "deletionTimestamp": _now(), "dataChange": False}}
            for name in self._files
        ]
        names = self._schema.names
        read = (pq.read_table(self._folder / name, columns=names) for name in self._files)
        rows = pa.concat_tables(part.cast(self._schema) for part in read)
        self._files = []
        self._commit("OPTIMIZE", {}, "", [*gone, self._write(rows, False)])

    def _write(self, rows: pa.Table, changes: bool) -> dict[str, Any]:
        name = f"part-00000-{uuid4()}-c000.snappy.parquet"
        pq.write_table(rows, self._folder / name)
        self._files.append(name)
        ends = {column: pc.min_max(rows[column]).as_py() for column in rows.column_names}
        statistics = {
            "numRecords": rows.num_rows,
            "minValues": {column: both["min"] for column, both in ends.items()},
            "maxValues": {column: both["max"] for column, both in ends.items()},
            "nullCount": dict.fromkeys(ends, 0),
        }
        size = (self._folder / name).stat().st_size
        return {
            "add": {
                "path": name, "partitionValues": {}, "size": size, "modificationTime": _now(),
                "dataChange": changes, "stats": json.dumps(statistics),
            }
        }  # fmt: skip

    def _commit(
        self, operation: str, parameters: Mapping[str, str], metadata: str, actions: Sequence[Any]
    ) -> list[Any]:
        time.sleep(_APART)
        told = {
            "timestamp": _now(), "operation": operation, "operationParameters": parameters,
            "isBlindAppend": operation == "WRITE",
            "operationMetrics": {"numFiles": "1", "numOutputRows": "1"},
        }  # fmt: skip
        if metadata:
            told["userMetadata"] = metadata
        self.version += 1
        commit = self._log / f"{self.version:020d}.json"
        commit.write_text("".join(json.dumps(a) + "\n" for a in ({"commitInfo": told}, *actions)))
        return [self.version, str(commit.stat().st_mtime_ns // 1_000_000)]


class WrittenState:
    """The state of a view that counts and sums the rows of a table by `k`.

    Args:
        table: It.
        bookmark: That of its last refresh.
        source: The key of the table.
        apart: After so many refreshes its files are written anew; None: never.
    """

    def __init__(self, table: WrittenTable, bookmark: str, source: str, apart: int | None) -> None:
        """Take the state as it is."""
        self._table, self._source, self._apart = table, source, apart
        self._bookmark: dict[str, Any] = json.loads(bookmark)

    def refresh(self, k: int, version: Sequence[Any]) -> None:
        """Append the group of a new row, and move the bookmark to the source's version."""
        told = self._bookmark["told"]
        number = self._bookmark["refresh"] + 1
        if self._apart and number - (told["optimized"] or 0) >= self._apart:
            self._table.compact()
            told["optimized"] = number
        self._bookmark |= {"refresh": number, "sources": {self._source: version}}
        application = f"dbt-sparkivm:{self._bookmark['state']}"
        fence = {"txn": {"appId": application, "version": number, "lastUpdated": _now()}}
        row = {"__ivm_count__": 1, "k": k, "__ivm_nonnull_1__": 1, "s": 1}
        self._table.append(row, json.dumps(self._bookmark, separators=(",", ":")), fence)


def _now() -> int:
    return round(time.time() * 1000)
