"""What Delta tables tell of themselves, read from their logs in Spark's JVM: no statement, no job.

A log is a folder of files that the Delta protocol describes (section "Delta Log Entries"); which
of them is the newest, Delta knows. Whatever is out of the ordinary is left to SQL: tables of other
catalogs, of which Delta's commits may lie elsewhere; commits with times of their own; a clock that
went back.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.sparkivm.session import SessionHandle
from dbt.adapters.sparkivm.warehouse import Row

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

logger = AdapterLogger("SparkIvm")

T = TypeVar("T")

_MOST = 32
"""Of more commits one job of Spark's reads faster."""
_CATALOG = "spark_catalog"
_DELTAS_CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"


class DeltaLogs:
    """The logs of the tables that a session in this process sees.

    Args:
        handle: The session.
    """

    def __init__(self, handle: SessionHandle) -> None:
        """Take the session."""
        self._handle = handle
        self._java: _Java | None = None

    def history(self, parts: tuple[str, ...], limit: int | None) -> list[Row] | None:
        """A table's newest commits as ``DESCRIBE HISTORY`` tells them, which it is left to if None.

        Args:
            parts: The table's name.
            limit: How many; None means all.
        """
        if limit is None or limit > _MOST:
            return None
        return self._told(parts, lambda log: log.history(limit))

    def detail(self, parts: tuple[str, ...]) -> Row | None:
        """A table's newest version as ``DESCRIBE DETAIL`` tells it, which it is left to if None."""
        return self._told(parts, lambda log: log.detail())

    def _told(self, parts: tuple[str, ...], tell: Callable[[_Log], T | None]) -> T | None:
        def look(session: SparkSession) -> T | None:
            if not _is_deltas(session, parts):
                return None
            if self._java is None:
                self._java = _Java.of(session._jvm)
            return tell(self._java.log(session._jsparkSession, parts))

        try:
            return self._handle.run(look)
        except DbtRuntimeError as error:
            logger.debug(f"The log of {'.'.join(parts)} is left to SQL: {error}")
            return None


def _is_deltas(session: SparkSession, parts: tuple[str, ...]) -> bool:
    """Whether a name means a table of Delta's own catalog, and not perhaps a temporary view."""
    if len(parts) == 1:
        return False
    if session.conf.get(f"spark.sql.catalog.{_CATALOG}", "") != _DELTAS_CATALOG:
        return False
    *catalog, _schema, _table = parts
    return (catalog or [session._jsparkSession.catalog().currentCatalog()]) == [_CATALOG]


@dataclass(frozen=True)
class _Java:
    """The classes of Java; to find one by its name takes as long as to read a commit."""

    path: Any
    characters: Any
    lines: Any
    option: Any
    table: Any
    delta: Any

    @classmethod
    def of(cls, jvm: Any) -> _Java:
        io, spark = jvm.java.io, jvm.org.apache.spark.sql
        return cls(
            jvm.org.apache.hadoop.fs.Path,
            io.InputStreamReader,
            io.BufferedReader,
            jvm.scala.Option,
            spark.catalyst.TableIdentifier,
            spark.delta.DeltaLog,
        )

    def log(self, session: Any, parts: tuple[str, ...]) -> _Log:
        """A table's log as of now."""
        *_, schema, table = parts
        name = self.table(table, self.option.apply(schema))
        found = self.delta.forTableWithSnapshot(session, name)
        log = found._1()
        folder = log.logPath()
        return _Log(self, folder, folder.getFileSystem(log.newDeltaHadoopConf()), found._2())


@dataclass(frozen=True)
class _Log:
    """One table's log.

    Attributes:
        java: What reads its files.
        folder: A path of Hadoop's.
        files: The folder's file system.
        snapshot: The newest version, as Delta knows it.
    """

    java: _Java
    folder: Any
    files: Any
    snapshot: Any

    def history(self, limit: int) -> list[Row] | None:
        newest = self.snapshot.version()
        commits: list[Row] = []
        for version in range(newest, max(newest - limit, -1), -1):
            commit = self._commit(version)
            # Of two commits in one millisecond, or if the clock went back, Delta moves the times.
            if commit is None or (commits and commit["modified"] >= commits[-1]["modified"]):
                return None
            commits.append(commit)
        return commits or None

    def detail(self) -> Row | None:
        size = self.snapshot.sizeInBytesIfKnown()
        if not size.isDefined():
            return None
        modified = self._modified(self._file(self.snapshot.version()))
        return {"format": "delta", "lastModified": str(modified), "sizeInBytes": size.get()}

    def _commit(self, version: int) -> Row | None:
        file = self._file(version)
        told = json.loads(self._first_line(file)).get("commitInfo")
        if told is None or "inCommitTimestamp" in told:
            return None
        modified = self._modified(file)
        return {**told, "version": version, "modified": modified, "timestamp": str(modified)}

    def _file(self, version: int) -> Any:
        return self.java.path(self.folder, f"{version:020d}.json")

    def _modified(self, file: Any) -> int:
        return int(self.files.getFileStatus(file).getModificationTime())

    def _first_line(self, file: Any) -> str:
        lines = self.java.lines(self.java.characters(self.files.open(file), "UTF-8"))
        try:
            return str(lines.readLine())
        finally:
            lines.close()
