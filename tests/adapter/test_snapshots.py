"""dbt's snapshots with no file format told, and maintained models over them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.conftest import MakeProject
from tests.helpers.dbt_project import DbtProject, DbtResult

CURRENT = """{{ config(materialized='incremental_ivm') }}
select k, l, v from {{ ref('s') }} where dbt_valid_to is null"""


def build(project: DbtProject) -> DbtResult:
    result = project.dbt("build")
    assert result.success, result.log or result.exception
    return result


def snapshot(project: DbtProject, columns: str = "k, l, v, at", **config: Any) -> None:
    """A snapshot of the table `x`, and a maintained model of the rows that are valid now."""
    told = ", ".join(f"{key}={value!r}" for key, value in config.items())
    text = f"{{{{ config({told}) }}}} select {columns} from {project.schema}.x"
    project.write({"snapshots/s.sql": f"{{% snapshot s %}}{text}{{% endsnapshot %}}"})
    project.models(m=CURRENT)


@pytest.fixture
def table(project: DbtProject) -> DbtProject:
    """A project beside a table x of three rows."""
    project.sql("create table x (k int, l int, v string, at timestamp) using delta")
    project.sql("insert into x select id, 0, 'old', timestamp'2024-01-01' from range(3)")
    return project


def rows(project: DbtProject, sql: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in project.sql(sql)), key=repr)


STRATEGIES: Mapping[str, Mapping[str, Any]] = {
    "check": {"strategy": "check", "check_cols": "all", "unique_key": "k"},
    "timestamp": {"strategy": "timestamp", "updated_at": "at", "unique_key": ["k", "l"]},
}


@pytest.mark.parametrize(
    "strategy", ["check", pytest.param("timestamp", marks=pytest.mark.thorough)]
)
def test_versions_are_kept_and_followed(table: DbtProject, strategy: str) -> None:
    snapshot(table, **STRATEGIES[strategy], hard_deletes="invalidate")
    build(table)
    assert rows(table, "select * from m") == [(k, 0, "old") for k in range(3)]
    columns = [row[0] for row in table.sql("describe s")]
    table.sql("update x set v = 'new', at = timestamp'2024-02-01' where k = 1")
    table.sql("delete from x where k = 2")
    table.sql("insert into x values (7, 7, null, timestamp'2024-02-01')")
    second = build(table)
    assert [row[0] for row in table.sql("describe s")] == columns
    assert rows(table, "select k, v, dbt_valid_to is null from s") == [
        (0, "old", True), (1, "new", True), (1, "old", False), (2, "old", False), (7, None, True),
    ]  # fmt: skip
    assert rows(table, "select * from m") == [(0, 0, "old"), (1, 0, "new"), (7, 7, None)]
    response = second.response("m")
    assert (response["strategy"], response["reason"]) == ("incremental", "CHANGED"), response
    third = build(table)
    assert third.response("m")["strategy"] == "noop"
    assert len(rows(table, "select * from s")) == 5


@pytest.mark.thorough
def test_deleted_rows_get_a_record_of_their_own(table: DbtProject) -> None:
    snapshot(
        table,
        strategy="timestamp",
        updated_at="at",
        unique_key="k",
        hard_deletes="new_record",
        dbt_valid_to_current="to_timestamp('9999-12-31')",
    )
    table.models(m=CURRENT.replace("is null", "= to_timestamp('9999-12-31')"))
    build(table)
    table.sql("delete from x where k = 2")
    for _ in range(2):
        again = build(table)
        assert rows(
            table, "select k, dbt_is_deleted, year(dbt_valid_to) = 9999 from s where k <> 1"
        ) == [(0, "False", True), (2, "False", False), (2, "True", True)]
    assert again.response("m")["strategy"] == "noop"
    table.sql("insert into x values (2, 0, 'again', timestamp'2030-01-01')")
    build(table)
    assert rows(table, "select v, dbt_is_deleted from s where k = 2 and v = 'again'") == [
        ("again", "False")
    ]


def test_columns_come_and_go(table: DbtProject) -> None:
    snapshot(table, **STRATEGIES["check"])
    build(table)
    snapshot(table, "k, l, v, v as w", **STRATEGIES["check"])
    table.sql("update x set v = 'new' where k = 1")
    build(table)
    assert rows(table, "select k, w, at is null from s where dbt_valid_to is null") == [
        (0, "old", True), (1, "new", True), (2, "old", True),
    ]  # fmt: skip


@pytest.mark.thorough
def test_a_model_that_comes_later_finds_a_change_feed(make_project: MakeProject) -> None:
    project = make_project(config={"snapshots": {"+strategy": "check", "+check_cols": "all"}})
    project.sql("create table x using delta as select id as k, 0 as l, 'old' as v from range(3)")
    snapshot(project, "k, l, v", unique_key="k")
    (project.root / "models/m.sql").unlink()
    build(project)
    assert "delta.enableChangeDataFeed" not in dict(project.sql("show tblproperties s"))
    snapshot(project, "k, l, v", unique_key="k")
    project.models(i="{{ config(materialized='incremental') }} select k from {{ ref('s') }}")
    build(project)
    project.sql("update x set v = 'new' where k = 1")
    second = build(project)
    assert second.response("m")["reason"] == "CHANGED"
    assert "delta.enableChangeDataFeed" not in dict(project.sql("show tblproperties i"))


def test_a_format_without_a_merge_is_refused(table: DbtProject) -> None:
    snapshot(table, **STRATEGIES["check"], file_format="parquet")
    result = table.dbt("build")
    assert not result.success
    assert "A snapshot can't be kept as 'parquet'" in result.message("s")
