"""What a model reads on a real Spark: views, other models, one table under several names."""

from __future__ import annotations

import pytest

from dbt.adapters.sparkivm.bridge.warehouse import Row, SparkWarehouse
from python_ivm.parse.clock_calls import at
from python_ivm.refresh.consistency import consistency_query
from python_ivm.sources.clock import Instant
from tests.spark.workbench import FEED, Bench, View, bag, refresher

pytestmark = pytest.mark.spark
thorough = pytest.mark.thorough

XS = ("(1, 1)", "(1, 1)", "(1, 2)", "(2, 5)", "(null, 7)", "(2, 5)")


@pytest.fixture
def xy(bench: Bench) -> Bench:
    bench.table("x", "i int, v int", *XS)
    bench.table("y", "i int, w string", "(1, 'a')", "(2, 'b')", "(2, null)")
    return bench


def changed(bench: Bench) -> None:
    bench.sql("delete from x where v = 1", "insert into x values (1, 3), (3, null), (3, null)")
    bench.sql("update x set v = 6 where v = 5", "update y set i = 3 where w = 'b'")


def consistent(view: View) -> None:
    """The test `ivm_consistent` finds no difference."""
    query = consistency_query((view.bench.schema, view.name), SparkWarehouse(view.bench.query))
    assert view.bench.sql(query) == []


def test_views_are_taken_apart_to_the_tables_below_them(xy: Bench, rounds: int) -> None:
    s = xy.schema
    xy.sql("create view v1 (k, `the value` comment 'of x', z) as select i, v, v from x -- all")
    xy.sql("create schema if not exists other_place", "use other_place")
    xy.sql(f"create or replace view v2 as with x as (select * from {s}.v1) select * from x")
    xy.sql(f"use {s}")
    grouped = xy.view("select k, sum(`the value`) as t from other_place.v2 group by k")
    joined = xy.view(f"select {s}.V1.k, w from {s}.v1 left join y on y.i = {s}.v1.k")
    for _ in range(rounds):
        changed(xy)
        for view in (grouped, joined):
            consistent(view)
            view.refresh()
            consistent(view)
    xy.refresh("noop")
    xy.sql("create or replace view v1 as select i as k, v as `the value`, 1 as z from x")
    assert grouped.refresh("full").refresh.reason == "VIEW_CHANGED"


@pytest.mark.thorough
def test_partitioned_and_clustered_tables(bench: Bench) -> None:
    bench.sql(
        f"create table p (k int, v int, day date) using delta partitioned by (day, k) {FEED}",
        f"create table c (k int, v int, `#n` int) using delta cluster by (k) {FEED}",
        "insert into p values (1, 5, date'2024-01-01'), (1, 6, date'2024-01-02'), "
        "(2, 7, date'2024-01-02'), (null, 8, null)",
        "insert into c values (1, 1, 1), (1, 1, 1), (2, 2, null)",
    )
    bench.view("select day, sum(v) as s, count(*) as n from p group by day")
    bench.view("select p.k, p.day, c.v, c.`#n` from p left join c on p.k = c.k")
    bench.sql(
        "delete from p where day = date'2024-01-01'",
        "insert into p values (3, 1, date'2024-01-03'), (1, 1, null)",
        "update c set `#n` = 5 where k = 2",
    )
    bench.refresh()
    bench.sql("update p set k = 2 where k is null", "optimize c", "delete from c where k = 1")
    bench.refresh()
    bench.sql("insert overwrite p partition (day = date'2024-01-02', k = 1) select 9")
    bench.refresh()


@thorough
def test_views_below_a_model_that_is_rebuilt(xy: Bench) -> None:
    xy.sql("create view v1 as select i as k, v as z from x")
    inner = "select k, approx_percentile(z, 0.5) as y from v1 group by k"
    rebuilt = View(xy, "rebuilt", f"select y, count(*) as n from ({inner}) q group by y")
    rebuilt.refresh("full")
    changed(xy)
    rebuilt.refresh("full")
    consistent(rebuilt)


def test_a_view_keeps_the_columns_and_types_that_it_was_made_with(xy: Bench) -> None:
    xy.sql("create view v as select * from x")
    view = xy.view("select * from v")
    xy.sql("alter table x add columns (more int)", "insert into x values (9, 9, 9)")
    view.refresh()
    assert len(view.rows()[0]) == 2


@pytest.mark.thorough
def test_a_view_made_under_other_settings_is_read_as_it_stands(xy: Bench) -> None:
    xy.sql("set spark.sql.ansi.enabled = true")
    xy.sql("create view v as select i, cast(v as string) as t from x")
    xy.sql("set spark.sql.ansi.enabled = false")
    view = View(xy, "m", "select i, t from v")
    refresh = view.refresh("full").refresh
    assert refresh.reason == "SOURCE_NOT_DELTA"
    assert "made under another spark.sql.ansi.enabled" in refresh.explanation


def test_a_temporary_view_comes_before_the_table_of_its_name(xy: Bench) -> None:
    xy.sql("create temporary view y as select i, 'seven' as w from x")
    view = xy.view("select i, w from y")
    assert {row[1] for row in view.rows()} == {"seven"}
    xy.sql("insert into x (i) values (70)")
    xy.refresh()


@pytest.mark.thorough
def test_a_temporary_view_without_a_text_comes_before_the_table_of_its_name(xy: Bench) -> None:
    xy.handle.session.sql("select 7 as i, 'seven' as w").createOrReplaceTempView("y")
    view = View(xy, "m", "select i, w from y")
    refresh = view.refresh("full").refresh
    assert view.rows() == [(7, "seven")]
    assert refresh.reason == "SOURCE_NOT_DELTA" and "temporary view" in refresh.explanation


@pytest.mark.thorough
def test_models_over_models_are_maintained(xy: Bench, rounds: int) -> None:
    """Three deep: a bag with duplicates, HAVING, DISTINCT, with a view in between and a limit."""
    xy.view("select x.i, x.v, y.w from x left join y on x.i = y.i")
    xy.view("select i, v, count(*) as n from m1 group by i, v having count(*) > 1")
    xy.sql("create view between_them as select i, n, avg(n) over (partition by i) as a from m2")
    xy.view("select distinct i, n from between_them")
    xy.view("select m3.i, m1.w from m3 join m1 on m3.i = m1.i order by w limit 5")
    if rounds > 1:
        xy.view("select i, sum(v) as t, avg(v) as a, max(v) as hi from m1 group by i order by t")
        xy.view("select w, count(*) as n from m4 group by w")
        xy.view("select a, count(*) as n from m5 group by a")
    top, deterministic = xy.views[3], [v for v in xy.views if v.name not in ("m4", "m6")]
    for round_ in range(rounds):
        changed(xy)
        xy.sql(f"insert into x values (1, {round_}), (1, {round_}), (2, 5), (2, 5)")
        for view in xy.views:
            assert view.run().refresh.strategy.value == "incremental"
        for view in deterministic:
            view.check()
            consistent(view)
        consistent(top)
    for view in xy.views:
        assert view.run().refresh.strategy.value == "noop"
    xy.views[0].refresh("full", full_refresh=True)
    xy.views[1].refresh("recompute")


def test_a_table_under_several_names_is_one_source(xy: Bench, rounds: int) -> None:
    """Spark reads the first of two change-feed ranges of one table twice."""
    s = xy.schema
    view = xy.view(f"select a.i, b.v from x a join {s}.X b on a.i = b.i join spark_catalog.{s}.x c "
                   "on c.i = a.i")  # fmt: skip
    for _ in range(rounds):
        changed(xy)
        done = view.refresh()
        assert len(done.refresh.ranges) == 1
        consistent(view)


DAYS = (
    ("2024-05-03", ""),
    ("2024-05-06", "(6, date '2024-05-05')"),
    ("2024-05-04", ""),
    ("2024-06-01", "(1, date '2024-06-02')"),
)


CLOCKS = {
    "window": "select k, day from d where day >= current_date() - interval 2 days "
    "and day <= current_date",
    "grouped": "select count(*) as n from d where day < now()",
    "joined": "select d.k, x.v from d left join x on x.i = d.k and d.day is not null "
    "where d.day > current_date()",
    "shown": "select k, day = current_date() as m from d",
}


@pytest.mark.parametrize(
    "name", ["window", *(pytest.param(n, marks=thorough) for n in ("grouped", "joined", "shown"))]
)
def test_the_clock_moves_rows_in_and_out(xy: Bench, name: str) -> None:
    """The session's clock is moved by answering the adapter's question for it."""
    xy.table("d", "k int, day date", *(f"({n}, date '2024-05-0{n}')" for n in range(1, 9)))
    xy.sql("insert into d values (3, date '2024-05-03'), (null, null)")
    here = {"today": "2024-05-03"}

    def by_the_clock(sql: str) -> list[Row]:
        if "current_timestamp()) AS micros" in sql:
            noon = f"timestamp '{here['today']} 12:00:00'"
            return xy.query(f"select '{here['today']}' as today, '{here['today']} 12:00:00' as "
                            f"local, unix_micros({noon}) as micros")  # fmt: skip
        return xy.query(sql)

    view = View(xy, name, CLOCKS[name])
    assert refresher(by_the_clock).refresh(view.request()).refresh.reason == "FIRST_BUILD"
    for day, insert in DAYS:
        here["today"] = day
        if insert:
            xy.sql(f"insert into d values {insert}")
        done = refresher(by_the_clock).refresh(view.request()).refresh
        allowed = ("CLOCK_MOVED" if name == "shown" else "CHANGED", "UNCHANGED")
        assert done.reason in allowed, (name, done.explanation)
        consistent(view)
        time = Instant(day, f"{day} 12:00:00+00:00", f"{day} 12:00:00")
        assert bag(xy.sql(f"select * from {name}")) == bag(xy.sql(at(view.sql, time))), day
