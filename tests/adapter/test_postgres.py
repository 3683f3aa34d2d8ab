"""Several Sparks share a catalog in PostgreSQL: runs of `method: session` side by side.

A Thrift server on the same catalog is who else writes to the sources and reads the views.
"""

from __future__ import annotations

import subprocess
from collections.abc import Generator

import pytest

from integration_tests.servers import postgres, thrift
from integration_tests.servers.programs import HOST
from tests.adapter.hive_shop import IVM, Shop, asking
from tests.adapter.test_resident import dbt_run
from tests.conftest import QUICK, QUICK_JVM
from tests.helpers.dbt_project import DbtProject

pytestmark = [pytest.mark.spark, pytest.mark.thorough]

QUERY = (
    "select customer, count(*) as orders, sum(total) as revenue from shop.orders group by customer"
)


def is_right(shop: Shop, model: str = "revenue") -> bool:
    return sorted(shop.sql(f"select * from shop.{model}")) == sorted(shop.sql(QUERY))


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
        with (
            thrift.running(root / "server", settings) as port,
            asking(host=HOST, port=port) as ask,
        ):
            made = Shop(DbtProject(root / "project", "shop", settings), ask)
            made.sell()
            yield made
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
    assert is_right(shop) and is_right(shop, "other")


def test_one_model_refreshed_by_two_at_once_is_refreshed_once(shop: Shop) -> None:
    shop.sql("insert into shop.orders values (4, 2, 7)", "delete from shop.orders where id = 1")
    told = finished(*(dbt_run(shop.project, "--select", "revenue") for _ in range(2)))
    assert is_right(shop)
    # Both read the same change; who comes second finds nothing to do, or sees that it lost.
    assert sum("incremental" in text for text in told) >= 1, told
    refreshes = shop.sql("describe history shop.revenue__ivm_state")
    assert sum("MERGE" in str(commit) for commit in refreshes) == 1
