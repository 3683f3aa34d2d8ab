"""Answers the planner's questions about tables by metadata queries."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dbt_common.exceptions import DbtRuntimeError

from python_ivm.refresh.emit import quoted_name
from python_ivm.refresh.sources import CHANGE_FEED
from python_ivm.sources.history import Commit

Row = dict[str, Any]
Query = Callable[[str], list[Row]]

_MISSING = ("TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND", "DELTA_TABLE_NOT_FOUND", "DELTA_MISSING")
_NOT_DELTA = (
    "DELTA_TABLE_ONLY_OPERATION",
    "DELTA_ONLY_OPERATION",
    "EXPECT_TABLE_NOT_VIEW",
    "EXPECT_PERMANENT_TABLE_NOT_TEMP",
    "is not a Delta table",
    "UNSUPPORTED_FEATURE.TABLE_OPERATION",
)


class SparkWarehouse:
    """The planner's warehouse, on a dbt connection.

    Args:
        query: Runs a statement and gives its rows, as dicts by column name.
    """

    def __init__(self, query: Query) -> None:
        """Take what runs statements."""
        self._query = query

    def history(self, parts: tuple[str, ...], limit: int | None) -> Sequence[Commit] | None:
        """A table's commits, newest first; None if it is missing or not a Delta table."""
        most = "" if limit is None else f" LIMIT {limit}"
        rows = self._ask(f"DESCRIBE HISTORY {quoted_name(parts)}{most}", *_MISSING, *_NOT_DELTA)
        return None if rows is None else [_commit(row) for row in rows]

    def columns(self, parts: tuple[str, ...]) -> Mapping[str, str] | None:
        """A relation's columns and types; None if it is missing."""
        rows = self._ask(f"DESCRIBE TABLE {quoted_name(parts)}", *_MISSING)
        if rows is None:
            return None
        columns: dict[str, str] = {}
        for row in rows:
            if not row["col_name"] or row["col_name"].startswith("#"):
                break
            columns[row["col_name"]] = row["data_type"]
        return columns

    def properties(self, parts: tuple[str, ...]) -> Mapping[str, str]:
        """A Delta table's properties."""
        rows = self._query(f"SHOW TBLPROPERTIES {quoted_name(parts)}")
        return {row["key"]: row["value"] for row in rows}

    def view_text(self, parts: tuple[str, ...]) -> str | None:
        """A view's query."""
        rows = self._ask(f"DESCRIBE TABLE EXTENDED {quoted_name(parts)}", *_MISSING) or []
        return next((row["data_type"] for row in rows if row["col_name"] == "View Text"), None)

    def describe(self, sql: str) -> Sequence[tuple[str, str]]:
        """Names and types of a query's columns, without running it."""
        rows = self._query(f"DESCRIBE QUERY {sql.strip().rstrip(';')}")
        return [(row["col_name"], row["data_type"]) for row in rows]

    def enable_change_feed(self, parts: tuple[str, ...]) -> None:
        """Switch a source's change feed on, unless another model's thread has just done so."""
        try:
            self._query(
                f"ALTER TABLE {quoted_name(parts)} SET TBLPROPERTIES ({CHANGE_FEED} = true)"
            )
        except DbtRuntimeError:
            if self.properties(parts).get(CHANGE_FEED) != "true":
                raise

    def _ask(self, sql: str, *absent: str) -> list[Row] | None:
        """A query's rows; None if its error says that there is no such thing."""
        try:
            return self._query(sql)
        except DbtRuntimeError as error:
            if any(sign in str(error) for sign in absent):
                return None
            raise


def _commit(row: Row) -> Commit:
    parameters = dict(row.get("operationParameters") or {})
    return Commit(
        version=int(row["version"]),
        timestamp=_timestamp(row["timestamp"]),
        operation=str(row["operation"]),
        mode=str(parameters.get("mode", "")),
        metrics=dict(row.get("operationMetrics") or {}),
        user_metadata=row.get("userMetadata"),
    )


def _timestamp(value: Any) -> str:
    """A commit's time in milliseconds, whatever the time zone of the session that asks."""
    if isinstance(value, dt.datetime):
        return str(round(value.timestamp() * 1000))
    return str(value)
