"""The 99 queries on DuckDB: every planned MERGE is run, and the view compared with its query."""

from __future__ import annotations

import random
import re
from collections import Counter

import pytest

from integration_tests.tpcds.texts import benchmark, tables_of
from python_ivm.refresh.plan import Refresh, Strategy
from tests.planner.compare import assert_same
from tests.planner.lake import Lake
from tests.tpcds.data import Shooter, aims
from tests.tpcds.report import Run, record

ROUNDS = 5
LIMIT = re.compile(r"\s+limit\s+(\d+)\s*\Z", re.IGNORECASE)


WRONG_WITH_JOIN_ORDER = {72}
"""Queries for which DuckDB 1.5.5 loses a semi join when it orders joins: the same `MERGE` is right
without that optimizer."""


@pytest.mark.slow
@pytest.mark.parametrize("number", range(1, 100), ids=lambda n: f"q{n:02}")
def test_it_follows_rounds_of_changes(number: int, pytestconfig: pytest.Config) -> None:
    for seed in range(pytestconfig.getoption("ivm_tpcds_seeds")):
        run = _rounds(number, seed)
        print(f"q{number}: {run}")
    if pytestconfig.getoption("ivm_tpcds_report"):
        record("DuckDB", number, run)


def _rounds(number: int, seed: int) -> Run:
    sql = benchmark().queries[number]
    tables = tables_of(sql)
    shooter = Shooter(tables, aims(sql), random.Random(1000 * number + seed))
    lake = Lake("join_order") if number in WRONG_WITH_JOIN_ORDER else Lake()
    for name in tables:
        lake.create(name, tables[name], shooter.rows(name))
    first = lake.run("m", sql)
    compare(lake, sql)
    run = Run(reason="" if first.reason == "FIRST_BUILD" else _why(first))
    shown = lake.view("m")
    for _ in range(ROUNDS):
        changed = [name for name in tables if shooter.rng.random() < 0.6] or list(tables)[:1]
        for name in changed:
            gone, came = shooter.change(name, lake.rows[name][-1])
            lake.change(name, delete=gone, insert=came)
        refresh = lake.run("m", sql)
        compare(lake, sql)
        if first.reason == "FIRST_BUILD":
            assert refresh.strategy is not Strategy.FULL, refresh.explanation
        run.incremental += refresh.strategy is Strategy.INCREMENTAL
        run.recomputed += refresh.strategy is Strategy.RECOMPUTE
        run.full += refresh.strategy is Strategy.FULL
        run.moved += lake.view("m") != shown
        shown = lake.view("m")
    return run


def _why(refresh: Refresh) -> str:
    return f"{refresh.reason}: {refresh.explanation}"


def compare(lake: Lake, sql: str) -> None:
    """Fail unless the view equals its query; with LIMIT any choice among ties is right."""
    if "rollup" in sql.lower() and not lake.view("m"):
        # The total of no rows is a row in DuckDB and none in Spark.
        assert sum(lake.recomputed(sql).values()) <= 1
        return
    limit = LIMIT.search(sql)
    everything = lake.recomputed(LIMIT.sub("", sql)) if limit else Counter()
    if limit is None or sum(everything.values()) <= int(limit[1]):
        assert_same(lake, "m")
        return
    shown = lake.view("m")
    assert sum(shown.values()) == int(limit[1])
    assert not shown - everything
