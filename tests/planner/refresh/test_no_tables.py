"""Queries that read no table: built once, and looked at again when the clock they ask moves."""

from __future__ import annotations

import json
from datetime import date, timedelta

import pytest

from python_ivm.errors import Unsupported
from python_ivm.explain.explain import explain
from python_ivm.refresh.consistency import consistency_query
from python_ivm.refresh.options import Options, Policy
from python_ivm.refresh.plan import Strategy
from python_ivm.refresh.statement import StatementKind
from tests.planner.lake import Lake, instant
from tests.planner.stories import View

SPINE = "select explode(sequence(date '2024-04-28', {}, interval 1 day)) as day"
UNTIL_MAY = SPINE.format("date '2024-05-03'")
UNTIL_JUNE = SPINE.format("date '2024-06-02'")
UNTIL_TODAY = SPINE.format("current_date()")

QUERIES = {
    "constants": "select 1 as a, 'x' as b",
    "no_row": "select 1 as a where false",
    "spine": UNTIL_MAY,
    "lateral_view": "select d, year(d) as y from (select 1) q lateral view "
    "explode(sequence(date '2024-04-28', date '2024-05-03', interval 1 day)) t as d",
    "months": f"with days as ({UNTIL_JUNE}) "
    "select date_trunc('month', day) as month, count(*) as n from days group by 1",
    "range": "select id, id * 2 as twice from range(10)",
    "groups": "select id % 3 as r, count(*) as n, sum(id) as t from range(10) group by id % 3",
    "one_group": "select count(*) as n, max(id) as hi from range(10)",
    "values": "select * from values (1, 'a'), (2, 'b'), (2, 'b') as t(k, v)",
    "values_alone": "values (1, 'a'), (2, 'b'), (2, 'b')",
    "recursion": "with recursive n(i) as (select 1 union all select i + 1 from n where i < 5) "
    "select i from n",
    "union": "select 1 as a union all select 1 union all select 2",
    "distinct": "select 1 as a union select 1 union select 2",
    "window": "select id, row_number() over (order by id desc) as r from range(5)",
    "limit": "select id from range(10) order by id desc limit 3",
    "join": "select a.id, b.id as other from range(3) a left join range(1, 5) b on a.id = b.id",
    "exists": "select id from range(5) a where exists (select 1 from range(2) b where a.id = b.id)",
}


@pytest.mark.parametrize("name", QUERIES)
def test_it_is_built_once(lake: Lake, name: str) -> None:
    view = View(lake, QUERIES[name])
    for day in ("2024-05-01", "2024-05-02"):
        lake.now = instant(f"{day} 12:00:00")
        refresh = view.refresh(Strategy.NOOP)
        assert (refresh.reason, refresh.statements) == ("UNCHANGED", ())
        assert refresh.explanation == "the query reads no table"
    told = explain(lake.request("m", view.sql), lake)
    assert "no table: it is built once" in told and "holds" in told


def test_another_text_or_setting_is_another_query(lake: Lake) -> None:
    view = View(lake, QUERIES["constants"])
    settings = {"spark.sql.session.timeZone": "Europe/Paris"}
    assert lake.run("m", view.sql, settings=settings).reason == "QUERY_CHANGED"
    assert lake.run("m", "select 1 as a, 'y' as b", settings=settings).reason == "QUERY_CHANGED"
    assert lake.view("m") == {(1, "y"): 1}


BY_THE_CLOCK = {
    "until_today": UNTIL_TODAY,
    "in_a_condition": f"select day from ({UNTIL_JUNE}) q where day <= current_date()",
    "in_from": "select d from explode(sequence(date '2024-04-28', current_date(), "
    "interval 1 day)) as t(d)",
    "in_values": "select * from values (current_date()), (date '2024-05-01') as t(d)",
    "age": f"select day, date_diff(day, day, current_date()) as age from ({UNTIL_MAY}) q",
    "in_groups": f"select date_trunc('month', day) as month, count(*) as n "
    f"from ({UNTIL_TODAY}) q group by 1",
}


@pytest.mark.parametrize("name", BY_THE_CLOCK)
def test_what_differs_is_merged_when_the_clock_moves(lake: Lake, name: str) -> None:
    lake.size_of = lambda table: 1000
    view = View(lake, BY_THE_CLOCK[name])
    here = date(2024, 5, 1)
    for step in (1, 40, -2):
        lake.now = instant(f"{here} 18:00:00")
        view.refresh(Strategy.NOOP)
        here += timedelta(step)
        lake.now = instant(f"{here} 12:00:00")
        refresh = view.refresh(Strategy.RECOMPUTE, Strategy.INCREMENTAL)
        assert len(refresh.ranges) == 1 and refresh.ranges[0].startswith("clock@")
        view.refresh(Strategy.NOOP)


def test_models_above_a_spine_follow_its_new_day_alone(lake: Lake) -> None:
    lake.size_of = lambda table: 1000
    lake.run("days", UNTIL_TODAY)
    view = View(lake, "select count(*) as n from s.days")
    lake.now = instant("2024-05-02 12:00:00")
    lake.run("days", UNTIL_TODAY)
    assert lake.db.execute('select count(*) from s."days__ivm_state@feed1"').fetchone() == (1,)
    assert view.refresh().reason == "CHANGED"
    view.shows((5,))


def test_a_view_whose_text_has_the_date_is_rebuilt(lake: Lake) -> None:
    lake.size_of = lambda table: 1000
    view = View(lake, "select count(*) as n, current_date() as d from range(5)")
    lake.now = instant("2024-05-02 12:00:00")
    refresh = view.refresh(Strategy.FULL)
    assert refresh.reason == "CLOCK_MOVED"
    assert StatementKind.CREATE_VIEW in {statement.kind for statement in refresh.statements}


def test_a_state_of_unknown_size_is_rebuilt_when_the_clock_moves(lake: Lake) -> None:
    view = View(lake, UNTIL_TODAY)
    lake.now = instant("2024-05-02 12:00:00")
    assert view.refresh(Strategy.FULL).reason == "CLOCK_MOVED"


def test_the_policy_strict_has_nothing_against_it(lake: Lake) -> None:
    lake.size_of = lambda table: 1000
    strict = Options(policy=Policy.STRICT)
    assert lake.run("m", UNTIL_TODAY, options=strict).reason == "FIRST_BUILD"
    lake.now = instant("2024-05-02 12:00:00")
    refresh = lake.run("m", UNTIL_TODAY, options=strict)
    assert (refresh.strategy, refresh.reason) == (Strategy.RECOMPUTE, "CLOCK_MOVED")
    assert refresh.warning is None


def test_the_clock_in_from_beside_a_table_is_seen(lake: Lake) -> None:
    lake.create("a", {"k": "int"}, [(1,), (2,)])
    view = View(
        lake,
        "select a.k, t.d from s.a cross join explode(sequence(date '2024-04-30', "
        "current_date(), interval 1 day)) as t(d)",
    )
    lake.now = instant("2024-05-02 12:00:00")
    assert view.refresh(Strategy.FULL).reason == "CLOCK_MOVED"


@pytest.mark.parametrize(
    "sql", ["select rand() as r", "select uuid() as u from range(3)", "select current_user() as u"]
)
def test_what_does_not_follow_from_the_text_is_refused(lake: Lake, sql: str) -> None:
    with pytest.raises(Unsupported):
        lake.run("m", sql)


@pytest.mark.parametrize("name", ["spine", "values_alone", "recursion"])
def test_the_consistency_query_finds_what_somebody_changed(lake: Lake, name: str) -> None:
    sql = QUERIES[name]
    View(lake, sql)
    query = _with_text(lake, sql)
    assert lake.db.execute(lake.duck(query)).fetchall() == []
    lake.db.execute("delete from s.m__ivm_state where __ivm_hash__ = "
                    "(select min(__ivm_hash__) from s.m__ivm_state)")  # fmt: skip
    assert len(lake.db.execute(lake.duck(query)).fetchall()) == 1


def _with_text(lake: Lake, sql: str) -> str:
    """The consistency query, as if the state's property held the model's text."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lake, "properties", lambda parts: {"ivm.query": json.dumps(sql)})
        return consistency_query(("s", "m"), lake)
