"""dbt's own tests of adapters (the package dbt-tests-adapter), on a session and Delta.

A test module here takes the package's Base classes one by one, and says of each change to them why
it is made. They run by ``make test-conformance``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

# dbt's fixtures, among them the class-scoped `project` in place of that of tests/conftest.py.
from dbt.tests.fixtures.project import *  # noqa: F403


def pytest_addoption(parser: pytest.Parser) -> None:
    """Whether they run; known where tests/conformance is named."""
    parser.addoption(
        "--ivm-conformance", action="store_true", help="run dbt's own tests of adapters"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark them, and leave them out of the default suite."""
    here = Path(__file__).parent
    for item in items:
        if here in Path(str(item.path)).parents:
            item.add_marker(pytest.mark.conformance)
            if not config.getoption("ivm_conformance", False):
                item.add_marker(pytest.mark.skip(reason="make test-conformance runs this"))


@pytest.fixture(scope="class")
def dbt_profile_target(spark_settings: dict[str, str]) -> dict[str, Any]:
    """The one Spark of this process, which all tests share; dbt adds each class's own schema."""
    return {
        "type": "sparkivm",
        "method": "session",
        "threads": 2,
        "server_side_parameters": dict(spark_settings),
    }


@pytest.fixture(scope="class")
def logs_dir(prefix: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Where dbt logs: not in the repository."""
    return str(tmp_path_factory.mktemp(f"logs_{prefix}"))
