"""`method: thrift`, on Spark's own Thrift server, which is started once for this module."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Generator

import pytest

from integration_tests.servers import thrift
from tests.adapter.hive_shop import IVM, Shop
from tests.adapter.test_resident import dbt_run
from tests.conftest import QUICK, QUICK_JVM
from tests.helpers.dbt_project import DbtProject

pytestmark = [pytest.mark.spark, pytest.mark.thorough]

SCHEMA = """
models:
  - {name: revenue, data_tests: [ivm_consistent]}
  - {name: latest, data_tests: [ivm_consistent]}
"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Generator[Shop]:
    root = tmp_path_factory.mktemp("thrift")
    settings = {"spark.master": "local[2]", "spark.driver.extraJavaOptions": QUICK_JVM, **QUICK}
    with thrift.running(root / "server", settings) as port:
        target = {"method": "thrift", "host": "127.0.0.1", "port": port, "user": "dbt"}
        made = Shop(DbtProject(root / "project", "shop", {}, threads=2, target=target), port)
        made.sell()
        made.project.models(
            revenue=IVM + "select c.name, count(*) as orders, sum(o.total) as revenue "
            "from shop.orders o join {{ ref('customers') }} c on o.customer = c.id group by c.name",
            latest=IVM + "select * from shop.orders "
            "qualify row_number() over (partition by customer order by id desc) = 1",
        )
        made.project.write(
            {"seeds/customers.csv": "id,name\n1,Ann\n2,Bob\n", "models/schema.yml": SCHEMA}
        )
        yield made
        made.connection.close()


def test_a_projects_life(shop: Shop) -> None:
    project = shop.project
    built = project.dbt("build")
    assert built.success, built.log
    assert sorted(shop.sql("select * from shop.revenue")) == [("Ann", 2, 30), ("Bob", 1, 5)]

    shop.sql("insert into shop.orders values (4, 2, 7)", "delete from shop.orders where id = 1")
    second = project.run()
    assert {second.response(m)["strategy"] for m in ("revenue", "latest")} == {"incremental"}
    assert sorted(shop.sql("select * from shop.revenue")) == [("Ann", 1, 20), ("Bob", 2, 12)]
    assert project.dbt("test").success
    third = project.run()
    assert {third.response(m)["strategy"] for m in ("revenue", "latest")} == {"noop"}

    cursor = shop.connection.cursor()
    cursor.execute("describe history shop.revenue__ivm_state")
    names = [column[0].rpartition(".")[2] for column in cursor.description]
    newest = dict(zip(names, cursor.fetchone(), strict=True))
    assert json.loads(newest["userMetadata"])
    explained = project.dbt("run-operation", "ivm_explain", "--args", "{model: revenue}")
    assert explained.success and "MERGE" in explained.log


def test_errors_name_model_and_line(shop: Shop) -> None:
    project = shop.project
    project.models(broken=IVM + "select id,\n  no_such_column\nfrom shop.orders")
    try:
        result = project.dbt("run", "--select", "broken")
        assert not result.success
        message = result.message("broken")
        assert "model broken, line 2, column 3" in message
        assert "no_such_column" in message
        assert "at org.apache" not in result.log
    finally:
        (project.root / "models" / "broken.sql").unlink()


def test_two_runs_at_once(shop: Shop) -> None:
    shop.sql("insert into shop.orders values (9, 1, 100)")
    runs: list[subprocess.Popen[str]] = [dbt_run(shop.project) for _ in range(2)]
    told = [run.communicate()[0] for run in runs]
    assert [run.returncode for run in runs] == [0, 0], told
    assert ("Ann", 2, 120) in shop.sql("select * from shop.revenue")
    assert shop.project.dbt("test").success
    assert shop.project.run().response("revenue")["strategy"] == "noop"
