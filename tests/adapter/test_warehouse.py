"""What the planner's questions get for an answer, row by row as Spark gives them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.sparkivm.bridge.warehouse import Row, RunWarehouse, SparkWarehouse, of_server
from python_ivm.refresh.metadata.cache import MetadataCache
from python_ivm.sources.history import Change, Detail

APPENDED = {"numOutputRows": "2"}
KEEPING = {"mode": "Overwrite", "canOverwriteSchema": "false"}


def commit(**row: object) -> Row:
    """A row of DESCRIBE HISTORY."""
    return {"version": 3, "timestamp": "2024-05-01 12:00:00", "userMetadata": None, **row}


@pytest.mark.parametrize(
    ("operation", "parameters", "metrics", "change", "rows"),
    [
        ("WRITE", {"mode": "Append"}, APPENDED, Change.INSERTS, 2),
        ("WRITE", KEEPING, APPENDED, Change.GENERAL, None),
        ("WRITE", {**KEEPING, "canOverwriteSchema": "true"}, APPENDED, Change.REPLACED, None),
        ("STREAMING UPDATE", {"outputMode": "Append"}, APPENDED, Change.INSERTS, 2),
        ("STREAMING UPDATE", {"outputMode": "Complete"}, APPENDED, Change.REPLACED, None),
        ("OPTIMIZE", None, None, Change.NONE, 0),
        # As Spark's Thrift server sends them: text, in which nothing is escaped.
        ("WRITE", '{"mode":"Append"}', '{"numOutputRows":"2"}', Change.INSERTS, 2),
        ("DELETE", '{"predicate":"["(s = \'a\')"]"}', '{"numDeletedRows":"2"}', Change.GENERAL, 2),
    ],
)
def test_a_commit_of_the_history(
    operation: str, parameters: object, metrics: object, change: Change, rows: int | None
) -> None:
    row = commit(operation=operation, operationParameters=parameters, operationMetrics=metrics)
    found = SparkWarehouse(lambda sql: [row]).history(("s", "x"), 1)
    assert found is not None
    assert (found[0].change, found[0].rows) == (change, rows)


@pytest.mark.parametrize(
    ("parameters", "new_schema"),
    [
        ({"mode": "Overwrite", "canOverwriteSchema": "true", "partitionBy": "[]"}, True),
        ({"mode": "Overwrite", "canOverwriteSchema": "false", "partitionBy": '["p"]'}, False),
        # Older ones, and other writers, do not: with the same partitions as before, or others.
        ({"mode": "Overwrite", "partitionBy": '["p"]'}, True),
        ({"mode": "Overwrite", "partitionBy": "[]"}, None),
        ({"mode": "Overwrite"}, True),
        ({"outputMode": "Complete", "queryId": "q"}, True),
        ({"mode": "Overwrite", "partitionBy": "[]", "predicate": '["(p = 1)"]'}, False),
        ({"mode": "Append", "partitionBy": '["p"]'}, False),
    ],
)
@pytest.mark.parametrize("thrift", [False, True], ids=["a map", "text, as Thrift"])
@pytest.mark.parametrize("engine", ["Apache-Spark/3.5.5 Delta-Lake/3.3.2", "delta-rs:1.0", None])
def test_whether_a_write_may_have_changed_the_partitions(
    parameters: dict[str, str], new_schema: bool | None, thrift: bool, engine: str | None
) -> None:
    pairs = ",".join(f'"{name}":"{value}"' for name, value in parameters.items())
    sent = f"{{{pairs}}}" if thrift else parameters
    row = commit(
        operation="WRITE", operationParameters=sent, operationMetrics={}, engineInfo=engine
    )
    (found,) = SparkWarehouse(lambda sql: [row]).history(("s", "x"), 1) or ()
    assert found.new_schema is new_schema


@pytest.mark.parametrize(("allowed", "new"), [({}, False), ({"canOverwriteSchema": "true"}, True)])
def test_newer_delta_says_only_that_a_write_may_change_the_partitions(
    allowed: dict[str, str], new: bool
) -> None:
    parameters = {"mode": "Overwrite", "partitionBy": '["p"]', **allowed}
    engine = "Apache-Spark/4.2.0 Delta-Lake/4.4.0"
    row = commit(operation="WRITE", operationParameters=parameters, engineInfo=engine)
    (found,) = SparkWarehouse(lambda sql: [row]).history(("s", "x"), 1) or ()
    assert found.new_schema is new


def test_a_refresh_that_writes_all_rows_changes_no_partitions() -> None:
    parameters = {"mode": "Overwrite", "partitionBy": "[]"}
    row = commit(operation="WRITE", operationParameters=parameters, userMetadata='{"ivm":2}')
    (found,) = SparkWarehouse(lambda sql: [row]).history(("s", "x"), 1) or ()
    assert found.new_schema is False


@pytest.mark.parametrize(
    ("columns", "partitioned"), [(["p"], True), ([], False), ('["p"]', True), ("[]", False)]
)
def test_whether_a_table_is_partitioned(columns: object, partitioned: bool) -> None:
    warehouse = SparkWarehouse(lambda sql: [{"partitionColumns": columns}])
    assert warehouse.is_partitioned(("s", "x")) is partitioned


def test_columns_end_where_partitions_are_told() -> None:
    rows = [("#x", "int"), ("k", "bigint"), ("# Partition Information", ""), ("# col_name", "data")]
    told = [{"col_name": name, "data_type": kind, "comment": ""} for name, kind in rows]
    found = SparkWarehouse(lambda sql: told).columns(("s", "x"))
    assert found == {"#x": "int", "k": "bigint"}


def test_a_time_from_a_server_is_the_same_in_every_time_zone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A client in another zone took each source for another table."""
    row = commit(operation="WRITE", timestamp=datetime(2024, 5, 1, 12))
    seen = set()
    for zone in ("UTC", "Europe/Berlin"):
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        rows = [{name: of_server(value) for name, value in row.items()}]
        found = SparkWarehouse(lambda sql, rows=rows: rows).history(("s", "x"), 1)
        assert found is not None
        seen.add(found[0].timestamp)
    monkeypatch.undo()
    time.tzset()
    assert len(seen) == 1


class Told:
    """Shortcuts that know one table."""

    def columns(self, parts: tuple[str, ...]) -> dict[str, str] | None:
        return {"k": "int"} if parts == ("s", "known") else None

    def history(self, parts: tuple[str, ...], limit: int | None) -> list[Row] | None:
        return [commit(operation="WRITE")] if parts == ("s", "known") else None

    def detail(self, parts: tuple[str, ...]) -> Row | None:
        known = {"format": "delta", "lastModified": "1700000000000", "sizeInBytes": 5}
        return known if parts == ("s", "known") else None


@pytest.mark.parametrize("sends", [dict, json.dumps], ids=["a map", "text, as Thrift"])
def test_whether_a_merge_marks_rows_is_told_by_a_property(sends: Callable[[Any], Any]) -> None:
    def detail(properties: Mapping[str, str]) -> Detail | None:
        row = {"format": "delta", "lastModified": "1", "sizeInBytes": 5}
        told = {**row, "properties": sends(properties)}
        return SparkWarehouse(lambda sql: [told]).detail(("s", "x"))

    assert detail({"delta.enableDeletionVectors": "true"}) == Detail("1", 5, marks_rows=True)
    assert detail({"delta.enableDeletionVectors": "false"}) == Detail("1", 5)
    assert detail({}) == Detail("1", 5)


def test_only_what_shortcuts_do_not_tell_is_asked_by_sql() -> None:
    asked: list[str] = []

    def query(sql: str) -> list[Row]:
        asked.append(sql)
        if "HISTORY" in sql:
            return [commit(operation="MERGE", version=4)]
        if "TABLE" in sql:
            return [{"col_name": "v", "data_type": "date"}]
        return [{"format": "delta", "lastModified": "1700000000001", "sizeInBytes": 6}]

    warehouse = SparkWarehouse(query, Told())
    history = {name: warehouse.history(("s", name), 1) for name in ("known", "other")}
    assert {name: found and found[0].version for name, found in history.items()} == {
        "known": 3,
        "other": 4,
    }
    assert warehouse.detail(("s", "known")) == Detail("1700000000000", 5)
    assert warehouse.detail(("s", "other")) == Detail("1700000000001", 6)
    assert warehouse.columns(("s", "known")) == {"k": "int"}
    assert warehouse.columns(("s", "other")) == {"v": "date"}
    questions = ["HISTORY `s`.`other` LIMIT 8", "DETAIL `s`.`other`", "TABLE `s`.`other`"]
    assert asked == [f"DESCRIBE {question}" for question in questions]


def test_a_run_that_sees_an_older_version_can_ask_for_the_newest() -> None:
    versions = iter([1, 2])

    def query(sql: str) -> list[Row]:
        return [{"version": next(versions), "timestamp": "1", "operation": "WRITE"}]

    warehouse = RunWarehouse(query, [("s", "x")], MetadataCache())
    name = ("s", "x")
    assert [c.version for c in warehouse.history(name, 1) or ()] == [1]
    assert [c.version for c in warehouse.history_now(name, 1) or ()] == [2]
    assert [c.version for c in warehouse.history(name, 1) or ()] == [1]


def test_what_was_read_at_the_runs_beginning_is_not_the_newest() -> None:
    """By Connect the run's first look passed for it: a source seemed to have been created anew."""

    def query(sql: str) -> list[Row]:
        return [{"version": 2, "timestamp": "2", "operation": "WRITE"}]

    class Looked(Told):
        def history(self, parts: tuple[str, ...], limit: int | None) -> list[Row] | None:
            return [{"version": 1, "timestamp": "1", "operation": "WRITE"}]

    warehouse = RunWarehouse(query, [("s", "x")], MetadataCache(), Looked())
    name = ("s", "x")
    assert [c.version for c in warehouse.history(name, 1) or ()] == [1]
    assert [c.version for c in warehouse.history_now(name, 1) or ()] == [2]


class Settings:
    """Settings that can be set."""

    def __init__(self, **given: str) -> None:
        self.values = {"spark.sql.files.ignoreCorruptFiles": "false", **given}

    def get(self, key: str) -> str:
        return self.values.get(key, "")

    def given(self, key: str) -> str | None:
        return self.values.get(key)

    def every_given(self) -> dict[str, str]:
        return dict(self.values)

    def set(self, key: str, value: str) -> None:
        self.values[key] = value

    def reset(self, key: str) -> None:
        del self.values[key]


def test_a_question_about_changes_fails_where_their_files_are_gone() -> None:
    """No rows would mean that nothing changed, and the bookmark would move beyond the change."""
    ignored = "spark.sql.files.ignoreMissingFiles"
    conf = Settings(**{ignored: "true"})
    seen: list[str] = []

    def query(sql: str) -> list[Row]:
        seen.append(conf.get(ignored))
        return [{"which": "0", "k": "1"}]

    assert SparkWarehouse(query, None, conf).texts("select which, k from c") == [["0", "1"]]
    assert seen == ["false"]
    assert conf.get(ignored) == "true"


def test_two_models_may_switch_on_one_change_feed() -> None:
    """The loser of the race asked what the run knew from before it."""
    on = "false"

    def query(sql: str) -> list[Row]:
        nonlocal on
        if sql.startswith("ALTER"):
            on = "true"
            raise DbtRuntimeError("MetadataChangedException")
        return [{"key": "delta.enableChangeDataFeed", "value": on}]

    warehouse = RunWarehouse(query, [("s", "x")], MetadataCache())
    assert warehouse.properties(("s", "x")) == {"delta.enableChangeDataFeed": "false"}
    warehouse.enable_change_feed(("s", "x"))
    assert warehouse.properties(("s", "x")) == {"delta.enableChangeDataFeed": "true"}


def test_a_change_feed_that_cannot_be_switched_on_is_an_error() -> None:
    def query(sql: str) -> list[Row]:
        if sql.startswith("ALTER"):
            raise DbtRuntimeError("no permission")
        return []

    with pytest.raises(DbtRuntimeError, match="no permission"):
        RunWarehouse(query, [("s", "x")], MetadataCache()).enable_change_feed(("s", "x"))
