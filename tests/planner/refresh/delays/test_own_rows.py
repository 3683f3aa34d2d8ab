"""A model's own rows as of its last refresh: ``{{ this }}``, as dbt renders it."""

from __future__ import annotations

import random

import pytest

from python_ivm.refresh.statement import Strategy
from tests.planner.lake import Lake
from tests.planner.refresh.delays.naive import Naive
from tests.planner.test_operators import some

QUERIES = {
    "running_sum": "select i, sum(v) as v from (select i, v from s.x union all "
    "select i, v from s.m) q group by i",
    "capped_sum": "select i, least(sum(v), 1000) as v from (select i, v from s.x union all "
    "select i, v from s.m) q group by i",
    "extreme": "select i, max(v) as v from (select i, v from s.x union all "
    "select i, v from s.m) q group by i",
    "log": "select i, v from s.m union all select i, v from s.x where v > 2",
    "seen_before": "select i, v from s.x union select i, v from s.m",
    "alternating": "select i, v from s.x where not exists (select 1 from s.m where m.i = x.i)",
    "not_in": "select i, v from s.x where i not in (select i from s.m where i is not null)",
    "except": "select i, v from s.x except all select i, v from s.m",
    "outer": "select x.i, coalesce(m.v, 0) + 1 as v from s.x left join s.m on x.i = m.i "
    "where coalesce(m.v, 0) < 50",
    "full": "select coalesce(x.i, m.i) as i, coalesce(m.v, 0) + coalesce(x.v, 0) as v "
    "from s.x full join (select distinct i, least(v, 40) as v from s.m) m on x.i = m.i",
    "with_itself": "select distinct a.i, b.v from s.x a join s.m b on a.v = b.i "
    "union select i, v from s.x",
    "closure": "select i, v from s.x union select a.i, b.v from s.m a join s.m b on a.v = b.i",
    "global": "select count(*) as i, least(coalesce(sum(v), 0), 100) as v from s.m",
    "top": "select i, v from (select i, v from s.x union select i, v from s.m) q "
    "order by v desc nulls last, i nulls last limit 4",
    "last_of_each": "select i, v from (select i, v, row_number() over (partition by i "
    "order by v desc nulls last) as r from (select i, v from s.x union all select i, v from s.m) "
    "q) w where r = 1",
    "window": "select i, sum(v) over (partition by i) as v from (select distinct i, "
    "least(v, 20) as v from s.m union select i, v from s.x) q",
    "having": "select i, count(*) as v from (select i from s.x union all select i from s.m) q "
    "group by i having count(*) > 1",
    "scalar": "select i, v + (select least(coalesce(max(v), 0), 30) from s.m) as v from s.x",
    "average": "select i, cast(avg(v) as bigint) as v from (select i, v from s.x union all "
    "select i, v from s.m) q group by i",
}


@pytest.fixture
def xy(lake: Lake) -> Lake:
    rng = random.Random(11)
    for name, columns in {"x": ("i", "v"), "y": ("i", "w")}.items():
        lake.create(name, dict.fromkeys(columns, "int"), [some(rng) for _ in range(6)])
    return lake


def changed(lake: Lake, rng: random.Random) -> None:
    present = lake.rows["x"][-1]
    gone = rng.sample(present, min(len(present), rng.choice([0, 0, 1, 2])))
    lake.change("x", delete=gone, insert=[some(rng) for _ in range(rng.choice([0, 1, 2]))])


@pytest.mark.parametrize("name", QUERIES)
def test_each_run_is_the_query_over_the_sources_now_and_its_own_rows_before(
    xy: Lake, name: str
) -> None:
    sql, rng = QUERIES[name], random.Random(name)
    naive = Naive(xy, sql, "m", "i bigint, v bigint")
    for number in range(9):
        if number and rng.random() < 0.6:
            changed(xy, rng)
        refresh = xy.run("m", sql)
        told = f"run {number}: {refresh.reason}: {refresh.explanation}"
        expected = naive.run()
        assert xy.view("m") == expected, told
        if number:
            assert refresh.strategy is not Strategy.FULL, told
