"""One commit of the sources at a time (``ivm_step: commit``)."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from python_ivm.refresh.options import Options
from python_ivm.refresh.plan import Refresh, Strategy
from python_ivm.refresh.strategy import plan_refresh
from tests.planner.lake import Lake, Row
from tests.planner.refresh.delays.naive import Naive
from tests.planner.test_operators import some

BY_COMMIT = Options.of({"ivm_step": "commit"})
QUERIES = {
    "running_sum": "select i, sum(v) as v from (select i, v from s.x union all "
    "select i, v from s.m) q group by i",
    "alternating": "select i, v from s.x where not exists (select 1 from s.m where m.i = x.i)",
    "joined": "select x.i, coalesce(y.w, 0) + coalesce(max(m.v), 0) as v from s.x "
    "left join s.y on x.i = y.i left join s.m on m.i = x.i where coalesce(m.v, 0) < 40 "
    "group by x.i, y.w",
}


@pytest.fixture
def xy(lake: Lake) -> Lake:
    rng = random.Random(3)
    for name, columns in {"x": ("i", "v"), "y": ("i", "w")}.items():
        lake.create(name, dict.fromkeys(columns, "int"), [some(rng) for _ in range(5)])
    return lake


def run(lake: Lake, sql: str) -> Refresh:
    return lake.run("m", sql, options=BY_COMMIT)


@pytest.mark.parametrize("name", QUERIES)
def test_the_result_does_not_depend_on_when_dbt_ran(xy: Lake, name: str) -> None:
    rng, sql = random.Random(name), QUERIES[name]
    naive = Naive(xy, sql, "m", "i bigint, v bigint")
    expected: Counter[Row] = naive.run()
    run(xy, sql)
    assert xy.view("m") == expected
    for number in range(14):
        table = rng.choice(["x", "y"]) if "s.y" in sql else "x"
        gone = rng.sample(xy.rows[table][-1], rng.choice([0, 1]))
        xy.change(table, delete=gone, insert=[some(rng)])
        if rng.random() < 0.3:
            xy.optimize("x")
        expected = naive.run()
        for _ in range(rng.choice([0, 0, 1, 2])):
            refresh = run(xy, sql)
            assert xy.view("m") == expected, f"{number}: {refresh.explanation}"
            assert refresh.strategy is not Strategy.FULL, refresh.explanation
    run(xy, sql)
    assert xy.view("m") == expected
    assert run(xy, sql).strategy is Strategy.NOOP


def test_commits_of_one_time_are_one_time_point(xy: Lake) -> None:
    sql = QUERIES["running_sum"].replace("from s.x", "from s.x union all select i, w from s.y")
    run(xy, sql)
    naive = Naive(xy, sql, "m", "i bigint, v bigint")
    naive.run()
    xy.change("x", insert=[(1, 1)])
    naive.run()
    xy.between_commits = 0
    xy.milliseconds += 5
    xy.change("x", insert=[(1, 10)])
    xy.change("y", insert=[(1, 100)])
    expected = naive.run()
    run(xy, sql)
    assert xy.view("m") == expected
    merges = [s for s in xy.executed if s.sql.startswith("MERGE")]
    assert len(merges) == 2


def test_a_commit_that_the_query_does_not_see_is_passed(xy: Lake) -> None:
    sql = "select i from s.x where i > 1000 union select i from s.m"
    run(xy, sql)
    for number in range(3):
        xy.change("x", insert=[(number, 1)])
    assert run(xy, sql).strategy is Strategy.NOOP
    assert xy.view("m") == Counter()
    assert run(xy, sql).statements == ()


@pytest.mark.parametrize("done", [1, 2])
def test_a_run_that_died_between_its_steps(xy: Lake, done: int) -> None:
    sql = QUERIES["joined"]
    naive = Naive(xy, sql, "m", "i bigint, v bigint")
    expected = naive.run()
    run(xy, sql)
    for number in range(3):
        xy.change("x", insert=[(number + 1, 4)])
        expected = naive.run()
    for _ in range(done):
        refresh = plan_refresh(xy.request("m", sql, options=BY_COMMIT), xy)
        assert refresh.again
        for statement in refresh.statements:
            xy.execute("m", statement)
    assert xy.view("m") != expected
    run(xy, sql)
    assert xy.view("m") == expected
