"""Answers the planner's questions about tables by metadata queries."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, Protocol, TypeVar

from dbt_common.exceptions import DbtRuntimeError
from sqlglot import exp

from dbt.adapters.sparkivm.bridge.conf import Conf, StatementConf, changed, exact, executed
from dbt.adapters.sparkivm.bridge.engine import Ability, Engine
from dbt.adapters.sparkivm.bridge.view_details import Kept, of_json, of_rows
from python_ivm.optimize.cost import Execution
from python_ivm.parse.parser import DIALECT, quoted_name
from python_ivm.parse.views import View
from python_ivm.refresh.metadata.cache import MetadataCache
from python_ivm.refresh.metadata.catalog import SESSION_CATALOG
from python_ivm.refresh.metadata.versions import CHANGE_FEED
from python_ivm.refresh.statement_builders import DELETION_VECTORS
from python_ivm.sources.clock import Instant
from python_ivm.sources.history import Commit, DataFile, Detail, is_bookmark

Row = dict[str, Any]
Query = Callable[[str], list[Row]]
T = TypeVar("T")

_MISSING = ("TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND", "DELTA_TABLE_NOT_FOUND", "DELTA_MISSING")
_IS_DELTA = "NOT_SUPPORTED_COMMAND_FOR_V2_TABLE"
"""What Spark says where a Delta table is to be described as JSON."""
_NOT_DELTA = (
    "DELTA_TABLE_ONLY_OPERATION",
    "DELTA_ONLY_OPERATION",
    "EXPECT_TABLE_NOT_VIEW",
    "EXPECT_PERMANENT_TABLE_NOT_TEMP",
    "is not a Delta table",
    "expects a table",
    "UNSUPPORTED_FEATURE.TABLE_OPERATION",
)

_FIELDS_TOLD = "spark.sql.debug.maxToStringFields"
_ALL_FIELDS = str(2**31 - 1)
_AT_ONCE = 8
"""How many commits a statement reads at no extra cost: its Spark job takes far longer."""
_ON = re.compile(rf'"{re.escape(CHANGE_FEED)}"\s*:\s*"?true', re.IGNORECASE)
_PAIR = re.compile(r'"(\w+)":"(.*?)"(?=,"\w+":"|\}$)')
_OVERWRITES = ("Overwrite", "Complete")
_DELTA = re.compile(r"Delta-Lake/(\d+)\.(\d+)")
_LOGS_NEW_SCHEMAS = (4, 1)
_NONE = "[]"
_CUT_OFF = re.compile(r"\.\.\. \d+ more fields")


class Shortcuts(Protocol):
    """What tells of tables without a statement, where it can."""

    def namespace(self) -> tuple[str, str] | None:
        """The session's catalog and schema; None if only ``SHOW CURRENT NAMESPACE`` can tell."""

    def columns(self, parts: tuple[str, ...]) -> Mapping[str, str] | None:
        """A relation's columns and types; None if only ``DESCRIBE TABLE`` can tell."""

    def history(self, parts: tuple[str, ...], limit: int | None) -> list[Row] | None:
        """The rows of ``DESCRIBE HISTORY``, none of a view; None if only that can tell."""

    def detail(self, parts: tuple[str, ...]) -> Row | None:
        """The row of ``DESCRIBE DETAIL``; None if only that can tell."""

    def files(self, parts: tuple[str, ...]) -> list[Row] | None:
        """What the log has of each file (``add`` of the Delta protocol); None if it is not told."""

    def view(self, parts: tuple[str, ...]) -> Kept | None:
        """What the catalog keeps with a view; None if it is not told."""

    def forget(self, parts: tuple[str, ...]) -> None:
        """Forget what was read of a table before, as it is written."""


class SparkWarehouse:
    """The planner's warehouse, on a dbt connection.

    Args:
        query: Runs a statement and gives its rows, as dicts by column name.
        shortcuts: Tell of tables without a statement; None where there is no such way.
        conf: The session's settings; None if statements change them.
        engine: What is known of the engine.
    """

    def __init__(
        self,
        query: Query,
        shortcuts: Shortcuts | None = None,
        conf: Conf | None = None,
        engine: Engine | None = None,
    ) -> None:
        """Take what runs statements."""
        self._engine = engine or Engine()
        self._query = query
        self._shortcuts = shortcuts
        self._conf = conf or StatementConf(query)

    def history(self, parts: tuple[str, ...], limit: int | None) -> Sequence[Commit] | None:
        """A table's commits, newest first; None if it is missing or not a Delta table.

        A statement tells a few more than asked for, as they cost it nothing.
        """
        rows = self._shortcuts.history(parts, limit) if self._shortcuts else None
        if rows is None:
            most = "" if limit is None else f" LIMIT {max(limit, _AT_ONCE)}"
            question = f"DESCRIBE HISTORY {quoted_name(parts)}{most}"
            rows = self._ask(question, *_MISSING, *_NOT_DELTA)
        return [_commit(row) for row in rows] if rows else None

    def history_now(self, parts: tuple[str, ...], limit: int) -> Sequence[Commit] | None:
        """The same as of now, even if the run sees an older version of the table.

        What a shortcut read at the run's beginning would not do.
        """
        return SparkWarehouse(self._query).history(parts, limit)

    def columns(self, parts: tuple[str, ...]) -> Mapping[str, str] | None:
        """A relation's columns and types; None if it is missing."""
        told = self._shortcuts.columns(parts) if self._shortcuts else None
        if told is not None:
            return told
        rows = self._described(f"DESCRIBE TABLE {quoted_name(parts)}", *_MISSING)
        if rows is None:
            return None
        columns: dict[str, str] = {}
        for row in rows:
            if not row["data_type"]:  # the title of what is told of partitions and clustering
                break
            columns[row["col_name"]] = row["data_type"]
        return columns

    def properties(self, parts: tuple[str, ...]) -> Mapping[str, str]:
        """A Delta table's properties."""
        rows = self._query(f"SHOW TBLPROPERTIES {quoted_name(parts)}")
        return {row["key"]: row["value"] for row in rows}

    def location(self, parts: tuple[str, ...]) -> str:
        """Where a Delta table lies."""
        (row,) = self._query(f"DESCRIBE DETAIL {quoted_name(parts)}")
        return str(row["location"])

    def is_partitioned(self, parts: tuple[str, ...]) -> bool:
        """Whether a Delta table has partitions now."""
        (row,) = self._query(f"DESCRIBE DETAIL {quoted_name(parts)}")
        columns = row["partitionColumns"]
        return bool(json.loads(columns) if isinstance(columns, str) else columns)

    def detail(self, parts: tuple[str, ...]) -> Detail | None:
        """A Delta table's newest version; None if it cannot be told."""
        row = self._shortcuts.detail(parts) if self._shortcuts else None
        try:
            if row is None:
                (row,) = self._query(f"DESCRIBE DETAIL {quoted_name(parts)}")
        except DbtRuntimeError:
            return None
        if row["format"] != "delta":
            return None
        size = row["sizeInBytes"]
        bytes_ = None if size is None else int(size)
        files = row.get("numFiles")
        number = None if files is None else int(files)
        marks_rows = _map(row.get("properties")).get(DELETION_VECTORS) == "true"
        modified = _timestamp(row["lastModified"])
        return Detail(modified, bytes_, row.get("version"), number, marks_rows)

    def files(self, parts: tuple[str, ...]) -> Sequence[DataFile] | None:
        """A Delta table's files; None if they cannot be told cheaply, or are many."""
        rows = self._shortcuts.files(parts) if self._shortcuts else None
        return None if rows is None else [_file(row) for row in rows]

    def namespace(self) -> tuple[str, str]:
        """The session's catalog and schema, which is empty at first in all catalogs but Spark's."""
        told = self._shortcuts.namespace() if self._shortcuts else None
        if told is not None:
            return told
        (row,) = self._query("SHOW CURRENT NAMESPACE")  # a SELECT would start a job
        schema = row["namespace"]
        return row["catalog"], exp.to_table(schema, dialect=DIALECT).name if schema else ""

    def instant(self) -> Instant:
        """The time by the session's clock and in its time zone."""
        (row,) = self._query(
            "SELECT CAST(current_date() AS STRING) AS today, "
            "CAST(localtimestamp() AS STRING) AS local, "
            "unix_micros(current_timestamp()) AS micros"
        )
        micros = dt.timedelta(microseconds=int(row["micros"]))
        now = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc) + micros
        return Instant(row["today"], now.isoformat(sep=" ", timespec="microseconds"), row["local"])

    def definition(self, parts: tuple[str, ...]) -> View | None:
        """A view; its namespace is empty if it is a temporary one."""
        question = f"DESCRIBE TABLE EXTENDED {quoted_name(parts)}"
        if self._engine.can(Ability.DESCRIBE_AS_JSON):
            try:
                rows = self._ask(f"{question} AS JSON", *_MISSING)
                return of_json(rows or [], lambda: self.columns(parts) or {})
            except DbtRuntimeError as error:
                told = str(error)
                if _IS_DELTA not in told and not self._engine.lacks(Ability.DESCRIBE_AS_JSON, told):
                    raise
        return of_rows(
            self._ask(question, *_MISSING) or [],
            lambda: self.columns(parts) or {},
            lambda name: self._shortcuts.view(name) if self._shortcuts else None,
        )

    def describe(self, sql: str) -> Sequence[tuple[str, str]]:
        """Names and types of a query's columns, without running it."""
        rows = self._described(f"DESCRIBE QUERY {sql}")
        return [(row["col_name"], row["data_type"]) for row in rows or ()]

    def texts(
        self, sql: str, execution: Execution = Execution.USUAL
    ) -> Sequence[Sequence[str | None]]:
        """The rows of a query whose columns are texts, executed so.

        It fails where a file is gone: no rows would mean that nothing changed.
        """
        reads = not sql.startswith("EXPLAIN")
        with exact(self._conf) if reads else nullcontext(), executed(self._conf, execution):
            return [list(row.values()) for row in self._query(sql)]

    def doubles_quotes(self) -> bool:
        """Whether two quotes inside a text are one of its characters: asked once a run."""
        if self._engine.doubles_quotes is None:
            (row,) = self._query("SELECT 'a''b' AS text")
            self._engine.doubles_quotes = row["text"] == "a'b"
        return self._engine.doubles_quotes

    def user_functions(self, schema: tuple[str, ...] | None = None) -> Sequence[str]:
        """The functions that users made and that can be named without a schema."""
        if schema is not None:
            if schema not in self._engine.functions:
                shown = f"SHOW USER FUNCTIONS IN {quoted_name(schema)}"
                rows = self._ask(shown, "MISSING_CATALOG_ABILITY", "SCHEMA_NOT_FOUND") or []
                self._engine.functions[schema] = _function_names(rows)
            return self._engine.functions[schema]
        rows = self._ask("SHOW USER FUNCTIONS", "MISSING_CATALOG_ABILITY")
        if rows is None:  # only the session's own, in a catalog that has none
            rows = self._query(f"SHOW USER FUNCTIONS IN {SESSION_CATALOG}.default")
            rows = [row for row in rows if "." not in row["function"]]
        return _function_names(rows)

    def setting(self, key: str) -> str | None:
        """The value that somebody gave a setting of the session."""
        return self._conf.given(key)

    def enable_change_feed(self, parts: tuple[str, ...]) -> None:
        """Switch a source's change feed on, unless another model's thread has just done so."""
        try:
            self._query(
                f"ALTER TABLE {quoted_name(parts)} SET TBLPROPERTIES ({CHANGE_FEED} = true)"
            )
        except DbtRuntimeError:
            if SparkWarehouse.properties(self, parts).get(CHANGE_FEED) != "true":
                raise

    def _described(self, sql: str, *absent: str) -> list[Row] | None:
        """The rows of a DESCRIBE with whole types: of a struct Spark tells 25 fields."""
        rows = self._ask(sql, *absent)
        if any(_CUT_OFF.search(row["data_type"] or "") for row in rows or ()):
            with changed(self._conf, {_FIELDS_TOLD: _ALL_FIELDS}):
                return self._ask(sql, *absent)
        return rows

    def _ask(self, sql: str, *absent: str) -> list[Row] | None:
        """A query's rows; None if its error says that there is no such thing."""
        try:
            return self._query(sql)
        except DbtRuntimeError as error:
            if any(sign in str(error) for sign in absent):
                return None
            raise


class RunWarehouse(SparkWarehouse):
    """The warehouse as one dbt run sees it: all of its models see one version of each source.

    Args:
        query: Runs a statement and gives its rows.
        sources: The tables that nothing in the project writes, as (schema, name) in lower case.
        answers: What the run's models asked about them before.
        shortcuts: Tell of tables without a statement; None where there is no such way.
        conf: The session's settings; None if statements change them.
        engine: What is known of the engine.
    """

    def __init__(
        self,
        query: Query,
        sources: Iterable[tuple[str, str]],
        answers: MetadataCache,
        shortcuts: Shortcuts | None = None,
        conf: Conf | None = None,
        engine: Engine | None = None,
    ) -> None:
        """Take what runs statements, and what is known already."""
        super().__init__(query, shortcuts, conf, engine)
        self._sources = frozenset(sources)
        self._answers = answers

    def look(self, view: tuple[str, ...], state: tuple[str, ...]) -> None:
        """Ask now what is to be known of a maintained model as it is.

        It is asked by the full names, as the planner has them.
        """
        catalog, _ = self.namespace()
        spaces = () if catalog.lower() == SESSION_CATALOG else (catalog,)
        view, state = (*spaces, *view), (*spaces, *state)
        self.definition(view)
        self.columns(view)
        self.history(state, 1)
        self.columns(state)

    def history(self, parts: tuple[str, ...], limit: int | None) -> Sequence[Commit] | None:
        """A table's commits; of a source as of the run's first question."""
        ask = super().history
        if not self.is_source(parts):
            return ask(parts, limit)
        return self._answers.history(parts, limit, lambda most: ask(parts, most))

    def columns(self, parts: tuple[str, ...]) -> Mapping[str, str] | None:
        """A relation's columns and types; of a source asked once."""
        return self._once(parts, "columns", super().columns)

    def properties(self, parts: tuple[str, ...]) -> Mapping[str, str]:
        """A Delta table's properties; of a source asked once."""
        return self._once(parts, "properties", super().properties)

    def detail(self, parts: tuple[str, ...]) -> Detail | None:
        """A Delta table's newest version; of a source as of the run's first question."""
        ask = super().detail
        if not self.is_source(parts):
            return ask(parts)
        return self._answers.detail(parts, lambda: ask(parts))

    def files(self, parts: tuple[str, ...]) -> Sequence[DataFile] | None:
        """A Delta table's files; of a source asked once."""
        return self._once(parts, "files", super().files)

    def definition(self, parts: tuple[str, ...]) -> View | None:
        """A view; of a source asked once."""
        return self._once(parts, "definition", super().definition)

    def enable_change_feed(self, parts: tuple[str, ...]) -> None:
        """Switch a source's change feed on, which is a commit."""
        super().enable_change_feed(parts)
        if self._shortcuts:
            self._shortcuts.forget(parts)
        self._answers.forget(parts)

    def _once(self, parts: tuple[str, ...], question: str, ask: Callable[[Any], T]) -> T:
        if not self.is_source(parts):
            return ask(parts)
        return self._answers.other(parts, question, lambda: ask(parts))

    def is_source(self, parts: tuple[str, ...]) -> bool:
        """Whether the run sees one version of a table."""
        return len(parts) > 1 and tuple(part.lower() for part in parts[-2:]) in self._sources


def of_server(value: Any) -> Any:
    """A value as a Thrift server or ODBC sends it: times are the session's, and do not say so.

    They are known again whatever the client's time zone; with another one of the session's a query
    is another query anyway.
    """
    naive = isinstance(value, dt.datetime) and value.tzinfo is None
    return value.replace(tzinfo=dt.timezone.utc) if naive else value


def _function_names(rows: list[Row]) -> list[str]:
    return [row["function"].split(".")[-1].strip("`").lower() for row in rows]


def _commit(row: Row) -> Commit:
    parameters = _map(row.get("operationParameters"))
    return Commit(
        version=int(row["version"]),
        timestamp=_timestamp(row["timestamp"]),
        operation=str(row.get("operation")),
        mode=str(parameters.get("mode") or parameters.get("outputMode") or ""),
        metrics=_map(row.get("operationMetrics")),
        user_metadata=row.get("userMetadata"),
        new_schema=_new_schema(row, parameters),
        feed=_feed(
            str(row.get("operation")),
            f"{parameters.get('properties')} {row.get('operationParameters')}",
        ),
    )


def _new_schema(row: Row, parameters: Mapping[str, Any]) -> bool | None:
    """Whether a write may have changed columns or partitions; None if partitions tell.

    Delta logs since 4.1 that it may have; older ones, and other writers, do not. A refresh never
    does it; nor does a write that replaces what a predicate says.
    """
    allowed = parameters.get("canOverwriteSchema")
    delta = _DELTA.search(str(row.get("engineInfo")))
    logs = delta is not None and (int(delta[1]), int(delta[2])) >= _LOGS_NEW_SCHEMAS
    if allowed is not None or (logs and "mode" in parameters):
        return str(allowed).lower() == "true"
    overwrites = (parameters.get("mode") or parameters.get("outputMode")) in _OVERWRITES
    predicate = parameters.get("predicate") or _NONE
    if not overwrites or predicate != _NONE or is_bookmark(row.get("userMetadata")):
        return False
    return None if parameters.get("partitionBy") == _NONE else True


def _feed(operation: str, properties: str) -> bool | None:
    """Whether a commit switched the change feed on or off, by the properties that it set."""
    if not operation.endswith("SET TBLPROPERTIES") or CHANGE_FEED not in properties:
        return None
    return operation.startswith("SET") and _ON.search(properties) is not None


def _file(row: Row) -> DataFile:
    told = json.loads(row["stats"] or "{}")
    return DataFile(
        told.get("numRecords"), told.get("minValues") or {}, told.get("maxValues") or {}
    )


def _map(value: Any) -> dict[str, Any]:
    """A column of type map; a Thrift server sends it as text, whose texts it does not escape."""
    if not isinstance(value, str):
        return dict(value or {})
    try:
        return dict(json.loads(value))
    except ValueError:
        return dict(_PAIR.findall(value))


def _timestamp(value: Any) -> str:
    """A commit's time in milliseconds, whatever the time zone of the session that asks."""
    if isinstance(value, dt.datetime):
        return str(round(value.timestamp() * 1000))
    return str(value)
