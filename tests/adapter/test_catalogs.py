"""Names of three parts: sources in another catalog, and a project that lives in one."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from dbt_common.exceptions import CompilationError

from dbt.adapters.sparkivm.commands.catalog import CatalogMixin
from dbt.adapters.sparkivm.prefetched.reading import prefetch
from dbt.adapters.sparkivm.relation import SparkIvmRelation
from dbt.adapters.sparkivm.tables.comments import CommentsMixin
from integration_tests.servers import lake
from tests.conftest import MakeProject
from tests.helpers.dbt_project import DbtProject

IVM = "{{ config(materialized='incremental_ivm') }}\n"
SOURCES = """
sources:
  - name: sales
    database: lake
    schema: {schema}
    loaded_at_field: "timestamp '2020-01-01'"
    tables: [{{name: orders, columns: [{{name: id, data_tests: [not_null]}}]}}]
models:
  - {{name: revenue, data_tests: [ivm_consistent]}}
"""
REVENUE = (
    "select c.name, count(*) as orders, sum(o.total) as revenue "
    "from {{ source('sales', 'orders') }} o join {{ ref('customers') }} c on o.customer = c.id "
    "group by c.name"
)


@pytest.fixture(scope="module")
def catalogs(spark_settings: dict[str, str]) -> dict[str, str]:
    """Settings of a session with two more catalogs, `lake` and `mart`."""
    try:
        lake.compiled(Path(spark_settings["spark.driver.extraClassPath"]))
    except lake.MissingCompiler as error:
        pytest.skip(str(error))
    return {f"spark.sql.catalog.{name}": lake.CLASS for name in ("lake", "mart")}


def sell(project: DbtProject) -> None:
    """The shop's orders, in the catalog `lake`; a table of the same name is in Spark's own."""
    feed = "using delta tblproperties (delta.enableChangeDataFeed = true)"
    columns = "(id int, customer int, total int)"
    for catalog, row in (("spark_catalog", "(9, 9, 9)"), ("lake", "(1, 1, 10), (2, 1, 20)")):
        project.sql(f"create schema if not exists {catalog}.{project.schema}")
        project.sql(f"create table {catalog}.{project.schema}.orders {columns} {feed}")
        project.sql(f"insert into {catalog}.{project.schema}.orders values {row}")
    project.write(
        {
            "seeds/customers.csv": "id,name\n1,Ann\n2,Bob\n",
            "models/schema.yml": SOURCES.format(schema=project.schema),
        }
    ).models(revenue=IVM + REVENUE)


def lives(project: DbtProject) -> None:
    """The shop is built, changes, and is right; the table of the same name is not read."""
    orders = f"lake.{project.schema}.orders"
    built = project.dbt("build")
    assert built.success, built.log
    assert project.sql("select * from revenue") == [("Ann", 2, 30)]
    project.sql(f"insert into {orders} values (3, 2, 7)")
    project.sql(f"delete from {orders} where id = 1")
    project.sql(f"insert into spark_catalog.{project.schema}.orders values (10, 1, 1000)")
    second = project.run()
    assert second.response("revenue")["strategy"] == "incremental", second.log
    assert sorted(project.sql("select * from revenue")) == [("Ann", 1, 20), ("Bob", 1, 7)]
    assert project.dbt("test").success
    assert project.run().response("revenue")["strategy"] == "noop"


def test_a_source_in_another_catalog(make_project: MakeProject, catalogs: dict[str, str]) -> None:
    project = make_project(settings=catalogs)
    sell(project)
    lives(project)
    explained = project.dbt("run-operation", "ivm_explain", "--args", "{model: revenue}")
    assert explained.success and f"lake.{project.schema}.orders" in explained.log
    looked = project.dbt("source", "freshness")
    assert looked.success, looked.log
    generated = project.dbt("docs", "generate")
    assert generated.success, generated.log
    catalog = json.loads((project.root / "target" / "catalog.json").read_text())
    assert not catalog["errors"]
    assert set(catalog["sources"]["source.project.sales.orders"]["columns"]) == {
        *("id", "customer", "total"),
    }
    assert "model.project.revenue" in catalog["nodes"]


def test_a_project_that_lives_in_another_catalog(
    make_project: MakeProject, catalogs: dict[str, str]
) -> None:
    """It reads `lake`, and what it builds lies in `mart`: views, states and tables."""
    project = make_project(settings=catalogs, target={"database": "mart"})
    sell(project)
    lives(project)
    schema = project.schema
    there = {row["tableName"] for row in project.sql(f"show tables in mart.{schema}")}
    assert there >= {"customers", "revenue__ivm_state"}
    here = {row["tableName"] for row in project.sql(f"show tables in spark_catalog.{schema}")}
    assert here == {"orders"}
    rebuilt = project.run("--full-refresh")
    assert rebuilt.success and rebuilt.response("revenue")["strategy"] == "full"
    project.sql(f"drop view mart.{schema}.revenue")
    again = project.run()
    assert again.success, again.log
    assert project.dbt("test").success
    project.sql(f"insert into lake.{schema}.orders values (4, 1, 1)")
    for operation in ("ivm_preview", "ivm_status", "ivm_maintain", "ivm_audit"):
        told = project.dbt("run-operation", operation)
        assert told.success and "revenue" in told.log, told.log


def refusing(project: DbtProject, catalog: str = "", what: str = "") -> DbtProject:
    """The project, with a catalog that may not be read or written; without one all is allowed."""
    parameters = project.target["server_side_parameters"]
    for key in [key for key in parameters if key.endswith(".refuses")]:
        del parameters[key]
    if catalog:
        parameters[f"spark.sql.catalog.{catalog}.refuses"] = what
    return project.write_profile()


def test_what_nobody_may_do_is_told_and_does_no_harm(
    make_project: MakeProject, catalogs: dict[str, str]
) -> None:
    """A catalog refuses to be written, another one to be read; then both allow it again."""
    project = make_project(settings=catalogs, target={"database": "mart"})
    sell(project)
    assert project.dbt("seed").success
    first = refusing(project, "mart", "writes").dbt("run")
    assert "PERMISSION_DENIED: no writes of mart." in first.message("revenue")
    assert refusing(project).dbt("build").success
    project.sql(f"insert into lake.{project.schema}.orders values (3, 2, 7)")
    for catalog, what in (("mart", "writes"), ("lake", "reads")):
        message = refusing(project, catalog, what).dbt("run").message("revenue")
        assert f"PERMISSION_DENIED: no {what} of {catalog}." in message
        assert "grant what is missing, and run again" in message
        assert project.sql("select * from revenue") == [("Ann", 2, 30)]
    again = refusing(project).run()
    assert again.response("revenue")["strategy"] == "incremental"
    assert sorted(project.sql("select * from revenue")) == [("Ann", 2, 30), ("Bob", 1, 7)]
    assert project.dbt("test").success


def config(kind: str, database: str | None, name: str = "m") -> SimpleNamespace:
    return SimpleNamespace(
        **{"resource_type": kind, "database": database, "schema": "s", "identifier": name},
        **{"name": name, "quoting_dict": {}, "catalog_name": None},
    )


QUOTING = SimpleNamespace(quoting={})


@pytest.mark.parametrize(
    ("database", "shown"), [("lake", "lake.s.t"), (None, "s.t"), ("s", "s.t"), ("", "s.t")]
)
def test_names_of_sources(database: str | None, shown: str) -> None:
    made = SparkIvmRelation.create_from(QUOTING, config("source", database, "t"))  # type: ignore[arg-type]
    assert str(made) == shown
    assert str(made.include(database=False)) == "s.t"
    assert str(made.without_identifier()) == shown.rpartition(".")[0]


@pytest.mark.parametrize("kind", ["model", "seed", "snapshot"])
def test_a_model_in_a_catalog_of_its_own_is_refused(kind: str) -> None:
    told = "m has the database lake, and what dbt builds lies in the target's catalog"
    with pytest.raises(CompilationError, match=re.escape(told)):
        SparkIvmRelation.create_from(QUOTING, config(kind, "lake"))  # type: ignore[arg-type]
    made = SparkIvmRelation.create_from(QUOTING, config(kind, None))  # type: ignore[arg-type]
    assert str(made) == "s.m"


@pytest.mark.parametrize(("catalog", "looks"), [("spark_catalog", True), ("mart", False)])
def test_logs_read_at_once_are_those_of_sparks_catalog(catalog: str, looks: bool) -> None:
    """Of a source elsewhere a table of the same name would tell another history."""
    asked: list[tuple[str, str]] = []
    adapter = SimpleNamespace(
        _ivm_warehouse=lambda: SimpleNamespace(namespace=lambda: (catalog, "")),
        _ivm_state=lambda node, view, config: (view[0], view[1] + "__ivm_state"),
        _ivm_session=lambda: None,
        _ivm_settings=lambda: {},
        get_relation=lambda database, schema, name: asked.append((schema, name)),
    )
    near, far = (
        {"resource_type": "source", "schema": "s", "identifier": "t" + name, "database": database}
        for name, database in (("near", None), ("far", "lake"))
    )
    node = {
        **{"resource_type": "model", "schema": "s", "config": {"materialized": "incremental_ivm"}},
        "depends_on": {"nodes": ["source.near", "source.far"]},
    }
    models = {f"model.{n}": {**node, "alias": f"m{n}", "name": f"m{n}"} for n in range(20)}
    graph = {"nodes": models, "sources": {"source.near": near, "source.far": far}}
    assert (prefetch(adapter, graph, list(models)) is not None) == looks
    assert (("s", "tnear") in asked) == looks
    assert ("s", "tfar") not in asked


class Columns:
    """What dbt-spark's adapter tells of a relation's columns."""

    def _get_columns_for_catalog(self, relation: SparkIvmRelation) -> Iterator[dict[str, Any]]:
        yield {"table_name": relation.identifier, "column_name": "k", "column_index": 0}


class Documented(CatalogMixin, CommentsMixin, Columns):
    """A schema `s` with the maintained model `m`, in the target's catalog or in another one."""

    def __init__(self, catalog: str | None) -> None:
        names = ("m", "m__ivm_state")
        self.relations = [SparkIvmRelation.create(catalog, "s", name) for name in names]
        self.asked: list[str] = []

    def list_relations(self, database: str | None, schema: str) -> list[SparkIvmRelation]:
        return self.relations

    def _ivm_query(self, sql: str) -> list[dict[str, str]]:
        self.asked.append(sql.removeprefix("DESCRIBE TABLE EXTENDED "))
        return []

    def _ivm_warehouse(self) -> None:
        return None

    def _ivm_state(self, node: Any, view: tuple[str, str], config: Any) -> tuple[str, str]:
        return "s", "m__ivm_state"


@pytest.mark.parametrize(
    ("found", "asked", "told"),
    [
        (None, ["`s`.`m`"], [1]),
        ("lake", ["`lake`.`s`.`m`", "`lake`.`s`.`m__ivm_state`"], [None, None]),
    ],
)
def test_comments_and_statistics_are_those_of_the_relations_own_catalog(
    monkeypatch: pytest.MonkeyPatch, found: str | None, asked: list[str], told: list[int | None]
) -> None:
    """A table of another catalog had those of the target's table of the same name."""
    monkeypatch.setattr(
        f"{CatalogMixin.__module__}.statistics", lambda *known: {"stats:rows:value": 1}
    )
    adapter = Documented(found)
    config = SimpleNamespace(materialized="incremental_ivm")
    node = SimpleNamespace(schema="s", identifier="m", config=config)
    table = adapter._get_one_catalog(SimpleNamespace(database=found), ["s"], [node])
    assert adapter.asked == asked
    values = table.columns.get("stats:rows:value")
    assert [*(values or [None] * len(table.rows))] == told
