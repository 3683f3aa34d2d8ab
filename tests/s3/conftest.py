"""The Spark of these tests has its warehouse on an S3 endpoint on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.conftest import QUICK, QUICK_JVM

if TYPE_CHECKING:
    from integration_tests.servers.s3 import Requests

HERE = Path(__file__).parent


def pytest_addoption(parser: pytest.Parser) -> None:
    """Whether they run; known where tests/s3 is named."""
    parser.addoption("--ivm-s3", action="store_true", help="run the tests on an object store")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave them out of the default suite, whose Spark has other settings."""
    if not config.getoption("ivm_s3", False):
        for item in items:
            if HERE in Path(str(item.path)).parents:
                item.add_marker(pytest.mark.skip(reason="make test-s3 runs this"))


@pytest.fixture(scope="session")
def endpoint() -> Iterator[tuple[dict[str, str], Requests]]:
    """The endpoint's settings, and what it is asked."""
    pytest.importorskip("moto", reason="pip install 'dbt-sparkivm[s3]'")
    from integration_tests.servers import s3

    with s3.running() as running:
        yield running


@pytest.fixture
def requests(endpoint: tuple[dict[str, str], Requests]) -> Requests:
    """What the endpoint is asked."""
    return endpoint[1]


@pytest.fixture(scope="session")
def spark_settings(
    tmp_path_factory: pytest.TempPathFactory, endpoint: tuple[dict[str, str], Requests]
) -> dict[str, str]:
    """As those of the other tests, but for the warehouse."""
    folder = tmp_path_factory.mktemp("spark")
    metastore = f"jdbc:derby:;databaseName={folder / 'metastore'};create=true"
    return {
        "spark.master": "local[2]",
        "spark.driver.memory": "3g",
        "spark.driver.extraJavaOptions": QUICK_JVM,
        "spark.hadoop.javax.jdo.option.ConnectionURL": metastore,
        **QUICK,
        **endpoint[0],
    }
