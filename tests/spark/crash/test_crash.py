"""A run dies at any moment; a reader sees old or new rows, and the next plain run mends all.

`make test-crash ARGS='--ivm-kills 1000'` kills more often than the default run does.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from dbt.adapters.sparkivm.connection.session import SessionHandle
from tests.spark.crash.faults import Fault, FaultyRunner, Killed, Moment, writes
from tests.spark.workbench import Bench, View, bag

pytestmark = pytest.mark.spark

SUMS = (
    "select c.name, count(*) as n, sum(o.v) as total, max(o.v) as top "
    "from o left join c on o.k = c.k group by c.name"
)
OTHER = SUMS.replace("max(o.v)", "min(o.v)")
NAMES = {"o", "c", "m", "m__ivm_state"}
ROWS = 40


class World:
    """Two sources and a view, whose runs can be killed; one for all trials."""

    def __init__(self, bench: Bench, seed: int) -> None:
        self.bench = bench
        self.random = random.Random(seed)
        self.view = View(bench, "m", SUMS)
        bench.table("c", "k int, name string", "(1, 'a')", "(2, 'b')", "(3, 'b')", "(4, null)")
        rows = (f"({i}, {i % 5}, {i * 3 % 7})" for i in range(ROWS))
        bench.table("o", "id int, k int, v int", *rows)
        self.view.refresh("full")
        self.next_id = ROWS

    def insert(self) -> None:
        """A row that the view sees."""
        self.next_id += 1
        self.bench.sql(f"insert into o values ({self.next_id}, 1, 1)")

    def change(self) -> None:
        """Some rows of the sources change."""
        pick = self.random.randrange
        self.next_id += 1
        changes = (
            f"insert into o values ({self.next_id}, {pick(6)}, {pick(9)})",
            f"update o set v = v + 1 where id % 7 = {pick(7)}",
            f"delete from o where id = {pick(self.next_id)}",
            f"update c set name = '{pick(3)}' where k = {1 + pick(4)}",
        )
        self.bench.sql(self.random.choice(changes))

    def rows(self) -> Any:
        """What a reader sees; None without a view."""
        session = self.bench.handle.session
        if not session.catalog.tableExists(f"{self.bench.schema}.m"):
            return None
        return bag(session.sql("select * from m").collect())

    def process(self, fault: Fault | None, **changes: Any) -> FaultyRunner:
        """A run in a session of its own, as each dbt process has one."""
        self.bench.handle.close()
        self.bench.handle = SessionHandle(self.bench.new_session())
        self.bench.sql(f"use {self.bench.schema}")
        runner = FaultyRunner(self.bench.handle, fault)
        view = View(_Through(self.bench, runner), "m", self.view.sql)  # type: ignore[arg-type]
        try:
            view.run(**changes)
        except Killed:
            assert runner.died
        return runner


class _Through:
    """The bench, with its statements by a runner."""

    def __init__(self, bench: Bench, runner: FaultyRunner) -> None:
        self.schema, self.handle, self.query = bench.schema, bench.handle, runner


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
    """As many kills as asked for, spread evenly over tests that share a world each."""
    if "seed" in metafunc.fixturenames:
        kills = metafunc.config.getoption("ivm_kills", 30)
        metafunc.parametrize("seed", list(range(-(-kills // PER_WORLD))))


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
        world.process(None)
        world.view.check()
        assert after in (None, before, world.rows()), told
        mended = world.process(None)
        assert not any(map(writes, mended.run)), told
        found = {row["tableName"] for row in bench.query(f"show tables in {bench.schema}")}
        assert found == NAMES, told


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
