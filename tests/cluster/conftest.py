"""The Spark of these tests has its executors on a standalone cluster on loopback."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from integration_tests.servers.cluster import Cluster, running
from tests.conftest import QUICK, QUICK_JVM

HERE = Path(__file__).parent


def pytest_addoption(parser: pytest.Parser) -> None:
    """Whether they run; known where tests/cluster is named."""
    parser.addoption("--ivm-cluster", action="store_true", help="run the tests on a cluster")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave them out of the default suite, whose Spark has other settings."""
    wanted = config.getoption("ivm_cluster", False) and sys.platform == "linux"
    for item in items:
        if not wanted and HERE in Path(str(item.path)).parents:
            item.add_marker(pytest.mark.skip(reason="make test-cluster runs this, on Linux"))


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A master and two workers."""
    with running(tmp_path_factory.mktemp("cluster")) as started:
        yield started


@pytest.fixture(scope="session")
def spark_settings(tmp_path_factory: pytest.TempPathFactory, cluster: Cluster) -> dict[str, str]:
    """As those of the other tests, but for the executors."""
    folder = tmp_path_factory.mktemp("spark")
    metastore = f"jdbc:derby:;databaseName={folder / 'metastore'};create=true"
    return {
        "spark.master": cluster.master,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "2g",
        "spark.driver.extraJavaOptions": QUICK_JVM,
        "spark.executor.memory": "800m",
        "spark.executor.extraJavaOptions": QUICK_JVM,
        "spark.ui.enabled": "false",
        "spark.sql.warehouse.dir": (folder / "warehouse").as_uri(),
        "spark.hadoop.javax.jdo.option.ConnectionURL": metastore,
        **QUICK,
        "spark.sql.shuffle.partitions": "4",
    }
