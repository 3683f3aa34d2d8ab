"""What the logs of many Delta tables tell, read by two jobs of Spark's instead of two for each.

By Spark Connect each `DESCRIBE HISTORY` is a job of a twentieth of a second or more, and a project
of 500 models asks for 600. A log is a folder of files that the Delta protocol describes: commits
(section "Delta Log Entries"), and beside each a checksum (section "Version Checksum File"), which
counts the table's files and mostly lists them. Whatever is out of the ordinary is left to SQL:
commits with times of their own or that tell nothing of themselves, a gap, a clock that went back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from dbt.adapters.sparkivm.bridge.shortcuts import SessionShortcuts, columns_of
from dbt.adapters.sparkivm.bridge.warehouse import Row
from dbt.adapters.sparkivm.connection.session import AnySession
from python_ivm.refresh.metadata.catalog import SESSION_CATALOG
from python_ivm.sources.history import COMMITS_WITHOUT_JOB

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Name = tuple[str, str]

FEW = 8
"""So few tables are asked one by one."""
_LOCATION = re.compile(r"^Location: (\S.*)$", re.MULTILINE)
_FOLDER = "regexp_extract(path, '^(.*)/[^/]*$', 1)"
_IN_ORDER = f"row_number() OVER (PARTITION BY {_FOLDER} ORDER BY path DESC)"
_IS_COMMIT = "path RLIKE '/[0-9]{20}[.]json$'"
"""Beside commits lie checkpoints and logs of many commits."""
_COMMIT_INFO = """CASE WHEN value LIKE '{"commitInfo":%' THEN value END AS line"""
"""The line of a commit's file that tells of it; NULL if it has none, which the protocol allows."""


def location(information: str) -> str | None:
    """Where a table lies, of what Spark lists of a relation; None if it is not told there."""
    found = _LOCATION.search(information)
    return found[1].strip() if found else None


@dataclass
class _Told:
    """What one log tells.

    Attributes:
        commits: Its newest commits without a gap, newest first.
        odd: Whether its history is left to SQL.
        checksum: Of the newest commit; empty if there is none.
    """

    commits: list[Row] = field(default_factory=list)
    odd: bool = False
    checksum: Mapping[str, Any] = field(default_factory=dict)


class ManyLogs(SessionShortcuts):
    """The logs of many tables, all read at the first question about one of them.

    Args:
        handle: The session.
        locations: Where the tables lie, by schema and name.
    """

    def __init__(self, handle: AnySession, locations: Mapping[Name, str]) -> None:
        """Take what is to be read."""
        super().__init__(handle)
        self._locations = {name_of(name): where for name, where in locations.items()}
        self._logs: dict[Name, _Told] | None = None
        self._one_at_a_time = Lock()

    def history(self, parts: tuple[str, ...], limit: int | None) -> list[Row] | None:
        """A table's newest commits, which `DESCRIBE HISTORY` is left to tell if None."""
        log = self._log(parts)
        if log is None or log.odd or not log.commits:
            return None
        whole = log.commits[-1]["version"] == 0
        if not whole and (limit is None or limit > len(log.commits)):
            return None
        return log.commits[:limit]

    def detail(self, parts: tuple[str, ...]) -> Row | None:
        """A table's newest version, which `DESCRIBE DETAIL` is left to tell if None."""
        log = self._log(parts)
        if log is None or log.odd or not log.checksum:
            return None
        return {
            "format": "delta",
            "lastModified": log.commits[0]["timestamp"],
            "sizeInBytes": log.checksum.get("tableSizeBytes"),
            "version": log.commits[0]["version"],
            "numFiles": log.checksum.get("numFiles"),
            "properties": (log.checksum.get("metadata") or {}).get("configuration"),
        }

    def files(self, parts: tuple[str, ...]) -> list[Row] | None:
        """What the newest checksum has of each of a table's files; None if it lists none."""
        log = self._log(parts)
        listed = log.checksum.get("allFiles") if log is not None and not log.odd else None
        return None if listed is None else [{"stats": file.get("stats")} for file in listed]

    def stored(self, parts: tuple[str, ...]) -> Mapping[str, str] | None:
        """A table's columns and types by its newest checksum; None if that does not tell them."""
        log = self._log(parts)
        told = log.checksum.get("metadata") if log is not None and not log.odd else None
        if not told:
            return None
        from pyspark.sql.types import StructType

        return columns_of(StructType.fromJson(json.loads(told["schemaString"])))

    def forget(self, parts: tuple[str, ...]) -> None:
        """Leave a table to statements from now on, as it is written."""
        self._locations.pop(name_of(parts), None)

    def _log(self, parts: tuple[str, ...]) -> _Told | None:
        if len(parts) != 2 and (len(parts) != 3 or parts[0] != SESSION_CATALOG):
            return None
        key = name_of(parts)
        if key not in self._locations:
            return None
        with self._one_at_a_time:
            if self._logs is None:
                self._logs = self._look(parts, self._read) or {}
        return self._logs.get(key)

    def _read(self, session: SparkSession) -> dict[Name, _Told]:
        locations = dict(self._locations)
        folders = {_path(f"{where}/_delta_log"): n for n, where in locations.items()}
        commits = session.read.text([f"{where}/_delta_log/*.json" for where in locations.values()])
        newest = (
            commits.selectExpr(
                _COMMIT_INFO,
                "_metadata.file_path AS path",
                "unix_millis(_metadata.file_modification_time) AS modified",
            )
            .where(_IS_COMMIT)
            .groupBy("path", "modified")
            .agg({"line": "max"})
            .selectExpr("path", "modified", "`max(line)` AS value", f"{_IN_ORDER} AS place")
            .where(f"place <= {COMMITS_WITHOUT_JOB}")
            .collect()
        )
        found = _commits(newest, folders)
        checksums = [
            f"{locations[name]}/_delta_log/{log.commits[0]['version']:020}.crc"
            for name, log in found.items()
            if log.commits
        ]
        try:
            told = session.read.text(checksums).selectExpr("value", "_metadata.file_path AS path")
            rows = told.collect()
        except Exception:  # one is missing: all else is known, and sizes are left to SQL
            return found
        for row in rows:
            found[folders[_path(row["path"].rpartition("/")[0])]].checksum = json.loads(
                row["value"]
            )
        return found


def _commits(rows: Iterable[Any], folders: Mapping[str, Name]) -> dict[Name, _Told]:
    """The commits of each table, newest first."""
    found: dict[Name, _Told] = {}
    for row in sorted(rows, key=lambda row: str(row["path"]), reverse=True):
        folder, _, name = row["path"].rpartition("/")
        log = found.setdefault(folders[_path(folder)], _Told())
        if row["value"] is None:
            log.odd = True
            continue
        info, version = json.loads(row["value"])["commitInfo"], int(name.partition(".")[0])
        modified = int(row["modified"])
        before = log.commits[-1] if log.commits else None
        if "inCommitTimestamp" in info:
            log.odd = True
        if before is not None:
            if before["version"] != version + 1:
                continue  # behind a gap
            # Of two commits in one millisecond, or if the clock went back, Delta moves the times.
            log.odd |= modified >= int(before["timestamp"])
        log.commits.append({**info, "version": version, "timestamp": str(modified)})
    return found


def _path(uri: str) -> str:
    """A folder's name, however Spark writes it."""
    scheme, _, path = unquote(uri).partition(":")
    return f"/{path.lstrip('/')}" if scheme == "file" else f"{scheme}:{path}"


def name_of(parts: tuple[str, ...]) -> Name:
    """A relation's schema and name in lower case."""
    return parts[-2].lower(), parts[-1].lower()
