"""Two runs of one model at once, at any distance: one of them wins, and no row counts twice."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from dbt.adapters.sparkivm.connection.session import SessionHandle
from python_ivm.errors import Conflict
from tests.spark.crash.test_crash import SCENARIOS
from tests.spark.crash.test_upkeep import maintain
from tests.spark.crash.world import Process, World, tables_of
from tests.spark.workbench import Bench

pytestmark = pytest.mark.spark

TRIALS = 3


@dataclass(frozen=True)
class Run:
    """A run of the view."""

    world: World
    keywords: Mapping[str, Any]

    def __call__(self, process: Process) -> None:
        process.view(self.world.view).run(**self.keywords)


@dataclass(frozen=True)
class Statement:
    """What somebody else does meanwhile."""

    sql: str

    def __call__(self, process: Process) -> None:
        process.query(self.sql)


WRITERS = (
    Statement("insert into o values (1000, 1, 1)"),
    Statement("update o set v = v + 1 where id % 3 = 0"),
)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A tenth as many pairs of runs as kills are asked for."""
    kills = metafunc.config.getoption("ivm_kills")
    metafunc.parametrize("seed", list(range(-(-kills // (10 * TRIALS)))))


def test_two_runs_at_once(bench: Bench, seed: int) -> None:
    world = World(bench, seed)
    pick = random.Random(seed)
    for trial in range(TRIALS):
        scenario = pick.choice(SCENARIOS)
        keywords = scenario(world)
        before = world.rows()
        run = Run(world, keywords)
        upkeep = (Statement("optimize m__ivm_state"), partial(maintain, view=world.view))
        stands = "m__ivm_state" in tables_of(bench)
        other = pick.choice((run, Run(world, {}), *WRITERS, *(upkeep if stands else ())))
        told = f"seed {seed}, trial {trial}, {scenario.__name__}, {other}"
        errors = at_once(bench, run, other, pick.random())
        # One that lost each time says so; and a reader's or writer's own statement may lose.
        assert not [e for e in errors if not lost(e)], (told, errors)
        assert world.rows() is not None or before is None, told
        world.mended(told)


def lost(error: BaseException) -> bool:
    """Whether a run was told that another one was faster."""
    return isinstance(error, Conflict) or "DELTA_CONCURRENT" in str(error)


def at_once(
    bench: Bench, first: Callable[[Process], Any], second: Callable[[Process], Any], apart: float
) -> list[BaseException]:
    """Do two things in a session each, the second one a little later; their errors."""
    errors: list[BaseException] = []

    def work(do: Callable[[Process], Any], after: float) -> None:
        session = bench.new_session()
        session.sql(f"use {bench.schema}")
        time.sleep(after)
        try:
            do(Process(bench, SessionHandle(session)))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(first, 0)),
               threading.Thread(target=work, args=(second, apart))]  # fmt: skip
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    assert not any(thread.is_alive() for thread in threads), "a run did not end"
    return errors
