"""What `dbt debug` tries and advises, without a Spark."""

from __future__ import annotations

from typing import Any

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.sparkivm import SparkIvmCredentials
from dbt.adapters.sparkivm.debug import delta_trial
from dbt.adapters.sparkivm.debug import report as debug
from dbt.adapters.sparkivm.debug.delta_trial import try_delta
from dbt.adapters.sparkivm.debug.report import Facts, advice, examine

Row = dict[str, Any]

NO_DELTA = "[DATA_SOURCE_NOT_FOUND] Failed to find the data source: delta."
FEED = [
    {"id": 1, "word": "one", "_change_type": "update_preimage"},
    {"id": 1, "word": "uno", "_change_type": "update_postimage"},
    {"id": 3, "word": "tre", "_change_type": "insert"},
]


class Engine:
    """Answers as Spark does; statements that start so fail with this message."""

    def __init__(self, failing: str = "", message: str = "", schema_exists: bool = True) -> None:
        self.failing = failing
        self.message = message
        self.schema_exists = schema_exists
        self.feed = FEED
        self.ran: list[str] = []
        self.values: dict[str, str] = {}

    def query(self, sql: str) -> list[Row]:
        self.ran.append(sql)
        if self.failing and sql.startswith(self.failing):
            raise DbtRuntimeError(self.message)
        if sql.startswith("SHOW SCHEMAS"):
            return [{"namespace": "shop"}] if self.schema_exists else []
        if sql.startswith("DESCRIBE HISTORY"):
            engine = "Apache-Spark/4.2.0 Delta-Lake/4.4.0"
            return [{"engineInfo": engine, "userMetadata": self.metadata}]
        if "table_changes" in sql:
            return self.feed
        if "VERSION AS OF" in sql:
            return [{"id": 1, "word": "one"}, {"id": 2, "word": "two"}]
        if sql == "SELECT version() AS spark":
            return [{"spark": "4.2.0 1ff1f77c"}]
        if "java_method" in sql:
            return [{"java": "17.0.15"}]
        if sql.startswith("MERGE"):
            self.metadata = self.get(delta_trial.USER_METADATA)
        return []

    def get(self, key: str) -> str:
        return self.values.get(key, "<undefined>")

    def set(self, key: str, value: str) -> None:
        self.values[key] = value

    def reset(self, key: str) -> None:
        del self.values[key]


def starts(engine: Engine) -> list[str]:
    return [" ".join(sql.split()[:2]) for sql in engine.ran]


def credentials(**profile: Any) -> SparkIvmCredentials:
    return SparkIvmCredentials.from_dict({"schema": "shop", **profile})


def test_delta_is_tried_and_nothing_stays() -> None:
    engine = Engine()
    assert try_delta(engine.query, engine, "shop") == "4.4.0"
    created = next(sql for sql in engine.ran if sql.startswith("CREATE TABLE"))
    assert engine.ran[-1] == f"DROP TABLE IF EXISTS {created.split()[2]}"
    assert "CREATE SCHEMA" not in starts(engine) and "DROP SCHEMA" not in starts(engine)
    assert engine.values == {}


def test_a_schema_that_is_not_there_is_made_and_dropped() -> None:
    engine = Engine(schema_exists=False)
    try_delta(engine.query, engine, "shop")
    assert starts(engine)[1] == "CREATE SCHEMA"
    assert starts(engine)[-2:] == ["DROP TABLE", "DROP SCHEMA"]


@pytest.mark.parametrize(
    ("failing", "told"),
    [
        ("CREATE TABLE", "To create a Delta table failed"),
        ("INSERT", "To insert rows into a Delta table failed"),
        ("MERGE", "To MERGE into a Delta table failed"),
        ("DESCRIBE HISTORY", "To read the history of a Delta table failed"),
        ("SELECT id, word, _change_type", "To read a change feed failed"),
        ("SELECT id, word FROM", "To read an old version of a Delta table failed"),
    ],
)
def test_what_fails_is_named_and_the_table_is_dropped_all_the_same(failing: str, told: str) -> None:
    engine = Engine(failing, "no permission")
    with pytest.raises(DbtRuntimeError, match=told) as caught:
        try_delta(engine.query, engine, "shop")
    assert "no permission" in caught.value.msg
    assert "dbt needs to be able to" in caught.value.msg
    assert starts(engine)[-1] == "DROP TABLE"


def test_a_spark_without_delta_is_to_be_started_with_it() -> None:
    engine = Engine("CREATE TABLE", NO_DELTA)
    with pytest.raises(DbtRuntimeError) as caught:
        try_delta(engine.query, engine, "shop")
    assert "spark.jars.packages=io.delta:delta-spark_" in caught.value.msg
    assert "spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension" in caught.value.msg


def test_a_feed_that_shows_something_else_does_not_pass() -> None:
    engine = Engine()
    engine.feed = FEED[:2]
    with pytest.raises(DbtRuntimeError, match="a change feed shows"):
        try_delta(engine.query, engine, "shop")


def test_what_cannot_be_dropped_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(delta_trial, "warn", told.append)
    engine = Engine("DROP TABLE", "locked")
    assert try_delta(engine.query, engine, "shop") == "4.4.0"
    assert "run DROP TABLE IF EXISTS" in told[0]


def test_what_is_shown(said: list[str]) -> None:
    engine = Engine()
    engine.values = {
        "spark.sql.warehouse.dir": "s3a://lake/warehouse",
        "spark.hadoop.hive.metastore.uris": "thrift://far:9083",
        "spark.sql.ansi.enabled": "false",
    }
    examine(engine.query, lambda: engine, credentials(master="spark://far:7077"))
    shown = dict(line.strip().split(": ", 1) for line in said if ": " in line)
    assert shown["spark"] == "4.2.0" and shown["java"] == "17.0.15"
    assert shown["warehouse"] == "s3a://lake/warehouse"
    assert shown["metastore"] == "thrift://far:9083"
    assert shown["spark.sql.ansi.enabled"] == "false"
    assert shown["spark.sql.session.timeZone"] == "not told"
    assert shown["delta"].startswith("4.4.0; MERGE, change feed and time travel work")
    assert {"pyspark", "sqlglot"} <= shown.keys()


def test_versions_are_shown_though_there_is_no_connection(said: list[str]) -> None:
    def refuse(sql: str) -> list[Row]:
        raise DbtRuntimeError("nobody is there")

    with pytest.raises(DbtRuntimeError, match="nobody"):
        examine(refuse, Engine, credentials())
    assert [line.split(":")[0].strip() for line in said] == ["pyspark", "sqlglot"]


def test_an_engine_that_refuses_java_is_no_error(said: list[str]) -> None:
    engine = Engine("SELECT java_method", "not allowed")
    examine(engine.query, lambda: engine, credentials(master="yarn"))
    assert "  java: not told" in said


@pytest.mark.parametrize(
    ("profile", "facts", "told"),
    [
        ({}, Facts("4.2.0", "4.2.0", False), "resident: true"),
        ({"master": "yarn"}, Facts("4.2.0", "4.2.0", False), None),
        ({"method": "connect"}, Facts("4.2.0", "4.2.0", False), None),
        ({"method": "connect"}, Facts("4.1.0", "4.2.0", False), "PySpark is 4.2.0, Spark is 4.1.0"),
        ({"master": "yarn"}, Facts("4.2.0", "4.2.0", True), "spark.sql.catalogImplementation"),
    ],
)
def test_advice(profile: dict[str, Any], facts: Facts, told: str | None) -> None:
    found = list(advice(credentials(**profile), facts))
    assert len(found) == (told is not None)
    assert told is None or told in found[0]


def test_a_package_that_is_not_there() -> None:
    assert debug.installed("no-such-package") == "not installed"
