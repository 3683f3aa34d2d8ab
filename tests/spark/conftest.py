"""Fixtures of the tests on a real Spark."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dbt.adapters.sparkivm.credentials import SparkIvmCredentials
from tests.spark.workbench import Bench


@pytest.fixture
def bench(request: pytest.FixtureRequest, spark_settings: dict[str, str], tmp_path: Path) -> Bench:
    """A Spark session in a schema of its own."""
    from dbt.adapters.sparkivm.spark import new_session

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
