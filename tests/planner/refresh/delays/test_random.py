"""Random models that read their own rows, or one another's, through random histories."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from python_ivm.parse.previous import MARK
from python_ivm.refresh.options import Options, StepMode
from python_ivm.refresh.plan import Strategy
from tests.planner.lake import Lake, bag
from tests.planner.refresh.delays.naive import Naive
from tests.planner.refresh.delays.test_points import Points
from tests.planner.refresh.delays.test_points import some as by_day
from tests.planner.refresh.delays.test_previous import looking_at
from tests.planner.test_operators import some

FEW = {
    "test_a_random_model_by_the_values_of_a_column": 4,
    "test_a_random_model_of_its_own_rows": 8,
    "test_random_models_in_a_circle": 3,
}

COLUMNS = {"i": "bigint", "v": "bigint"}

FROM_SOURCES = [
    "select i, v from s.x",
    "select i, v from s.x where v > 1",
    "select x.i, y.w as v from s.x join s.y on x.i = y.i",
    "select x.i, coalesce(y.w, x.v) as v from s.x left join s.y on x.v = y.i",
    "select i, count(*) as v from s.x group by i",
    "select distinct i, v from s.x",
]
OWN = [
    "select i, v from {m}",
    "select i + 1 as i, v from {m} where i < 6",
    "select a.i, b.v from {m} a join {m} b on a.v = b.i",
    "select i, max(v) as v from {m} group by i",
    "select i, v from {m} where v in (select i from s.x)",
    "select i, v from (select i, v, row_number() over (partition by i order by v desc nulls last) "
    "as r from {m}) q where r = 1",
    "select i, v from (select i, v from {m} order by v desc nulls last, i nulls last limit 3) q",
]


def together(rng: random.Random, sources: str, own: str) -> str:
    """A query of both, whose rows stay few however often it is run."""
    merged = rng.choice(
        [
            f"{sources} union {own}",
            f"{sources} except {own}",
            f"({sources}) intersect ({own}) union {sources}",
            f"select q.i, q.v from ({sources}) q where not exists "
            f"(select 1 from ({own}) p where p.i = q.i and p.v >= q.v)",
            f"select p.i, q.v from ({own}) p right join ({sources}) q on p.i = q.i",
            f"select coalesce(p.i, q.i) as i, coalesce(p.v, 0) + coalesce(q.v, 0) as v "
            f"from ({own}) p full join ({sources}) q on p.i = q.i",
            f"select i, sum(v) as v from ({sources} union all {own}) q group by i",
            f"select q.i, q.v + (select coalesce(max(v), 0) from ({own}) p) as v "
            f"from ({sources}) q",
            f"select i, count(*) as v from ({sources} union all {own}) q group by i "
            "having count(*) > 1",
        ]
    )
    bounded = f"select distinct i % 7 as i, least(v, 30) as v from ({merged}) bounded"
    if rng.random() < 0.3:
        return f"{bounded} where v is not null order by v desc, i nulls last limit 5"
    return bounded


def change(lake: Lake, rng: random.Random) -> str:
    """One commit to one of the sources, and to which one."""
    table = rng.choice(["x", "y"])
    present = lake.rows[table][-1]
    gone = rng.sample(present, min(len(present), rng.choice([0, 0, 1, 3])))
    lake.change(table, delete=gone, insert=[some(rng) for _ in range(rng.choice([1, 1, 2]))])
    return f"s.{table}"


@pytest.fixture
def sources() -> Callable[[random.Random], Lake]:
    def made(rng: random.Random) -> Lake:
        lake = Lake()
        for name, columns in {"x": ("i", "v"), "y": ("i", "w")}.items():
            lake.create(name, dict.fromkeys(columns, "int"), [some(rng) for _ in range(5)])
        return lake

    return made


def typed(sql: str) -> str:
    return f"select cast(i as bigint) as i, cast(v as bigint) as v from ({sql}) typed"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A few seeds by default, and as many more as ``--ivm-examples`` asks for."""
    if "seed" in metafunc.fixturenames:
        asked = metafunc.config.getoption("ivm_examples", None) or 0
        metafunc.parametrize("seed", range(max(FEW[metafunc.function.__name__], asked // 20)))


def test_a_random_model_of_its_own_rows(
    sources: Callable[[random.Random], Lake], seed: int
) -> None:
    rng = random.Random(f"own {seed}")
    lake = sources(rng)
    sql = typed(together(rng, rng.choice(FROM_SOURCES), rng.choice(OWN).format(m="s.m")))
    step = rng.choice(list(StepMode))
    naive = Naive(lake, sql, "m", "i bigint, v bigint")
    expected = naive.run()
    lake.run("m", sql, options=Options(step=step))
    assert lake.view("m") == expected, sql
    for number in range(6):
        for _ in range(rng.choice([0, 1, 1, 2])):
            if change(lake, rng) in sql and step is StepMode.COMMIT:
                expected = naive.run()
        if step is StepMode.REFRESH:
            expected = naive.run()
        refresh = lake.run("m", sql, options=Options(step=step))
        assert lake.view("m") == expected, f"run {number}: {refresh.explanation}: {sql}"
        assert refresh.strategy is not Strategy.FULL, f"{refresh.explanation}: {sql}"


def test_a_random_model_by_the_values_of_a_column(seed: int) -> None:
    rng = random.Random(f"values {seed}")
    lake = Lake()
    for name, value in {"x": "v", "y": "w"}.items():
        columns = dict.fromkeys(("i", value, "day"), "int")
        lake.create(name, columns, [by_day(rng, range(3)) for _ in range(4)])
    sql = typed(together(rng, rng.choice(FROM_SOURCES), rng.choice(OWN).format(m="s.m")))
    points = Points(lake, sql)
    for number in range(5):
        points.run()
        refresh = lake.run("m", sql, options=Options(order="day"))
        assert lake.view("m") == points.rows, f"run {number}: {refresh.explanation}: {sql}"
        for _ in range(rng.choice([0, 1, 2])):
            table = rng.choice("xy")
            gone = rng.sample(lake.rows[table][-1], min(len(lake.rows[table][-1]), 1))
            days = range(number, number + 4)
            come = [by_day(rng, days) for _ in range(rng.choice([0, 1, 2]))]
            lake.change(table, delete=gone if rng.random() < 0.4 else [], insert=come)


def test_random_models_in_a_circle(sources: Callable[[random.Random], Lake], seed: int) -> None:
    rng = random.Random(f"circle {seed}")
    lake = sources(rng)
    other = rng.choice(OWN[:4]).format(m=f"s.b {MARK}")
    first = typed(together(rng, rng.choice(FROM_SOURCES), other))
    second = typed(together(rng, "select i, v from s.a", rng.choice(FROM_SOURCES)))
    lake.db.execute("create schema before")
    lake.db.execute("create table before.b (i bigint, v bigint)")
    naive = first.replace(f"s.b {MARK}", "before.b")
    for number in range(6):
        for _ in range(rng.choice([0, 1, 2]) if number else 0):
            change(lake, rng)
        expected = bag(lake.db.execute(lake.duck(naive)).fetchall())
        done = [lake.run("a", first, **looking_at("b", **COLUMNS)), lake.run("b", second)]
        assert lake.view("a") == expected, f"run {number}: {done[0].explanation}: {first}"
        lake.check("b")
        lake.db.execute("create or replace table before.b as select i, v from s.b")
        if number:
            assert Strategy.FULL not in [refresh.strategy for refresh in done], first
