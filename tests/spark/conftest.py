"""Fixtures of the tests on a real Spark."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from dbt.adapters.sparkivm.credentials import SparkIvmCredentials
from python_ivm.optimize.cost import Cost
from tests.spark.workbench import Bench


def pytest_addoption(parser: pytest.Parser) -> None:
    """How much of what is too slow for the default run; known where tests/spark is named."""
    parser.addoption(
        "--ivm-spark-examples",
        type=int,
        default=0,
        help="run this many of the planner's random models on Spark",
    )
    parser.addoption(
        "--ivm-kill", action="store_true", help="run processes of their own, and kill them"
    )


@pytest.fixture
def bench(request: pytest.FixtureRequest, spark_settings: dict[str, str], tmp_path: Path) -> Bench:
    """A Spark session in a schema of its own."""
    from dbt.adapters.sparkivm.connection.in_process import new_session

    module = re.sub(r"\W+", "_", Path(str(request.node.path)).stem)
    name = re.sub(r"\W+", "_", request.node.name).strip("_").lower()[:80]
    schema = f"bench_{module}_{name}"
    credentials = SparkIvmCredentials.from_dict(
        {
            "method": "session",
            "schema": schema,
            "server_side_parameters": {
                **{key: str(value) for key, value in spark_settings.items()},
                **getattr(request, "param", {}),
            },
        }
    )
    credentials.project_root = tmp_path
    return Bench(lambda: new_session(credentials), schema)


@pytest.fixture
def rounds(pytestconfig: pytest.Config) -> int:
    """How many rounds of changes a view has to follow."""
    return 3 if pytestconfig.getoption("ivm_all_on_spark") else 1


@pytest.fixture(autouse=True, scope="package")
def follow_changes() -> Iterator[None]:
    """Refreshes follow what changed, though views of such small tables are cheaper to recompute."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Cost, "is_more_expensive", lambda *plans: False)
        yield
