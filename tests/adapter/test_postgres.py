"""Several Sparks share a catalog in PostgreSQL: runs of `method: session` side by side.

A Thrift server on the same catalog is who else writes to the sources and reads the views.
"""

from __future__ import annotations

import re
import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from integration_tests.servers import postgres, thrift
from integration_tests.servers.programs import HOST
from tests.adapter.hive_shop import IVM, Ask, Rows, Shop, asking
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
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("postgres")


@pytest.fixture(scope="module")
def settings(folder: Path) -> Generator[dict[str, str]]:
    """Those of every Spark: the same catalog and warehouse."""
    try:
        server = postgres.running()
        catalog = server.__enter__()
    except postgres.MissingPostgres as error:
        pytest.skip(str(error))
    yield {
        "spark.master": "local[2]",
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": QUICK_JVM,
        "spark.sql.warehouse.dir": (folder / "warehouse").as_uri(),
        **QUICK,
        **catalog,
    }
    server.__exit__(None, None, None)


@pytest.fixture(scope="module")
def port(folder: Path, settings: dict[str, str]) -> Generator[int]:
    """Of the Thrift server."""
    with thrift.running(folder / "server", settings) as listens:
        yield listens


@pytest.fixture(scope="module")
def shop(folder: Path, settings: dict[str, str], port: int) -> Generator[Shop]:
    with asking(host=HOST, port=port) as ask:
        made = Shop(DbtProject(folder / "project", "shop", settings), ask)
        made.sell()
        yield made


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


@contextmanager
def all_the_time(port: int, act: Callable[[Ask], object]) -> Generator[list[Exception]]:
    """Let somebody else do the same over and over, by a connection of their own.

    Yields:
        What went wrong for them.
    """
    ended = threading.Event()
    errors: list[Exception] = []

    def work() -> None:
        with asking(host=HOST, port=port) as ask:
            while not ended.is_set():
                try:
                    act(ask)
                except Exception as error:
                    errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield errors
    finally:
        ended.set()
        thread.join()


def bag(rows: Rows) -> frozenset[tuple[Any, ...]]:
    """Rows, and how often each is there."""
    return frozenset(Counter(tuple(row.values()) for row in rows).items())


def states(shop: Shop) -> set[frozenset[tuple[Any, ...]]]:
    """What the view showed after each commit of its state."""
    described = shop.ask("describe table extended shop.revenue")
    text = next(row["data_type"] for row in described if row["col_name"] == "View Text")
    commits = [row["version"] for row in shop.ask("describe history shop.revenue__ivm_state")]
    return {
        bag(shop.ask(re.sub(r"(\S+__ivm_state\S*)", rf"\1 version as of {version}", text)))
        for version in commits
    }


def is_settled(shop: Shop) -> bool:
    """Whether a run makes the view right, and the next one has nothing to do."""
    finished(dbt_run(shop.project, "--select", "revenue"))
    (told,) = finished(dbt_run(shop.project, "--select", "revenue"))
    return is_right(shop) and "noop" in told


def test_a_source_is_written_and_the_view_read_while_runs_refresh(shop: Shop, port: int) -> None:
    (total,) = shop.sql("select sum(total) from shop.orders")
    numbers = count(1000)
    seen: list[Rows] = []

    def trade(ask: Ask) -> None:
        """Write three commits, none of which changes the sum of all orders."""
        n = next(numbers)
        ask(f"insert into shop.orders values ({n}, 1, {n}), ({n}, 2, -{n})")
        ask(f"update shop.orders set customer = customer % 3 + 1 where id % 3 = {n % 3}")
        ask(f"delete from shop.orders where id = {n - 2}")

    def read(ask: Ask) -> None:
        seen.append(ask("select * from shop.revenue"))

    with all_the_time(port, trade) as unwritten, all_the_time(port, read) as unread:
        for _ in range(2):
            finished(dbt_run(shop.project, "--select", "revenue"))
    assert not unwritten and not unread, (unwritten, unread)
    assert {sum(row["revenue"] for row in rows) for rows in seen} == set(total)
    assert len({bag(rows) for rows in seen}) > 1
    assert {bag(rows) for rows in seen} <= states(shop)
    assert is_settled(shop)


def test_a_state_is_compacted_and_cleaned_while_runs_refresh(shop: Shop, port: int) -> None:
    def maintain(ask: Ask) -> None:
        ask("optimize shop.revenue__ivm_state")
        ask("vacuum shop.revenue__ivm_state")

    with all_the_time(port, maintain) as unmaintained:
        for number in range(2):
            shop.sql(f"insert into shop.orders values ({2000 + number}, {number}, 1)")
            finished(dbt_run(shop.project, "--select", "revenue"))
            assert is_right(shop)
    # Of a refresh and a compaction at the same time one loses, and says so.
    assert not [error for error in unmaintained if "DELTA_CONCURRENT" not in str(error)]
    assert is_settled(shop)
