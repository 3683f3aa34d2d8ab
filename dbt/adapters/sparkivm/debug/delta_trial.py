"""Does Delta work there? Tried on a small table, which is gone afterwards."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.sparkivm.bridge.conf import USER_METADATA, Conf, only_now
from dbt.adapters.sparkivm.connection.delta_jar import any_package
from dbt.adapters.sparkivm.connection.settings import (
    DELTA_CATALOG,
    DELTA_EXTENSION,
    EXTENSIONS,
    PACKAGES,
)
from dbt.adapters.sparkivm.log import warn
from python_ivm.parse.parser import quoted_name
from python_ivm.render.sources import string

Query = Callable[[str], list[dict[str, Any]]]

_VERSION = re.compile(r"Delta-Lake/(\S+)")

_CREATE = (
    "CREATE TABLE {table} (id INT, word STRING) USING delta "
    "TBLPROPERTIES (delta.enableChangeDataFeed = true)"
)
_INSERT = "INSERT INTO {table} VALUES (1, 'one'), (2, 'two')"
_MERGE = (
    "MERGE INTO {table} AS stored USING (SELECT 1 AS id, 'uno' AS word UNION ALL "
    "SELECT 3 AS id, 'tre' AS word) AS change ON stored.id = change.id "
    "WHEN MATCHED THEN UPDATE SET word = change.word "
    "WHEN NOT MATCHED THEN INSERT (id, word) VALUES (change.id, change.word)"
)
_FEED = "SELECT id, word, _change_type FROM table_changes('{table}', 2, 2)"
_CHANGED = {(1, "one", "update_preimage"), (1, "uno", "update_postimage"), (3, "tre", "insert")}
_OLD = "SELECT id, word FROM {table} VERSION AS OF 1"
_BEFORE = {(1, "one"), (2, "two")}

_NO_DELTA = re.compile(
    r"DATA_SOURCE_NOT_FOUND|Failed to find data source: delta"
    r"|DELTA_CONFIGURE_SPARK_SESSION_WITH_EXTENSION_AND_CATALOG"
)


def try_delta(query: Query, conf: Conf, schema: str) -> str:
    """Create a table, change it, read its change feed and an old version, and drop it.

    Args:
        query: Runs a statement and gives its rows.
        conf: The session's settings.
        schema: Where; if it does not exist, it is made and dropped, too.

    Returns:
        Delta's version, or the engine's where that has its own.

    Raises:
        DbtRuntimeError: What does not work, why, and what to do.
    """
    with _schema(query, schema), _table(query, schema) as table:

        def step(what: str, sql: str) -> list[dict[str, Any]]:
            with _failing(what, schema):
                return query(sql.format(table=table))

        step("create a Delta table", _CREATE)
        step("insert rows into a Delta table", _INSERT)
        with only_now(conf, {USER_METADATA: table}):
            step("MERGE into a Delta table", _MERGE)
        told = step("read the history of a Delta table", "DESCRIBE HISTORY {table} LIMIT 1")[0]
        changed = step("read a change feed", _FEED)
        before = step("read an old version of a Delta table", _OLD)
    _check(told["userMetadata"] == table, "a commit does not keep its user metadata")
    _check(_rows(changed) == _CHANGED, f"a change feed shows {sorted(_rows(changed))}")
    _check(_rows(before) == _BEFORE, f"an old version shows {sorted(_rows(before))}")
    engine = str(told.get("engineInfo") or "unknown")
    found = _VERSION.search(engine)
    return found[1] if found else engine


def _rows(rows: list[dict[str, Any]]) -> set[tuple[Any, ...]]:
    return {tuple(row.values()) for row in rows}


def _check(holds: bool, otherwise: str) -> None:
    if not holds:
        raise DbtRuntimeError(
            f"Delta does not work as maintained models need it: {otherwise}. Is the catalog "
            f"another one than {DELTA_CATALOG}?"
        )


@contextmanager
def _failing(what: str, schema: str) -> Generator[None, None, None]:
    """Say of an error what it was that failed."""
    try:
        yield
    except DbtRuntimeError as error:
        text = error.msg
        if _NO_DELTA.search(text):
            advice = (
                "This Spark was started without Delta. Start it with "
                f"{PACKAGES}={any_package()}, {EXTENSIONS}={DELTA_EXTENSION} and "
                f"spark.sql.catalog.spark_catalog={DELTA_CATALOG}."
            )
        else:
            advice = f"dbt needs to be able to {what} in the schema {schema}."
        raise DbtRuntimeError(f"To {what} failed: {text}\n{advice}") from error


@contextmanager
def _schema(query: Query, schema: str) -> Generator[None, None, None]:
    """Make the schema for a while, if it does not exist."""
    name = quoted_name((schema,))
    exists = bool(query(f"SHOW SCHEMAS LIKE {string(schema)}"))
    if not exists:
        with _failing("create a schema", schema):
            query(f"CREATE SCHEMA {name}")
    try:
        yield
    finally:
        if not exists:
            _tidy(query, f"DROP SCHEMA IF EXISTS {name}")


@contextmanager
def _table(query: Query, schema: str) -> Generator[str, None, None]:
    """A name for a table that is dropped in the end."""
    table = quoted_name((schema, f"dbt_sparkivm_debug_{uuid.uuid4().hex[:8]}"))
    try:
        yield table
    finally:
        _tidy(query, f"DROP TABLE IF EXISTS {table}")


def _tidy(query: Query, statement: str) -> None:
    """Clean up; where that fails, the user has to."""
    try:
        query(statement)
    except DbtRuntimeError as error:
        warn(f"dbt debug left something behind ({error.msg.splitlines()[0]}); run {statement}")
