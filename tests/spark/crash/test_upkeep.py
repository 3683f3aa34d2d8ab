"""Maintenance and clones that die; what they were to do can be done again, and no row is lost."""

from __future__ import annotations

import random
import time
from contextlib import suppress

import pytest

from dbt.adapters.sparkivm.bridge.conf import StatementConf
from dbt.adapters.sparkivm.bridge.warehouse import SparkWarehouse
from dbt.adapters.sparkivm.commands.cloning import Cloner
from python_ivm.operate.maintenance import Maintenance, maintenance
from tests.spark.crash.faults import Fault, Killed, Moment
from tests.spark.crash.world import NAMES, Process, World, new_process, tables_of
from tests.spark.workbench import Bench, View, refresher

pytestmark = pytest.mark.spark

TRIALS = 2
PART = 15


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One of fifteen kills that are asked for is one of maintenance, and one of a clone."""
    kills = metafunc.config.getoption("ivm_kills")
    metafunc.parametrize("seed", list(range(-(-kills // (PART * TRIALS)))))


def maintain(process: Process, view: View) -> Maintenance:
    """Do to a state what it needs, as `dbt-sparkivm maintain --force` does."""
    request = process.view(view).request()
    warehouse = SparkWarehouse(process.query)
    planned = maintenance(request, warehouse, int(time.time() * 1000), forced=True)
    refresher(process.query).run(request, planned.statements)
    return planned


@pytest.mark.thorough
def test_maintenance_that_dies(bench: Bench, seed: int) -> None:
    """Readers see the same rows, and the next run follows what changed."""
    world = World(bench, seed)
    pick = random.Random(seed)
    ran = 6
    for trial in range(TRIALS):
        world.insert()
        world.process(None)
        before = world.rows()
        fault = Fault(pick.choice(list(Moment)), pick.randrange(ran), False, pick.random() * 0.5)
        told = f"seed {seed}, trial {trial}, {fault}"
        process, runner = new_process(bench, fault)
        with suppress(Killed):
            maintain(process, world.view)
        ran = max(ran, len(runner.run) + 1)
        assert world.rows() == before, told
        world.insert()
        assert world.view.refresh(None).refresh.reason == "CHANGED", told
        assert maintain(Process(bench, bench.handle), world.view).statements
        world.insert()
        assert world.view.refresh(None).refresh.reason == "CHANGED", told
        world.mended(told)


@pytest.mark.thorough
def test_a_clone_that_dies(bench: Bench, seed: int) -> None:
    """A second clone, or a plain run, makes what the first one would have made."""
    world = World(bench, seed)
    pick = random.Random(seed)
    ran = 12
    for trial in range(TRIALS):
        world.change()
        world.process(None)
        ci = Bench(bench.new_session, f"{bench.schema}_ci{trial}")
        fault = Fault(pick.choice(list(Moment)), pick.randrange(ran), False, pick.random() * 0.5)
        told = f"seed {seed}, trial {trial}, {fault}"
        process, runner = new_process(ci, fault)
        with suppress(Killed):
            clone(process, world)
        ran = max(ran, len(runner.run) + 1)
        own = View(ci, "m", world.view.sql)
        again = pick.random() < 0.5
        clone(Process(ci, ci.handle), world, tables_only=not again)
        if again:
            assert own.rows() == world.view.rows(), told
        for _ in range(2):
            ci.sql(f"insert into o values ({100 + trial}, 1, 1)")
            own.refresh(None)
        own.refresh("noop")
        assert tables_of(ci) == NAMES, told
        assert world.process(None).run, told
        world.view.check()
        ci.sql(f"drop schema {ci.schema} cascade", f"use {bench.schema}")
        ci.handle.close()


def clone(process: Process, world: World, tables_only: bool = False) -> None:
    """Clone what is not there yet, as `dbt clone` does."""
    production = world.bench.schema
    conf = StatementConf(process.query)
    cloner = Cloner(process.query, conf, SparkWarehouse(process.query))
    there = tables_of(process)
    for name in {"c", "o"} - there:
        cloner.table((process.schema, name), (production, name), is_delta=True)
    if tables_only or "m" in there:
        return
    request = process.view(world.view).request()
    cloner.model(request, (production, "m"), lambda: None)
