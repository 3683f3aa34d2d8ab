"""Maintained views on a real Spark without dbt around them: what a dbt run does, in a second."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import Any

from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.sparkivm.bridge.conf import StatementConf
from dbt.adapters.sparkivm.bridge.delta_log import DeltaLogs
from dbt.adapters.sparkivm.bridge.refresher import Outcome, Refresher
from dbt.adapters.sparkivm.bridge.warehouse import Row, Shortcuts, SparkWarehouse
from dbt.adapters.sparkivm.connection.session import SessionHandle
from python_ivm.loops.run import Ask
from python_ivm.refresh.consistency import consistency_query
from python_ivm.refresh.metadata.versions import shows_state
from python_ivm.refresh.options import Options
from python_ivm.refresh.request import Request

FEED = "tblproperties (delta.enableChangeDataFeed = true)"
SETTINGS = ("spark.sql.ansi.enabled", "spark.sql.session.timeZone", "spark.sql.caseSensitive")


class Bench:
    """One Spark session in a schema of its own, and the views that a test maintains in it."""

    def __init__(self, new_session: Callable[[], Any], schema: str) -> None:
        self.schema = schema
        self.new_session = new_session
        self.handle = SessionHandle(new_session())
        self.sql(f"create schema if not exists {schema}", f"use {schema}")
        self.views: list[View] = []

    def sql(self, *statements: str) -> list[Any]:
        """Run statements; the rows of the last one."""
        found: list[Any] = []
        for statement in statements:
            found = self.handle.session.sql(statement).collect()
        return found

    def query(self, sql: str) -> list[Row]:
        """Run a statement as the adapter does, with its errors."""
        return query(self.handle, sql)

    def knows(self, sql: str) -> bool:
        """Whether this Spark can run a query, which need not be true of each of its releases."""
        try:
            self.sql(sql)
        except Exception:
            return False
        return True

    def table(self, name: str, columns: str, *rows: str, feed: bool = True) -> None:
        """Create a Delta table and insert rows, given as tuples in SQL."""
        self.sql(f"create table {name} ({columns}) using delta {FEED if feed else ''}")
        if rows:
            self.sql(f"insert into {name} values {', '.join(rows)}")

    def view(self, sql: str, **options: Any) -> View:
        """Build a maintained view."""
        view = View(self, f"m{len(self.views) + 1}", sql, options)
        self.views.append(view)
        assert view.refresh("full").refresh.reason == "FIRST_BUILD"
        return view

    def refresh(self, strategy: str | None = "incremental") -> None:
        """Refresh all views, and compare each with its query."""
        for view in self.views:
            view.refresh(strategy)

    def history(self, table: str) -> list[Row]:
        """A table's commits, newest first."""
        return self.query(f"describe history {table}")


@dataclass
class View:
    """A maintained view."""

    bench: Bench
    name: str
    sql: str
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def state(self) -> str:
        """The state table's name."""
        return f"{self.name}__ivm_state"

    def request(self, **changes: Any) -> Request:
        """What dbt would ask of the planner."""
        given = {**self.options, **changes}
        full_refresh = given.pop("full_refresh", None)
        schema = self.bench.schema
        view = SparkWarehouse(self.bench.query).definition((schema, self.name))
        text = view.text if view is not None else None
        settings = {key: self.bench.query(f"set {key}")[0]["value"] for key in SETTINGS}
        return Request(
            self.name,
            given.pop("sql", self.sql),
            view=(schema, self.name),
            state=(schema, self.state),
            options=Options.of(given),
            settings=settings,
            full_refresh=full_refresh,
            view_exists=text is not None and shows_state(text, self.state),
            view_text=text,
        )

    def run(self, **changes: Any) -> Outcome:
        """Refresh once, as a dbt run would."""
        logs = DeltaLogs(self.bench.handle)
        tuples = partial(tuples_of, self.bench.handle)
        return refresher(self.bench.query, logs, tuples).refresh(self.request(**changes))

    def refresh(self, strategy: str | None = "incremental", **changes: Any) -> Outcome:
        """Refresh once; the strategy must be this one, and the view then equals its query."""
        if "sql" in changes:
            self.sql = changes["sql"]
        outcome = self.run(**changes)
        told = f"{outcome.refresh.reason}: {outcome.refresh.explanation}"
        if strategy is not None:
            assert outcome.refresh.strategy.value == strategy, told
        self.check()
        return outcome

    def check(self) -> None:
        """Fail unless the view equals its query: rows, column names and types.

        Of several results that the query has, the view must show the one that the planner gives.
        """
        shown, query = map(self.bench.handle.session.sql, (f"select * from {self.name}", self.sql))
        assert shown.dtypes == query.dtypes
        actual, expected = bag(shown.collect()), bag(query.collect())
        missing, excess = list((expected - actual).elements()), list((actual - expected).elements())
        for row in list(missing):
            close = next((other for other in excess if _close(row, other)), None)
            if close is not None:
                missing.remove(row)
                excess.remove(close)
        if missing or excess:
            told = f"missing {missing}, too many {excess}: {self.sql}"
            warehouse = SparkWarehouse(self.bench.query)
            differing = consistency_query((self.bench.schema, self.name), warehouse)
            assert not self.bench.sql(differing), told

    def rows(self) -> list[tuple[Any, ...]]:
        """The view's rows, sorted."""
        found = self.bench.sql(f"select * from {self.name}")
        return sorted((tuple(row) for row in found), key=repr)


def refresher(
    query: Callable[[str], list[Row]],
    shortcuts: Shortcuts | None = None,
    tuples: Ask | None = None,
) -> Refresher:
    """A refresher that drops no table."""
    warehouse = SparkWarehouse(query, shortcuts)
    return Refresher(query, StatementConf(query), warehouse, lambda: None, tuples=tuples)


def query(handle: SessionHandle, sql: str) -> list[Row]:
    """A statement's rows, as the adapter reads them."""
    cursor = handle.cursor()
    cursor.execute(sql)
    names = [column[0] for column in cursor.description or []]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()] if names else []


def tuples_of(handle: SessionHandle, sql: str) -> Iterable[Sequence[Any]]:
    """The values of a query of many rows, as the adapter reads them."""
    cursor = handle.cursor()
    cursor.execute(sql)
    return cursor.fetch_tuples()


def failing(
    query: Callable[[str], list[Row]], before: str = "", after: str = "", message: str = "killed"
) -> Callable[[str], list[Row]]:
    """A query function whose process dies before, or after, statements that start so."""

    def run(sql: str) -> list[Row]:
        start = sql.lstrip()
        if before and start.startswith(before):
            raise DbtRuntimeError(message)
        rows = query(sql)
        if after and start.startswith(after):
            raise DbtRuntimeError(message)
        return rows

    return run


def bag(rows: list[Any]) -> Counter[tuple[Any, ...]]:
    """Rows with their multiplicities."""
    return Counter(tuple(_plain(value) for value in row) for row in rows)


def _plain(value: Any) -> Any:
    """A value that can be counted; NaN equals itself."""
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, Decimal):
        return ("decimal", str(value))
    if isinstance(value, (list, tuple)):
        return tuple(_plain(v) for v in value)
    if isinstance(value, Mapping):
        return tuple(sorted((repr(k), _plain(v)) for k, v in value.items()))
    if isinstance(value, bytearray):
        return bytes(value)
    if type(value).__name__ == "VariantVal":  # which PySpark 3.5 has not
        return ("variant", str(value))
    return value


def _close(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Whether rows differ only by the last digits of floating numbers."""
    return all(
        x == y or (isinstance(x, float) and isinstance(y, float) and math.isclose(x, y))
        for x, y in zip(one, other, strict=True)
    )
