"""dbt's own tests of adapters (the package dbt-tests-adapter), on a session and Delta.

A test module here takes the package's Base classes one by one, and says of each change to them why
it is made, in its docstring, from which docs/conformance.md is written. They run by
``make test-conformance``; those with the marker `quick` are part of the default suite, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dbt.adapters.factory import reset_adapters

# dbt's fixtures, among them the class-scoped `project` in place of that of tests/conftest.py.
from dbt.tests.fixtures.project import *  # noqa: F403
from dbt.tests.fixtures.project import TestProjInfo

from tests.conformance.dialect import statements
from tests.conformance.outcomes import Recorder


def pytest_addoption(parser: pytest.Parser) -> None:
    """Whether they run; known where tests/conformance is named."""
    parser.addoption(
        "--ivm-conformance", action="store_true", help="run dbt's own tests of adapters"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Keep what the tests do, if all of them may run."""
    if config.getoption("ivm_conformance", False) and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder())


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark them, and leave all but the quick ones out of the default suite."""
    here = Path(__file__).parent
    all_of_them = config.getoption("ivm_conformance", False)
    for item in items:
        if here in Path(str(item.path)).parents:
            item.add_marker(pytest.mark.conformance)
            if not all_of_them and item.get_closest_marker("quick") is None:
                item.add_marker(pytest.mark.skip(reason="make test-conformance runs this"))


@pytest.fixture(scope="class", autouse=True)
def own_adapter() -> None:
    """No adapter of the tests before: dbt's fixtures would take it, whatever it connects to."""
    reset_adapters()


@pytest.fixture(scope="class")
def dbt_profile_target(session_target: dict[str, Any]) -> dict[str, Any]:
    """The target of each class's profile; dbt adds the class's own schema."""
    return session_target


@pytest.fixture(scope="class")
def session_target(spark_settings: dict[str, str]) -> dict[str, Any]:
    """The one Spark of this process, which all tests share."""
    return {
        "type": "sparkivm",
        "method": "session",
        "threads": 2,
        # What the suites create by themselves, without a format, they update and delete from, too.
        "server_side_parameters": {**spark_settings, "spark.sql.sources.default": "delta"},
    }


@pytest.fixture(scope="class")
def project(
    project_setup: TestProjInfo, project_files: None, monkeypatch_class: pytest.MonkeyPatch
) -> TestProjInfo:
    """dbt's project, which runs the suites' statements in Spark's dialect."""
    run_sql = project_setup.run_sql

    def run_each(sql: str, fetch: str | None = None) -> Any:
        # `{project.database}.` in a suite's own text: a session has none.
        found = statements(sql.replace(f"{project_setup.database}.", ""))
        results = [run_sql(statement, fetch=fetch) for statement in found]
        return results[-1] if results else None

    monkeypatch_class.setattr(project_setup, "run_sql", run_each)
    return project_setup


@pytest.fixture(scope="class")
def monkeypatch_class() -> Iterator[pytest.MonkeyPatch]:
    """A monkeypatch for a whole class."""
    with pytest.MonkeyPatch.context() as patch:
        yield patch


@pytest.fixture(scope="class")
def logs_dir(prefix: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Where dbt logs: not in the repository."""
    return str(tmp_path_factory.mktemp(f"logs_{prefix}"))
