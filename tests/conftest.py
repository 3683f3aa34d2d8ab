"""Fixtures for all tests. Tests that need Spark are marked `spark` by the fixtures they use."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
from dbt_common.clients.jinja import MacroFuzzEnvironment
from jinja2 import nodes

from dbt.adapters.sparkivm import log
from python_ivm.state.timings import Timings
from tests.helpers.dbt_project import DbtProject

DEFAULT_KILLS = 10


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options for what is too slow for the default run."""
    parser.addoption(
        "--ivm-all-on-spark",
        action="store_true",
        help="run every test on Spark, every operator's query and every round of TPC-H",
    )
    parser.addoption(
        "--ivm-every",
        type=int,
        default=0,
        help="take each so many-th of the operators' queries on Spark, through three rounds",
    )
    parser.addoption(
        "--ivm-kills",
        type=int,
        default=DEFAULT_KILLS,
        help="kill this many runs in tests/spark/crash",
    )
    parser.addoption(
        "--ivm-update-golden",
        action="store_true",
        help="write plans and statements anew into the files of tests/fixtures, for review",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark by fixture, so that `-m "not spark"` is always the fast part of the suite.

    The slow part goes first, and the slowest modules of each part before the others, so that all
    processes are busy to the end.
    """
    for item in items:
        if "spark_settings" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)
        if item.get_closest_marker("thorough") and not config.getoption("ivm_all_on_spark"):
            item.add_marker(pytest.mark.skip(reason="make test-spark runs this"))

    def rank(item: pytest.Item) -> tuple[bool, bool, bool]:
        fast = item.get_closest_marker("spark") is None
        return fast, "integration" not in item.path.parts, item.path.name != "test_operators.py"

    items.sort(key=rank)


# Spark Connect's client takes a main module without a file, as the processes of pytest-xdist have,
# for a run of its doctests, and ends the process.
if not hasattr(sys.modules["__main__"], "__file__"):
    sys.modules["__main__"].__file__ = __file__


QUICK_JVM = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseParallelGC"
"""How the tests' JVMs compile: their statements are tiny, many, and run once, for which the
optimizing compiler is too slow. The simple one alone gets a code cache that Spark fills in
minutes, after which the JVM throws away what it compiles again."""

QUICK = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.shuffle.partitions": "1",
}
"""Tables of five rows are worth neither generated code nor a second task nor planning anew; the
demo runs with the adapter's own settings."""


@pytest.fixture(scope="session")
def spark_settings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """How the one Spark of this process is started.

    A Spark and its Derby metastore exist once in a process: projects share them and differ in
    their schemas.
    """
    folder = tmp_path_factory.mktemp("spark")
    (folder / "classes").mkdir()
    metastore = f"jdbc:derby:;databaseName={folder / 'metastore'};create=true"
    return {
        "spark.master": "local[2]",
        "spark.driver.memory": "3g",
        "spark.driver.extraJavaOptions": f"{QUICK_JVM} -Xms3g -Xmn1g",
        # Where a test may put classes of its own.
        "spark.driver.extraClassPath": str(folder / "classes"),
        "spark.sql.warehouse.dir": (folder / "warehouse").as_uri(),
        "spark.hadoop.javax.jdo.option.ConnectionURL": metastore,
        **QUICK,
    }


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the adapter tells the user at dbt's level info."""
    texts: list[str] = []
    monkeypatch.setattr(log, "fire_event", lambda event: texts.append(event.message()))
    return texts


MakeProject = Callable[..., DbtProject]


@pytest.fixture
def make_project(
    request: pytest.FixtureRequest, tmp_path: Path, spark_settings: dict[str, str]
) -> MakeProject:
    """A function that makes projects, each with its own schema; takes DbtProject's options."""
    made: list[DbtProject] = []

    def make(**options: Any) -> DbtProject:
        number = len(made) + 1
        name = re.sub(r"\W+", "_", request.node.name).strip("_").lower()[:50]
        root = tmp_path / f"project_{number}"
        root.mkdir()
        # Names of tests repeat in other modules.
        module = re.sub(r"\W+", "_", Path(str(request.node.path)).stem)
        schema = f"{module}_{name}_{number}"
        made.append(DbtProject(root, schema, spark_settings, **options))
        return made[-1]

    return make


@pytest.fixture
def project(make_project: MakeProject) -> DbtProject:
    """A project with one thread and no models."""
    return make_project()


@pytest.fixture(autouse=True, scope="session")
def macros_are_parsed_once() -> Iterator[None]:
    """All projects have the same hundreds of macros, which dbt would parse anew for each.

    That is most of what a project's first command takes in Python. What is kept has its constants
    folded once it was compiled, which only a look at unrendered configurations would show.
    """
    parse, last_of = MacroFuzzEnvironment._parse, {}

    @lru_cache(maxsize=2000)
    def parsed(kind: type[MacroFuzzEnvironment], *text: Any) -> nodes.Template:
        return parse(last_of[kind], *text)

    def remembered(environment: MacroFuzzEnvironment, *text: Any) -> nodes.Template:
        last_of[type(environment)] = environment
        return parsed(type(environment), *text)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(MacroFuzzEnvironment, "_parse", remembered)
        yield


@pytest.fixture(autouse=True)
def timings_decide_nothing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """How long a refresh took depends on what else runs: tests that expect a way choose by it."""
    if "timings_count" not in request.fixturenames:
        monkeypatch.setattr(Timings, "faster_anew", lambda *given: None)


@pytest.fixture
def timings_count() -> None:
    """Asked for by tests in which the times of refreshes choose the way, as they do for users."""
