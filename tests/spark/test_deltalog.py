"""What a table's log tells is what Delta's own statements tell; or it is left to them."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from dbt.adapters.sparkivm.bridge.conf import SessionConf, only_now
from dbt.adapters.sparkivm.bridge.delta_log import DeltaLogs
from dbt.adapters.sparkivm.bridge.warehouse import SparkWarehouse
from tests.spark.workbench import FEED, Bench

OTHER = {
    "": "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog",
    ".url": "jdbc:derby:memory:other;create=true",
    ".driver": "org.apache.derby.iapi.jdbc.AutoloadedDriver",
}
ICT = "tblproperties (delta.enableInCommitTimestamps = true)"


@pytest.fixture
def logs(bench: Bench) -> DeltaLogs:
    """The logs of the bench's session."""
    return DeltaLogs(bench.handle)


@pytest.fixture
def name(bench: Bench) -> tuple[str, str]:
    """The name of the table that is asked about."""
    return bench.schema, "t"


def folder(bench: Bench) -> Path:
    """Where its log lies."""
    (row,) = bench.query("describe detail t")
    return Path(row["location"].removeprefix("file:")) / "_delta_log"


def jobs(bench: Bench) -> int:
    """How many jobs there were so far."""
    store = bench.handle.session.sparkContext._jsc.sc().statusStore()
    return int(store.jobsList(None).size())


def test_the_namespace_is_told_without_a_statement(bench: Bench, logs: DeltaLogs) -> None:
    def refuse(sql: str) -> list[object]:
        raise AssertionError(sql)

    (row,) = bench.query("show current namespace")
    assert logs.namespace() == (row["catalog"], row["namespace"])
    assert SparkWarehouse(refuse, logs).namespace() == (row["catalog"], row["namespace"])


def test_all_settings_come_whole_in_pieces(bench: Bench) -> None:
    """A text of several pieces, with characters of several bytes."""
    settings = SessionConf(bench.handle)
    value = "é = a -> b 🚲 " * 999
    with only_now(settings, {"sparkivm.test": value}):
        every = settings.every_given()
        assert every["sparkivm.test"] == value
        assert every.keys() == {row["key"] for row in bench.query("set")}  # which hides values
    assert "sparkivm.test" not in settings.every_given()


def test_a_view_has_no_history_and_needs_no_statement(
    bench: Bench, logs: DeltaLogs, name: tuple[str, str]
) -> None:
    bench.table("u", "k int", "(1)")
    bench.sql("create view t as select k from u")
    assert logs.history(name, 8) == []
    assert logs.detail(name) is None

    def refuse(sql: str) -> list[object]:
        raise AssertionError(sql)

    assert SparkWarehouse(refuse, logs).history(name, 8) is None
    bench.sql("drop view t")
    assert logs.history(name, 8) is None


def test_commits_of_all_kinds(bench: Bench, logs: DeltaLogs, name: tuple[str, str]) -> None:
    bench.table("t", "k int, v string", "(1, 'a')", "(2, 'ü')")
    metadata = "spark.databricks.delta.commitInfo.userMetadata"
    bench.handle.session.conf.set(metadata, "b\nü")
    bench.sql("update t set v = 'c' where k = 1", f"reset {metadata}")
    bench.sql(
        "delete from t where k = 2",
        "merge into t using (select 3 as k, 'd' as v) s on s.k = t.k "
        "when not matched then insert *",
        "alter table t set tblproperties (a = 'b')",
        "alter table t add columns (w int)",
        "optimize t",
        "insert overwrite t values (7, 'e', 1)",
        "create or replace table t using delta as select 1 as k",
    )
    by_log, by_sql = SparkWarehouse(bench.query, logs), SparkWarehouse(bench.query)
    expected = by_sql.history(name, None)
    assert expected is not None
    assert {c.operation for c in expected} >= {"MERGE", "UPDATE", "DELETE", "WRITE", "ADD COLUMNS"}
    assert "b\nü" in {c.user_metadata for c in expected}
    for limit in (1, 3, len(expected), 20):
        assert logs.history(name, limit) is not None
        assert by_log.history(name, limit) == expected[:limit]
    assert logs.detail(name) is not None
    told = by_sql.detail(name)
    assert told is not None
    assert by_log.detail(name) == replace(told, version=expected[0].version)
    assert by_log.history(("spark_catalog", *name), 1) == expected[:1]


def test_the_least_and_greatest_values_of_each_file(
    bench: Bench, logs: DeltaLogs, name: tuple[str, str]
) -> None:
    bench.table("t", "k int, d date, v string, n bigint", "(1, '2024-05-01', 'a', -7)")
    rows = "(3, null, 'b', 5), (9, date '2023-01-01', null, 6)"
    bench.sql(f"insert into t select /*+ coalesce(1) */ * from values {rows}")
    warehouse = SparkWarehouse(bench.query, logs)
    before = jobs(bench)
    found = warehouse.files(name)
    assert found is not None
    one, two = sorted(found, key=lambda file: str(file.lowest["k"]))
    assert (one.lowest["d"], one.highest["d"], one.highest["n"]) == (
        "2024-05-01",
        "2024-05-01",
        -7,
    )
    assert (two.lowest["k"], two.highest["k"], two.lowest["n"]) == (3, 9, 5)
    assert jobs(bench) == before
    bench.sql("delete from t where k = 1")
    assert len(warehouse.files(name) or ()) == 1
    bench.sql("alter table t set tblproperties (delta.dataSkippingNumIndexedCols = 0)")
    bench.sql("insert overwrite t values (3, null, 'b', 5)")
    assert [(file.lowest, file.highest) for file in warehouse.files(name) or ()] == [({}, {})]
    assert SparkWarehouse(bench.query).files(name) is None
    bench.sql("create or replace view s as select 1 as k")
    assert warehouse.files((name[0], "s")) is None


def test_a_commit_by_another_process_is_seen(
    bench: Bench, logs: DeltaLogs, name: tuple[str, str]
) -> None:
    bench.table("t", "k int", "(1)")
    (before,) = logs.history(name, 1) or []
    newest = folder(bench) / f"{before['version']:020d}.json"
    copy = newest.with_name(f"{before['version'] + 1:020d}.json")
    copy.write_text(newest.read_text())
    (after,) = logs.history(name, 1) or []
    assert after["version"] == before["version"] + 1


@pytest.mark.parametrize(
    "lines",
    [
        ['{"commitInfo":{"timestamp":1}}', '{"txn":{"appId":"a","version":1}}'],
        ['{"txn":{"appId":"a","version":1}}', '{"commitInfo":{"operation":"WRITE"}}'],
        ['{"txn":{"appId":"a","version":1}}'],
        ['{"commitInfo":{"operation":"WRITE","operationParameters":{"mode":"Append"},'
         '"operationMetrics":{"numOutputRows":2}}}'],
    ],
    ids=["no operation", "not first", "none", "numbers"],
)  # fmt: skip
def test_commits_of_other_writers(
    bench: Bench, logs: DeltaLogs, name: tuple[str, str], lines: list[str]
) -> None:
    bench.table("t", "k int", "(1)")
    (folder(bench) / f"{2:020d}.json").write_text("\n".join(lines) + "\n")
    by_log = SparkWarehouse(bench.query, logs).history(name, 3)
    by_sql = SparkWarehouse(bench.query).history(name, 3)
    assert by_log is not None and by_sql is not None
    told = [[(c.version, c.timestamp, c.operation, c.change, c.rows) for c in commits]
            for commits in (by_log, by_sql)]  # fmt: skip
    assert told[0] == told[1] and len(told[0]) == 3


@pytest.mark.parametrize(
    "make",
    [
        f"create table t (k int) using delta {ICT}",
        "create table t (k int) using parquet",
        "create temporary view t as select 1 as k",
        "select 1",
    ],
    ids=["own times", "no delta", "temporary view", "missing"],
)
def test_what_is_no_usual_delta_table_is_left_to_sql(
    bench: Bench, logs: DeltaLogs, name: tuple[str, str], make: str
) -> None:
    bench.sql(make)
    assert logs.history(name, 1) is None


@pytest.mark.parametrize("moved", [0, -60])
def test_times_that_delta_moves_are_left_to_sql(
    bench: Bench, logs: DeltaLogs, name: tuple[str, str], moved: int
) -> None:
    """Delta gives each commit a time after the one before it."""
    bench.table("t", "k int", "(1)")
    log = folder(bench)
    first = (log / f"{0:020d}.json").stat().st_mtime_ns
    second = first + moved * 10**9
    os.utime(log / f"{1:020d}.json", ns=(second, second))
    assert logs.history(name, 2) is None
    assert [c.version for c in SparkWarehouse(bench.query, logs).history(name, 2) or []] == [1, 0]


def test_commits_that_the_log_forgot_are_left_to_sql(
    bench: Bench, logs: DeltaLogs, name: tuple[str, str]
) -> None:
    bench.table("t", "k int", *(f"({k})" for k in range(3)))
    for k in range(11):
        bench.sql(f"insert into t values ({k})")
    (folder(bench) / f"{0:020d}.json").unlink()
    assert len(logs.history(name, 5) or []) == 5
    assert logs.history(name, 13) is None
    assert logs.history(name, 100) is None
    assert logs.history(name, None) is None


def test_a_table_of_another_catalog_is_left_to_sql(
    bench: Bench, logs: DeltaLogs, name: tuple[str, str]
) -> None:
    bench.sql(f"create table t using delta {FEED} as select 1 as k")
    assert logs.history(name, 1) is not None
    assert logs.history(("other", bench.schema, "t"), 1) is None
    for key, value in OTHER.items():
        bench.handle.session.conf.set(f"spark.sql.catalog.other{key}", value)
    bench.sql("use other")
    assert logs.history(name, 1) is None


def test_a_folder_of_delta_under_a_table_of_another_format_is_left_to_sql(
    bench: Bench, logs: DeltaLogs
) -> None:
    bench.table("t", "k int", "(1)")
    (told,) = bench.query("describe detail t")
    bench.sql(f"create table p (k int) using parquet location '{told['location']}'")
    name = (bench.schema, "p")
    assert logs.history(name, 1) is None
    assert SparkWarehouse(bench.query, logs).history(name, 1) is None


def test_a_schema_named_like_a_catalog_is_left_to_sql(
    bench: Bench, logs: DeltaLogs, name: tuple[str, str]
) -> None:
    bench.table("t", "k int", "(1)")
    bench.handle.session.conf.set(f"spark.sql.catalog.{bench.schema}", OTHER[""])
    assert logs.history(name, 1) is None


def test_the_size_of_a_table_that_spark_has_not_read_yet_takes_no_job(
    bench: Bench, logs: DeltaLogs, name: tuple[str, str]
) -> None:
    bench.table("t", "k int", "(1)", "(2)")
    expected = SparkWarehouse(bench.query).detail(name)
    bench.handle.session._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    before = jobs(bench)
    found = SparkWarehouse(bench.query, logs).detail(name)
    assert jobs(bench) == before
    assert expected is not None and found == replace(expected, version=1)


def test_the_session_of_the_connection_is_asked_and_the_one_before_it_is_back(
    bench: Bench, logs: DeltaLogs, name: tuple[str, str]
) -> None:
    bench.table("t", "k int", "(1)")
    sessions = bench.handle.session._jvm.org.apache.spark.sql.classic.SparkSession
    other = bench.new_session()
    sessions.setActiveSession(other._jsparkSession)
    assert logs.history(name, 1) is not None
    assert sessions.getActiveSession().get().equals(other._jsparkSession)


def test_a_refresh_with_nothing_to_do_starts_no_job(bench: Bench) -> None:
    bench.table("t", "k int, v int", "(1, 2)", "(3, 4)")
    view = bench.view(f"select k, sum(v) as v from {bench.schema}.t group by k")
    bench.sql("insert into t values (1, 5)")
    bench.refresh()
    before = jobs(bench)
    assert view.run().refresh.strategy.value == "noop"
    assert jobs(bench) == before
