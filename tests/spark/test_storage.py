"""How states are stored on a real Delta: partitions, clustering, checks; what dbt shows of it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.sparkivm.bridge.delta_log import DeltaLogs
from dbt.adapters.sparkivm.bridge.refresher import Outcome
from dbt.adapters.sparkivm.bridge.warehouse import Row, SparkWarehouse
from python_ivm.operate.maintenance import maintenance
from python_ivm.optimize.analysis.zone_maps import ColumnLayout
from python_ivm.optimize.cost import CLUSTERED_FILE_BYTES, FILE_BYTES
from python_ivm.state.storage import Storage
from tests.conftest import MakeProject
from tests.spark.workbench import FEED, Bench, View, failing, refresher

pytestmark = pytest.mark.spark


@pytest.fixture
def x(bench: Bench) -> Bench:
    rows = ("(1, 1, 'a')", "(1, 2, 'b')", "(2, 5, 'b')")
    bench.table("x", "k int, v int, w string", *rows)
    return bench


def run(view: View, storage: Storage) -> Outcome:
    request = replace(view.request(), storage=storage)
    return refresher(view.bench.query, DeltaLogs(view.bench.handle)).refresh(request)


def detail(view: View, what: str) -> list[str]:
    (row,) = view.bench.query(f"describe detail {view.state}")
    return list(row[what])


def checks(view: View) -> dict[str, str]:
    start = "delta.constraints."
    rows = view.bench.query(f"show tblproperties {view.state}")
    found = {row["key"]: row["value"] for row in rows if row["key"].startswith(start)}
    own = start + "ivm_count"
    return {key.removeprefix(start): told for key, told in found.items() if key != own}


@pytest.mark.thorough
def test_a_state_in_partitions_takes_no_value_that_would_become_another(x: Bench) -> None:
    by_text = Storage(partition_by=("w", "k"))
    view = View(x, "m", "select w, k, sum(v) as total, count(*) as n from x group by w, k")
    run(view, by_text)
    assert detail(view, "partitionColumns") == ["w", "k"]
    x.sql("insert into x values (null, 3, 'c')", "update x set w = 'c' where v = 5")
    assert run(view, by_text).refresh.strategy.value == "incremental"
    view.check()
    before = view.rows()
    for value in ("''", "null", "'__HIVE_DEFAULT_PARTITION__'"):
        x.sql(f"insert into x values (7, 7, {value})")
        with pytest.raises(DbtRuntimeError, match="ivm_partition_1"):
            run(view, by_text)
        assert view.rows() == before
        x.sql("delete from x where k = 7")
    run(view, by_text)
    view.check()


@pytest.mark.thorough
def test_a_clustering_is_altered_and_partitions_replace_it(x: Bench) -> None:
    view = View(x, "m", "select k, w from x")
    run(view, Storage(cluster_by=("k",)))
    assert detail(view, "clusteringColumns") == ["k"]
    x.sql("insert into x values (3, 3, 'c')")
    outcome = run(view, Storage(cluster_by=("w", "k")))
    assert outcome.refresh.strategy.value == "incremental"
    assert detail(view, "clusteringColumns") == ["w", "k"]
    view.check()
    assert run(view, Storage()).refresh.strategy.value == "noop"
    assert detail(view, "clusteringColumns") == []
    assert run(view, Storage(partition_by=("k",))).refresh.reason == "STORAGE_CHANGED"
    assert detail(view, "partitionColumns") == ["k"]
    view.check()
    assert run(view, Storage(cluster_by=("k",))).refresh.reason == "STORAGE_CHANGED"
    assert (detail(view, "partitionColumns"), detail(view, "clusteringColumns")) == ([], ["k"])
    view.refresh(None)


@pytest.mark.thorough
@pytest.mark.parametrize("bench", [{"spark.sql.files.maxRecordsPerFile": "10"}], indirect=True)
@pytest.mark.parametrize(
    "sql",
    [
        "select k, w, sum(v) as t, count(*) as n from x group by k, w",
        "with y as (select k, max(v) m from x group by k) select w, k, m from x join y using (k)",
    ],
)
def test_each_file_of_a_clustered_build_has_a_range(bench: Bench, sql: str) -> None:
    bench.table("x", "k int, v int, w string")
    bench.sql("insert into x select id * 37 % 100, id, 'a' from range(200)")
    logs = DeltaLogs(bench.handle)
    holding = {}
    for name, storage in (("m", Storage(cluster_by=("k",))), ("plain", Storage())):
        view = View(bench, name, sql)
        run(view, storage)
        view.check()
        files = SparkWarehouse(bench.query, logs).files((bench.schema, view.state))
        assert files is not None and len(files) >= 10
        layout = ColumnLayout.of(files, "k")
        assert layout is not None
        holding[name] = layout.holding
    assert holding["m"] <= 1.5 < 5 < holding["plain"]
    bench.sql("update x set v = v + 1 where k = 50", "insert into x values (101, 1, 'b')")
    view = View(bench, "m", sql)
    assert run(view, Storage(cluster_by=("k",))).refresh.strategy.value == "incremental"
    view.check()


def test_only_while_a_state_is_laid_out_files_have_an_end(bench: Bench) -> None:
    bench.table("x", "k int", "(1)", "(2)")
    files = "spark.sql.files.maxRecordsPerFile"
    seen = []

    def query(sql: str) -> list[Row]:
        if sql.startswith("CREATE OR REPLACE TABLE"):
            seen.append(bench.query(f"set {files}")[0]["value"])
        return bench.query(sql)

    storage = Storage(cluster_by=("k",))
    request = replace(View(bench, "m", "select k from x").request(), storage=storage)
    with pytest.raises(DbtRuntimeError, match="killed"):
        refresher(failing(query, after="CREATE OR REPLACE TABLE")).refresh(request)
    assert bench.query(f"set {files}")[0]["value"] == "0"
    bench.sql(f"set {files} = 7")
    refresher(query).refresh(replace(request, full_refresh=True))
    assert seen == ["1000000", "7"], "a user's own number stays"
    assert bench.query(f"set {files}")[0]["value"] == "7"


@pytest.mark.parametrize(
    ("clusters", "size_of"),
    [pytest.param((), FILE_BYTES, marks=pytest.mark.thorough), (("k",), CLUSTERED_FILE_BYTES)],
)
def test_optimize_is_told_how_large_files_shall_be(
    bench: Bench, clusters: tuple[str, ...], size_of: int
) -> None:
    bench.table("x", "k int", "(1)", "(2)")
    view, storage = View(bench, "m", "select k from x"), Storage(cluster_by=clusters)
    run(view, storage)
    sizes = [f"spark.databricks.delta.optimize.{end}FileSize" for end in ("min", "max")]
    before = [bench.query(f"set {size}")[0]["value"] for size in sizes]
    seen = []

    def query(sql: str) -> list[Row]:
        if sql.startswith("OPTIMIZE"):
            seen.extend(int(bench.query(f"set {size}")[0]["value"]) for size in sizes)
        return bench.query(sql)

    for value in (3, 4, 5):
        bench.sql(f"insert into x values ({value})")
        run(view, storage)
    warehouse = SparkWarehouse(query)
    planned = maintenance(view.request(), warehouse, 0, forced=True)
    refresher(query).run(view.request(), planned.statements)
    assert seen == [size_of // 2, size_of]
    assert [bench.query(f"set {size}")[0]["value"] for size in sizes] == before
    view.check()


def test_a_row_that_breaks_a_constraint_fails_the_refresh(x: Bench) -> None:
    view = View(x, "m", "select k, v from x")
    run(view, Storage(checks={"v_of_k": "v >= k"}))
    before = view.rows()
    x.sql("insert into x values (9, 1, 'c')")
    with pytest.raises(DbtRuntimeError, match="v_of_k"):
        run(view, Storage(checks={"v_of_k": "v >= k"}))
    assert view.rows() == before
    assert run(view, Storage(checks={"low": "v < 9"})).refresh.strategy.value == "incremental"
    view.check()
    assert checks(view) == {"low": "v < 9"}
    with pytest.raises(DbtRuntimeError, match="v < 2"):
        run(view, Storage(checks={"low": "v < 2"}))
    assert run(view, Storage(checks={"low": "v < 8"})).refresh.strategy.value == "noop"
    assert checks(view) == {"low": "v < 8"}


SCHEMA = """
models:
  - name: contracted
    config: {contract: {enforced: true}}
    constraints: [{type: check, name: few, expression: n < 3}]
    columns:
      - {name: k, data_type: int, constraints: [{type: not_null}, {type: unique}]}
      - {name: n, data_type: bigint}
"""
STATE = "materialized='incremental_ivm', ivm_state_schema='states'"


def test_a_project_whose_states_lie_apart(make_project: MakeProject) -> None:
    project = make_project()
    schema = project.schema
    project.sql(f"create table x (k int, v int) using delta {FEED}")
    project.sql("insert into x values (1, 1), (2, 5)")
    header = "set spark.sql.session.timeZone = Asia/Tokyo; set spark.sql.ansi.enabled = false"
    project.models(
        contracted=f"{{{{ config({STATE}, unique_key='k', sql_header='{header}') }}}}"
        f"select k, count(*) as n from {schema}.x where cast('x' as int) is null group by k",
        zone=f"{{{{ config({STATE}) }}}} select k, cast(timestamp'2024-01-01 00:00:00Z' as string) "
        f"as t from {schema}.x",
        plain="select * from {{ ref('contracted') }}",
    )
    project.write({"models/schema.yml": SCHEMA})
    first = project.run()
    assert "unique_key of contracted. Remove them." in first.log
    assert "not enforced: unique_k (Delta does not enforce it)" in first.log
    tables = {row["tableName"] for row in project.sql(f"show tables in {schema}_states")}
    assert tables == {"contracted__ivm_state", "zone__ivm_state"}
    shown = {row["tableName"] for row in project.sql(f"show tables in {schema}")}
    assert shown == {"x", "contracted", "zone", "plain"}
    # The header's settings are of its model alone.
    assert [row["t"][:10] for row in project.sql("select t from zone")] == ["2024-01-01"] * 2

    project.sql("insert into x values (1, 1)")
    second = project.run()
    assert second.response("contracted")["strategy"] == "incremental"
    assert "not enforced" not in second.log
    project.sql("insert into x values (1, 1)")
    third = project.dbt("run", "--select", "contracted")
    assert not third.success and "few" in third.message("contracted")

    assert project.dbt("docs", "generate").success
    catalog = json.loads((project.root / "target" / "catalog.json").read_text())
    nodes = {key.split(".")[-1]: node for key, node in catalog["nodes"].items()}
    assert set(nodes) == {"contracted", "zone", "plain"} and catalog["errors"] is None
    stats = {key: told["value"] for key, told in nodes["contracted"]["stats"].items()}
    assert stats["rows"] == 2 and stats["bytes"] > 0
    assert stats["strategy"] == "incremental" and stats["last_refresh"].endswith(" UTC")
    assert nodes["plain"]["stats"].keys() == {"has_stats"}
    assert list(nodes["contracted"]["columns"]) == ["k", "n"]

    project.write({"models/zone.sql": "select 1 as k"})
    moved = project.run("--select", "zone")
    assert f"Dropped {schema}_states.zone__ivm_state" in moved.log
    orphans = project.dbt("run-operation", "ivm_orphans")
    assert orphans.success, orphans.log
