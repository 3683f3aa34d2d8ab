"""Several Sparks share a catalog in PostgreSQL: runs of `method: session` side by side.

A Thrift server on the same catalog is who else writes to the sources and reads the views.
"""

from __future__ import annotations

import subprocess
from collections.abc import Generator
from typing import Any

import pytest

from integration_tests.servers import postgres, thrift
from tests.adapter.test_resident import dbt_run
from tests.conftest import QUICK, QUICK_JVM
from tests.helpers.dbt_project import DbtProject

hive = pytest.importorskip("pyhive.hive", reason="pip install 'dbt-spark[PyHive]'")

pytestmark = [pytest.mark.spark, pytest.mark.thorough]

IVM = "{{ config(materialized='incremental_ivm') }} "
FEED = "using delta tblproperties (delta.enableChangeDataFeed = true)"
QUERY = (
    "select customer, count(*) as orders, sum(total) as revenue from shop.orders group by customer"
)


class Shop:
    """A project whose every run starts a Spark of its own, and somebody else's connection."""

    def __init__(self, project: DbtProject, port: int) -> None:
        self.project = project
        self.connection = hive.connect(host="127.0.0.1", port=port, username="test")

    def sql(self, *statements: str) -> list[tuple[Any, ...]]:
        cursor = self.connection.cursor()
        for statement in statements:
            cursor.execute(statement)
        return [tuple(row) for row in cursor.fetchall()] if cursor.description else []

    def is_right(self, model: str = "revenue") -> bool:
        return sorted(self.sql(f"select * from shop.{model}")) == sorted(self.sql(QUERY))


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Generator[Shop]:
    root = tmp_path_factory.mktemp("postgres")
    try:
        server = postgres.running()
        catalog = server.__enter__()
    except postgres.MissingPostgres as error:
        pytest.skip(str(error))
    settings = {
        "spark.master": "local[2]",
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": QUICK_JVM,
        "spark.sql.warehouse.dir": (root / "warehouse").as_uri(),
        **QUICK,
        **catalog,
    }
    try:
        with thrift.running(root / "server", settings) as port:
            made = Shop(DbtProject(root / "project", "shop", settings), port)
            made.sql(
                "create schema shop",
                f"create table shop.orders (id int, customer int, total int) {FEED}",
                "insert into shop.orders values (1, 1, 10), (2, 1, 20), (3, 2, 5)",
            )
            yield made
            made.connection.close()
    finally:
        server.__exit__(None, None, None)


def finished(*runs: subprocess.Popen[str]) -> list[str]:
    """What runs said that all succeeded."""
    told = [run.communicate()[0] for run in runs]
    assert [run.returncode for run in runs] == [0] * len(runs), "\n".join(told)
    return told


def test_runs_side_by_side_build_models_of_their_own(shop: Shop) -> None:
    shop.project.models(revenue=IVM + QUERY, other=IVM + QUERY)
    runs = [dbt_run(shop.project, "--select", model) for model in ("revenue", "other")]
    finished(*runs)
    assert shop.is_right() and shop.is_right("other")


def test_one_model_refreshed_by_two_at_once_is_refreshed_once(shop: Shop) -> None:
    shop.sql("insert into shop.orders values (4, 2, 7)", "delete from shop.orders where id = 1")
    told = finished(*(dbt_run(shop.project, "--select", "revenue") for _ in range(2)))
    assert shop.is_right()
    # Both read the same change; who comes second finds nothing to do, or sees that it lost.
    assert sum("incremental" in text for text in told) >= 1, told
    refreshes = shop.sql("describe history shop.revenue__ivm_state")
    assert sum("MERGE" in str(commit) for commit in refreshes) == 1
