"""A model's own rows as of its last refresh: ``{{ this }}``, as dbt renders it."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from python_ivm.errors import InvalidModel, Unsupported
from python_ivm.explain.explain import explain
from python_ivm.refresh.consistency import consistency_query
from python_ivm.refresh.options import Options, StepMode
from python_ivm.refresh.plan import Strategy
from python_ivm.refresh.strategy import plan_refresh
from python_ivm.sources.history import Commit
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
    query = consistency_query(("s", "m"), xy)
    assert xy.db.execute(xy.duck(query)).fetchall() == []


def test_what_is_explained(xy: Lake) -> None:
    request = xy.request("m", QUERIES["extreme"], options=Options(step=StepMode.COMMIT))
    told = explain(request, xy)
    assert "s.m__ivm_state: the model's own rows, as of its last refresh" in told
    assert "function of the sources' commits since the build" in told
    assert "A step is one commit of the other sources" in told
    xy.run("m", QUERIES["extreme"])
    assert "When s.m__ivm_state changes" in explain(request, xy)


def test_a_step_is_taken_when_the_models_own_rows_changed(xy: Lake) -> None:
    sql = "select i, v from s.x union select i + 1, v from s.m where i < 6"
    strategies = [xy.run("m", sql).strategy for _ in range(9)]
    settled = strategies.index(Strategy.NOOP)
    assert strategies[:settled] == [Strategy.FULL] + [Strategy.INCREMENTAL] * (settled - 1)
    assert set(strategies[settled:]) == {Strategy.NOOP}


TYPES = {"i": "int", "v": "decimal(10, 2)"}


@pytest.mark.parametrize(
    ("sql", "columns", "told"),
    [
        ("select * from s.x union all select * from s.m", {}, "does not name its columns"),
        ("select i, v from s.x union all select i, w from s.m", {}, "cannot be read without"),
        (
            "select i, v from s.x union all select i, v from s.m",
            TYPES,
            r"\(i int, v decimal\(1\d,2\)\), but its YAML says \(i int, v decimal\(10,2\)\)",
        ),
    ],
)
def test_columns_that_cannot_be_told(
    xy: Lake, sql: str, columns: dict[str, str], told: str
) -> None:
    with pytest.raises(InvalidModel, match=told) as caught:
        xy.run("m", sql, columns=columns)
    assert caught.value.line == 1 and caught.value.column is not None
    assert "List all of the model's columns with their data_type" in str(caught.value)


def test_columns_that_the_yaml_tells(xy: Lake) -> None:
    sql = "select * from s.x union all select * from s.m"
    for times in (1, 2, 3):
        xy.run("m", sql, columns={"I": "integer", "v": "int"})
        assert sum(xy.view("m").values()) == times * len(xy.rows["x"][-1])


def test_a_query_without_rules_is_refused(xy: Lake) -> None:
    inner = (
        "select i, approx_percentile(v, 0.5) as v from s.x group by i union select i, v from s.m"
    )
    with pytest.raises(Unsupported, match=r"has to be maintained, and cannot be \(NOT_YET_IMPL"):
        xy.run("m", f"select cast(count(*) as int) as i, v from ({inner}) q group by v")
    assert "m__ivm_state" not in xy.commits


@pytest.mark.parametrize("way", ["again", "replaced", "another", "written"])
def test_what_becomes_of_its_rows(xy: Lake, way: str) -> None:
    sql = QUERIES["log"]
    xy.run("m", sql)
    before = xy.view("m")
    assert before
    xy.change("x", delete=xy.rows["x"][-1])
    if way == "again":
        assert xy.run("m", sql, full_refresh=True).reason == "FULL_REFRESH"
        assert xy.view("m") == {}
    elif way == "replaced":
        xy.commits["x"][0] = replace(xy.commits["x"][0], operation="CREATE OR REPLACE TABLE")
        done = xy.run("m", sql)
        assert (done.strategy, done.reason) == (Strategy.RECOMPUTE, "SOURCE_REPLACED")
        assert xy.view("m") == before
    elif way == "another":
        with pytest.raises(InvalidModel, match="forbids a rebuild"):
            xy.run("m", sql + " and v > 3", full_refresh=False)
        assert xy.run("m", sql + " and v > 3").reason == "QUERY_CHANGED"
        assert xy.view("m") == {}
    else:
        xy.commits["m__ivm_state"].insert(0, Commit(2, "1", "DELETE"))
        with pytest.raises(Unsupported, match=r"its state cannot stay \(STATE_MODIFIED\)"):
            xy.run("m", sql)
        assert xy.view("m") == before


def test_a_run_that_died_between_the_two_commits_of_a_build(xy: Lake) -> None:
    sql = QUERIES["running_sum"]
    refresh = plan_refresh(xy.request("m", sql), xy)
    assert refresh.again
    for statement in refresh.statements:
        xy.execute("m", statement)
    xy.models["m"] = sql
    assert xy.run("m", sql).reason == "FIRST_BUILD"
    naive = Naive(xy, sql, "m", "i bigint, v bigint")
    assert xy.view("m") == naive.run()
