"""What Delta tables tell of themselves, read from their logs in Spark's JVM without a statement.

A log is a folder of files that the Delta protocol describes (section "Delta Log Entries"); which
of them is the newest, Delta knows. Whatever is out of the ordinary is left to SQL: what is no Delta
table of Spark's own catalog; commits with times of their own; a clock that went back.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from dbt.adapters.events.logging import AdapterLogger

from dbt.adapters.sparkivm.bridge.shortcuts import SessionShortcuts
from dbt.adapters.sparkivm.bridge.view_details import Kept
from dbt.adapters.sparkivm.bridge.warehouse import Row
from python_ivm.refresh.metadata.catalog import SESSION_CATALOG
from python_ivm.refresh.statement_builders import DELETION_VECTORS
from python_ivm.sources.history import COMMITS_WITHOUT_JOB

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

logger = AdapterLogger("SparkIvm")

T = TypeVar("T")

_CATALOGS = "spark.sql.catalog."
_DELTAS_CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"


class DeltaLogs(SessionShortcuts):
    """The logs of the tables that a session in this process sees."""

    def history(self, parts: tuple[str, ...], limit: int | None) -> list[Row] | None:
        """A table's newest commits as ``DESCRIBE HISTORY`` tells them, which it is left to if None.

        A view has none.

        Args:
            parts: The table's name.
            limit: How many; None means all.
        """
        if limit is None or limit > COMMITS_WITHOUT_JOB:
            return None
        logger.debug(f"History of {'.'.join(parts)}, from its log")
        return self._told(parts, lambda log: log.history(limit), of_view=[])

    def detail(self, parts: tuple[str, ...]) -> Row | None:
        """A table's newest version as ``DESCRIBE DETAIL`` tells it, which it is left to if None."""
        return self._told(parts, lambda log: log.detail())

    def files(self, parts: tuple[str, ...]) -> list[Row] | None:
        """What the log has of each of a table's files; None if Delta would need a job for it."""
        return self._told(parts, lambda log: log.listed())

    def namespace(self) -> tuple[str, str] | None:
        """The session's catalog and schema, which is empty at first in all but Spark's own."""

        def look(session: SparkSession) -> tuple[str, str]:
            manager = session._jsparkSession.sessionState().catalogManager()
            with _java(session._jvm).active(session._jsparkSession):
                schema = list(manager.currentNamespace())
                return str(manager.currentCatalog().name()), str(schema[-1]) if schema else ""

        return self._look(("the current schema",), look)

    def view(self, parts: tuple[str, ...]) -> Kept | None:
        """What the catalog keeps with a view; None if Spark's own does not have it."""

        def look(session: SparkSession) -> Kept | None:
            if not _is_in_sparks_catalog(session, parts):
                return None
            return _java(session._jvm).view(session._jsparkSession, *parts[-2:])

        return self._look(parts, look)

    def _told(
        self, parts: tuple[str, ...], tell: Callable[[_Log], T | None], of_view: T | None = None
    ) -> T | None:
        def look(session: SparkSession) -> T | None:
            if not _is_in_sparks_catalog(session, parts):
                return None
            java = _java(session._jvm)
            with java.active(session._jsparkSession):
                kept = java.kept(session._jsparkSession, *parts[-2:])
                if kept is None:
                    return None
                if kept.tableType().name() == "VIEW":
                    return of_view
                log = java.log(session._jsparkSession, kept)
                return None if log is None else tell(log)

        return self._look(parts, look)


def _is_in_sparks_catalog(session: SparkSession, parts: tuple[str, ...]) -> bool:
    """Whether a name can only mean a table or view of Spark's own catalog, extended by Delta."""
    if session.conf.get(_CATALOGS + SESSION_CATALOG, "") != _DELTAS_CATALOG:
        return False
    if len(parts) != 2:  # a name alone may be that of a temporary view
        return len(parts) == 3 and parts[0] == SESSION_CATALOG
    if session.conf.get(_CATALOGS + parts[0], None) is not None:
        return False
    return bool(session._jsparkSession.catalog().currentCatalog() == SESSION_CATALOG)


@dataclass(frozen=True)
class _Java:
    """Classes of Java. To find one by its name takes as long as to read a commit."""

    path: Any
    reader: Any
    buffered: Any
    option: Any
    table: Any
    utilities: Any
    delta: Any
    sessions: Any
    no_options: Any

    @contextmanager
    def active(self, session: Any) -> Generator[None, None, None]:
        """Make a session the one that Delta asks for its settings and runs its jobs in."""
        before = self.sessions.getActiveSession()
        self.sessions.setActiveSession(session)
        try:
            yield
        finally:
            if before.isDefined():
                self.sessions.setActiveSession(before.get())
            else:
                self.sessions.clearActiveSession()

    def kept(self, session: Any, schema: str, name: str) -> Any:
        """What the catalog has of a table or view; None if there is none of that name."""
        from pyspark.errors import AnalysisException

        found = self.table(name, self.option.apply(schema))
        try:  # to ask first whether it exists takes as long again
            return session.sessionState().catalog().getTableMetadata(found)
        except AnalysisException:
            return None

    def log(self, session: Any, kept: Any) -> _Log | None:
        """A table's log as of now; None if it is no Delta table."""
        if not self.utilities.isDeltaTable(kept):
            return None
        found = self.delta.forTableWithSnapshot(session, kept, self.no_options)
        log = found._1()
        folder = log.logPath()
        return _Log(self, folder, folder.getFileSystem(log.newDeltaHadoopConf()), found._2())

    def view(self, session: Any, schema: str, name: str) -> Kept | None:
        """What the catalog keeps with a view."""
        found = session.sessionState().catalog()
        kept = found.getTableMetadata(self.table(name, self.option.apply(schema)))
        names, settings = kept.viewQueryColumnNames(), kept.viewSQLConfigs().iterator()
        pairs = []
        while settings.hasNext():
            pair = settings.next()
            pairs.append((str(pair._1()), str(pair._2())))
        return Kept(tuple(str(names.apply(n)) for n in range(names.size())), dict(pairs))


@lru_cache(maxsize=1)
def _java(jvm: Any) -> _Java:
    io, spark = jvm.java.io, jvm.org.apache.spark.sql
    # Until Spark 4 there was one class of sessions, and what is no class py4j takes for a package.
    session = spark.classic.SparkSession
    if type(session).__name__ == "JavaPackage":
        session = spark.SparkSession
    return _Java(
        jvm.org.apache.hadoop.fs.Path,
        io.InputStreamReader,
        io.BufferedReader,
        jvm.scala.Option,
        spark.catalyst.TableIdentifier,
        spark.delta.DeltaTableUtils,
        spark.delta.DeltaLog,
        session,
        jvm.PythonUtils.toScalaMap({}),
    )


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
        checksum = self.snapshot.checksumOpt()  # without it Delta would count in a job
        if not checksum.isDefined():
            return None
        version = self.snapshot.version()
        return {
            "format": "delta",
            "lastModified": str(self._modified(self._file(version))),
            "sizeInBytes": checksum.get().tableSizeBytes(),
            "version": version,
            "numFiles": checksum.get().numFiles(),
            "properties": {DELETION_VECTORS: self._property(DELETION_VECTORS)},
        }

    def _property(self, key: str) -> str | None:
        value = self.snapshot.metadata().configuration().get(key)
        return str(value.get()) if value.isDefined() else None

    def listed(self) -> list[Row] | None:
        """The files, of which Delta keeps the list with the checksum unless they are many."""
        checksum = self.snapshot.checksumOpt()
        listed = checksum.get().allFiles() if checksum.isDefined() else checksum
        if not listed.isDefined():
            return None
        files = listed.get()
        every = (files.apply(number) for number in range(files.size()))
        return [{"stats": file.stats()} for file in every]

    def _commit(self, version: int) -> Row | None:
        status = self.files.getFileStatus(self._file(version))
        told = json.loads(self._first_line(status)).get("commitInfo")
        if told is None or "inCommitTimestamp" in told:
            return None
        modified = int(status.getModificationTime())
        return {**told, "version": version, "modified": modified, "timestamp": str(modified)}

    def _file(self, version: int) -> Any:
        return self.java.path(self.folder, f"{version:020d}.json")

    def _modified(self, file: Any) -> int:
        return int(self.files.getFileStatus(file).getModificationTime())

    def _first_line(self, status: Any) -> str:
        # An object store that is not told the status asks for it before it opens the file.
        opened = self.files.openFile(status.getPath()).withFileStatus(status).build().get()
        lines = self.java.buffered(self.java.reader(opened, "UTF-8"))
        try:
            return str(lines.readLine())
        finally:
            lines.close()
