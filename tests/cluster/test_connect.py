"""A server of Spark Connect whose executors are on a cluster, and a project that reaches it."""

from __future__ import annotations

from pathlib import Path

from integration_tests.servers import cluster, connect
from tests.adapter.hive_shop import Shop, in_session
from tests.conftest import QUICK, QUICK_JVM
from tests.helpers.dbt_project import DbtProject

SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": QUICK_JVM,
    "spark.executor.memory": "800m",
    "spark.executor.extraJavaOptions": QUICK_JVM,
    **QUICK,
    "spark.sql.shuffle.partitions": "2",
}


def test_a_projects_life(tmp_path: Path) -> None:
    folders = {
        "spark.sql.warehouse.dir": (tmp_path / "warehouse").as_uri(),
        "spark.hadoop.javax.jdo.option.ConnectionURL": (
            f"jdbc:derby:;databaseName={tmp_path / 'metastore'};create=true"
        ),
    }
    with cluster.running(tmp_path / "cluster") as started:
        settings = {"spark.master": started.master, **SETTINGS, **folders}
        with connect.running(tmp_path / "server", settings) as server:
            target = {"method": "connect", "host": server.url, "token": server.token}
            project = DbtProject(tmp_path / "project", "shop", {}, threads=2, target=target)
            shop = Shop(project, in_session(project))
            assert shop.sql("set spark.master") == [("spark.master", started.master)]
            shop.sell()
            shop.furnish()
            shop.live()
            project.close()
        executors = list((tmp_path / "cluster").glob("work_*/app-*/*/stderr"))
        assert any("Finished task" in log.read_text() for log in executors)
