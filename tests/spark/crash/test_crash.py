"""A run dies at any moment; a reader sees old or new rows, and the next plain run mends all.

`make test-crash ARGS='--ivm-kills 1000'` kills more often than the default run does.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from tests.spark.crash.faults import Fault, Moment, writes
from tests.spark.crash.world import SUMS, World
from tests.spark.workbench import Bench

pytestmark = pytest.mark.spark

OTHER = SUMS.replace("max(o.v)", "min(o.v)")


def first_build(world: World) -> dict[str, Any]:
    world.bench.sql("drop view m", "drop table m__ivm_state")
    return {}


def refresh(world: World) -> dict[str, Any]:
    world.change()
    return {}


def rebuild(world: World) -> dict[str, Any]:
    world.change()
    return {"full_refresh": True}


def new_query(world: World) -> dict[str, Any]:
    world.view.sql = OTHER if world.view.sql == SUMS else SUMS
    return {}


def view_replaced(world: World) -> dict[str, Any]:
    world.change()
    world.bench.sql("create or replace view m as select 1 as mine")
    return {}


def view_dropped(world: World) -> dict[str, Any]:
    world.change()
    world.bench.sql("drop view m")
    return {}


def source_replaced(world: World) -> dict[str, Any]:
    rows = "select id, k, v + 1 as v from o"
    world.bench.sql(f"create or replace table copy using delta as {rows}")
    world.bench.sql(
        "create or replace table o using delta "
        "tblproperties (delta.enableChangeDataFeed = true) as select * from copy",
        "drop table copy",
    )
    return {}


def state_written(world: World) -> dict[str, Any]:
    world.bench.sql("delete from m__ivm_state where total > 3")
    return {}


SCENARIOS: tuple[Callable[[World], dict[str, Any]], ...] = (
    refresh,
    first_build,
    rebuild,
    refresh,
    new_query,
    view_dropped,
    refresh,
    source_replaced,
    view_replaced,
    state_written,
)


PER_WORLD = len(SCENARIOS)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Thirteen of fifteen kills that are asked for, spread evenly over tests that share a world
    each; the others are those of maintenance and clones."""
    if "seed" in metafunc.fixturenames:
        kills = metafunc.config.getoption("ivm_kills")
        metafunc.parametrize("seed", list(range(-(-13 * kills // (15 * PER_WORLD)))))


def test_a_run_that_dies(bench: Bench, seed: int) -> None:
    world = World(bench, seed)
    pick = random.Random(seed)
    counts: dict[tuple[str, bool], int] = {}
    for trial in range(PER_WORLD):
        scenario = SCENARIOS[trial % len(SCENARIOS)]
        keywords = scenario(world)
        before = world.rows()
        writing = pick.random() < 0.7
        # Most scenarios have two or three statements that write, and about ten in all.
        number = pick.randrange(counts.get((scenario.__name__, writing), 2 if writing else 8))
        moment = pick.choice(list(Moment))
        fault = Fault(moment, number, writing, seconds=pick.random() * 1.5)
        told = f"seed {seed}, trial {trial}, {scenario.__name__}, {fault}"
        run = world.process(fault, **keywords)
        for written, ran in ((False, len(run.run)), (True, sum(map(writes, run.run)))):
            known = counts.get((scenario.__name__, written), 0)
            counts[scenario.__name__, written] = max(known, ran + 1)
        after = world.rows()
        world.mended(told)
        assert after in (None, before, world.rows()), told


@pytest.mark.thorough
def test_faults_reach_each_statement(bench: Bench) -> None:
    """The faults themselves: every boundary is reached, and nothing runs after a death."""
    world = World(bench, 0)
    world.insert()
    plain = world.process(None).run
    assert sum(map(writes, plain)) == 1
    for number in range(len(plain)):
        world.insert()
        run = world.process(Fault(Moment.BEFORE, number, writing=False))
        assert run.died and len(run.run) == number + 1
        world.process(None)
        world.view.check()
    world.insert()
    commits = len(bench.history("m__ivm_state"))
    for moment, more in ((Moment.BEFORE, 0), (Moment.AFTER, 1)):
        assert world.process(Fault(moment, 0, writing=True)).died
        assert len(bench.history("m__ivm_state")) == commits + more
