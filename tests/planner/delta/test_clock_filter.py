"""Conditions that ask the clock: the rows that it moves in or out, and only they."""

from __future__ import annotations

import random
from datetime import date, datetime, timedelta

import pytest

from python_ivm.errors import Unsupported
from python_ivm.explain.explain import explain
from python_ivm.refresh.consistency import consistency_query
from python_ivm.refresh.plan import Strategy
from python_ivm.refresh.statement import StatementKind
from tests.planner.lake import Lake, instant
from tests.planner.stories import View

START = date(2024, 5, 1)


@pytest.fixture
def days(lake: Lake) -> Lake:
    """Days around the first of May, some twice, and one unknown."""
    around = [START + timedelta(n) for n in range(-6, 7)]
    rows = [(n, day, datetime(day.year, day.month, day.day, 12)) for n, day in enumerate(around)]
    rows += [rows[3], rows[7], (None, None, None), (5, around[0], None)]
    lake.create("x", {"k": "int", "day": "date", "at": "timestamp"}, rows)
    lake.create("y", {"k": "int", "day": "date"}, [(n, START) for n in range(0, 13, 2)])
    return lake


def on(lake: Lake, day: date, time: str = "12:00:00") -> None:
    lake.now = instant(f"{day.isoformat()} {time}")


QUERIES = {
    "window": "select k, day from s.x where day >= current_date() - interval 2 days",
    "past": "select k from s.x where day < current_date",
    "future": "select day from s.x where current_date() < day",
    "until": "select day from s.x where day <= curdate()",
    "this_day": "select k, day from s.x where day = current_date()",
    "between": "select k, day from s.x where day between current_date() - interval 3 days "
    "and current_date()",
    "two": "select k, day from s.x where day > current_date() - interval 3 days "
    "and day <= current_date() + interval 1 day and k > 3",
    "some_days": "select k, day from s.x where day >= current_date() - interval 4 days "
    "and day <> current_date()",
    "not_this_day": "select k from s.x where day <> current_date()",
    "either": "select k from s.x where day = current_date() or k = 4",
    "case": "select k from s.x where case when day > current_date() then k > 5 else k < 3 end",
    "by_expression": "select k from s.x where day + interval 1 day >= current_date()",
    "no_column": "select k from s.x where current_date() > date '2024-05-03'",
    "with_nulls": "select k from s.x where day > nullif(current_date(), date '2024-05-02')",
    "timestamp": "select k, at from s.x where at >= now() - interval 36 hours",
    "both": "select k from s.x where at < current_timestamp() and day >= current_date()",
    "grouped": "select k % 3 as r, count(*) as n, sum(k) as t, max(day) as hi from s.x "
    "where day >= current_date() group by k % 3",
    "distinct": "select distinct day from s.x where day <= current_date()",
    "having": "select k % 4 as r, count(*) as n from s.x group by k % 4 "
    "having max(day) > current_date() and count(*) > 1",
    "join": "select x.k, y.day from s.x join s.y on x.k = y.k and x.day >= current_date()",
    "join_where": "select x.k, y.k as yk from s.x, s.y where x.k = y.k and "
    "x.day >= current_date() and y.day < current_date()",
    "left_on": "select y.k, x.day from s.y left join s.x on x.k = y.k and x.day >= current_date()",
    "right_on": "select y.k, x.day from s.x right join s.y on x.k = y.k and x.day > current_date()",
    "left_where": "select y.k, x.day from s.y left join s.x on x.k = y.k "
    "where x.day is null or x.day < current_date()",
    "left_grouped": "select y.k, g.hi from s.y left join (select k, max(day) as hi from s.x "
    "group by k) g on g.k = y.k where g.hi >= current_date()",
    "exists": "select k from s.y where exists (select 1 from s.x where x.k = y.k "
    "and x.day >= current_date())",
    "not_in": "select k from s.y where k not in (select x.k from s.x where x.k is not null "
    "and x.day >= current_date())",
    "scalar": "select y.k, (select count(*) from s.x where x.k = y.k and x.day >= current_date()) "
    "as n from s.y",
    "derived": "select r, count(*) as n from (select k % 3 as r from s.x "
    "where day >= current_date()) t where r > 0 group by r",
    "union": "select k from s.x where day > current_date() union all select k from s.y "
    "where day <= current_date()",
    "qualify": "select k, day from s.x qualify row_number() over (order by day, k) < 4 "
    "and day > current_date() - interval 9 days",
    "cte": "with recent as (select * from s.x where day >= current_date()) "
    "select a.k, b.day from recent a join recent b on a.k = b.k",
}


@pytest.mark.parametrize("name", QUERIES)
def test_the_view_follows_the_clock_and_its_sources(days: Lake, name: str) -> None:
    view = View(days, QUERIES[name])
    rng = random.Random(name)
    here = START
    for step in (1, 0, 3, -2, 9):
        here += timedelta(step)
        on(days, here, rng.choice(["12:00:00", "00:00:00", "23:59:59.999999"]))
        if rng.random() < 0.5:
            present = days.rows["x"][-1]
            gone = rng.sample(present, min(2, len(present)))
            k = rng.randrange(13)
            days.change("x", delete=gone, insert=[(k, here, datetime(2024, 5, 1, 13)), gone[0]])
        view.keep_up()


ELSEWHERE = {
    "column": "select k, current_date() as d from s.x",
    "age": "select date_diff(day, day, current_date()) as age, count(*) as n from s.x group by 1",
    "in_aggregate": "select sum(case when day < current_date() then 1 end) as n from s.x",
    "above_groups": "select k, max(day) as hi, current_date() as today from s.x group by k",
    "having_and_column": "select k, current_date() as today from s.x group by k, today "
    "having max(day) < current_date()",
    "kept_side": "select y.k, x.k as xk from s.y left join s.x on x.k = y.k and "
    "y.day < current_date()",
    "full_join": "select y.k, x.k as xk from s.y full join s.x on x.k = y.k and "
    "x.day < current_date()",
    "order": "select k from s.x order by day = current_date(), k limit 2",
    "condition_too": "select k, current_date() as d from s.x where day >= current_date()",
    "window": "select k, row_number() over (partition by day < current_date() order by k, day, at) "
    "as n from s.x",
}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_elsewhere_the_view_is_maintained_until_the_date_is_another_one(
    days: Lake, name: str
) -> None:
    view = View(days, ELSEWHERE[name])
    on(days, START, "18:00:00")
    view.refresh(Strategy.NOOP)
    for step in range(2):
        days.change("x", delete=[days.rows["x"][-1][0]], insert=[(50 + step, START, None)])
        view.refresh()
        on(days, START + timedelta(2 * step + 2))
        assert view.refresh(Strategy.FULL).reason == "CLOCK_MOVED"
        view.refresh(Strategy.NOOP)


def test_the_public_view_tells_the_date_of_its_rows(days: Lake) -> None:
    View(days, ELSEWHERE["above_groups"])
    created = next(s for s in days.executed if s.kind is StatementKind.CREATE_VIEW)
    assert "CAST('2024-05-01' AS DATE) AS today" in " ".join(created.sql.split())


def test_a_time_elsewhere_is_another_one_at_every_run(days: Lake) -> None:
    view = View(days, "select k, current_timestamp() as seen from s.x")
    on(days, START, "12:00:01")
    assert view.refresh(Strategy.FULL).reason == "CLOCK_MOVED"


def test_explain_tells_when_the_clock_rebuilds(days: Lake) -> None:
    view = View(days, ELSEWHERE["column"])
    assert "whenever the clock's reading (today)" in explain(days.request("m", view.sql), days)


@pytest.mark.parametrize(
    "sql",
    [
        "select k from s.x where at > current_time()",
        "select k from s.x where day > date 'today'",
        "select k from s.x where at > cast(' Now ' as timestamp)",
        "select k from s.x where at > to_timestamp('yesterday')",
        "select k from s.x where day >= 'today'",
        "select k from s.x where day between 'Yesterday' and '2024-05-03'",
        "select k from s.x where day in ('2024-05-03', 'tomorrow')",
        "select k from s.x where case day when 'today' then true else k = 3 end",
        "select k from s.x where decode(day, 'today', k, 0) > 2",
        "select k from (select k, day as d from s.x) q where d = 'today'",
        "select k, coalesce(day, 'today') as day from s.x",
        "select k from s.x where at > to_timestamp_ntz('now')",
        "select k from s.x where at > try_to_timestamp('now')",
        "select k from s.x where at > cast(concat('no', 'w') as timestamp)",
        "select datediff('today', day) as age from s.x",
        "select k from s.x where at > date_trunc('month', 'now UTC')",
        "select k from s.x where unix_timestamp() > 5",
        "select k from s.x where at > localtimestamp",
        "select k, day current_date from s.x where day > current_date",
    ],
)
def test_a_clock_that_could_be_missed_is_refused(days: Lake, sql: str) -> None:
    with pytest.raises(Unsupported, match=r"clock|without any change"):
        days.run("m", sql)


def test_a_view_that_asks_the_clock_is_maintained(days: Lake) -> None:
    days.db.execute("set schema = 's'")
    days.views["recent"] = None  # type: ignore[assignment]
    days.define("recent", "select k, day from x where day >= date '2024-05-01'")
    text = "select k, day from x where day >= current_date()"
    days.define("recent", text)
    done = days.run("m", "select day, count(*) as n from recent group by day")
    assert done.reason == "FIRST_BUILD"
    days.models["m"] = f"select day, count(*) as n from ({text}) r group by day"
    days.check("m")
    on(days, START + timedelta(3))
    done = days.run("m", "select day, count(*) as n from recent group by day")
    assert done.strategy is Strategy.INCREMENTAL
    days.models["m"] = f"select day, count(*) as n from ({text}) r group by day"
    days.check("m")


def test_the_consistency_query_runs_by_the_clock_of_the_bookmark(days: Lake) -> None:
    sql = QUERIES["between"]
    view = View(days, sql)
    build = next(s for s in days.executed if s.kind is StatementKind.BUILD)
    value = build.sql.split("'ivm.query' = '", 1)[1].split("')\nAS\n", 1)[0]
    kept = {"ivm.query": value.replace("\\\\", "\\")}
    days.properties = lambda parts: kept  # type: ignore[method-assign]
    for step in (0, 1, 4):
        on(days, START + timedelta(step))
        query = consistency_query(("s", "m"), days)
        assert "current_date" not in query
        assert days.db.execute(days.duck(query)).fetchall() == []
        days.properties = lambda parts: {"delta.enableChangeDataFeed": "true", **kept}  # type: ignore[method-assign]
        view.keep_up()


def test_explain_shows_what_the_clock_does(days: Lake) -> None:
    view = View(days, QUERIES["window"])
    text = explain(days.request("m", view.sql), days)
    assert "Filter x.day >= :today - INTERVAL '2' DAYS" in text
    assert "When the clock moves" in text and "rows that the clock moved in or out" in text
