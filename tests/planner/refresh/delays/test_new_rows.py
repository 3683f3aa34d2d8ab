"""The rows of a source that came since the last step (``ivm_new``)."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from python_ivm.errors import InvalidModel
from python_ivm.parse.marks import Mark
from python_ivm.refresh.consistency import consistency_query
from python_ivm.refresh.options import Options, StepMode
from python_ivm.refresh.plan import Strategy
from tests.planner.lake import Lake, Row, bag
from tests.planner.test_operators import some

NEW = Mark.NEW.comment
QUERIES = {
    "new": f"select i, v from s.x {NEW}",
    "grouped": f"select i, count(*) as n, sum(v) as v from s.x {NEW} where v > 1 group by i",
    "joined": f"select x.i, y.w from s.x {NEW} join s.y on x.i = y.i",
    "beside": f"select n.i, (select count(*) from s.x) as v from s.x {NEW} as n",
    "of_a_view": f"select j, count(*) as n from s.seen {NEW} group by j",
    "of_a_model": f"select i, n from s.counts {NEW}",
}
FOLDS = {
    "log": f"select i, v from s.m union all select i, v from s.x {NEW}",
    "sum": "select i, sum(v) as v from (select i, v from s.m union all "
    f"select i, v from s.x {NEW}) q group by i",
    "last": "select i, v from (select i, v, row_number() over (partition by i order by t desc, "
    f"v desc nulls last) as r from (select i, v, 0 as t from s.m union all select i, v, 1 from "
    f"s.x {NEW}) q) w where r = 1",
}


@pytest.fixture
def xy(lake: Lake) -> Lake:
    rng = random.Random(5)
    for name, columns in {"x": ("i", "v"), "y": ("i", "w")}.items():
        lake.create(name, dict.fromkeys(columns, "int"), [some(rng) for _ in range(5)])
    lake.define("seen", "select i + 1 as j, v from s.x where v is not null")
    return lake


def change(lake: Lake, rng: random.Random) -> None:
    gone = rng.sample(lake.rows["x"][-1], rng.choice([0, 0, 1, 2]))
    lake.change("x", delete=gone, insert=[some(rng) for _ in range(rng.choice([1, 2, 3]))])


def relation(lake: Lake, name: str) -> Counter[Row]:
    return bag(lake.db.execute(f"select * from s.{name}").fetchall())


def computed(lake: Lake, sql: str, name: str, seen: Counter[Row]) -> Counter[Row]:
    """A query over the rows of a relation that are not among those that the last step saw."""
    new = list((relation(lake, name) - seen).elements())
    columns = [column[0] for column in lake.db.execute(f"describe s.{name}").fetchall()]
    lake.db.execute("create schema if not exists fresh")
    lake.db.execute(f"create or replace table fresh.{name} as select * from s.{name} limit 0")
    if new:
        marks = ", ".join("?" for _ in columns)
        lake.db.executemany(f"insert into fresh.{name} values ({marks})", new)
    return bag(
        lake.db.execute(lake.duck(sql.replace(f"s.{name} {NEW}", f"fresh.{name}"))).fetchall()
    )


@pytest.mark.parametrize("name", QUERIES)
def test_new_rows_are_those_that_came_since_the_last_run(xy: Lake, name: str) -> None:
    rng, sql = random.Random(name), QUERIES[name]
    counts = "select i, count(*) as n from s.x group by i"
    source = {"of_a_view": "seen", "of_a_model": "counts"}.get(name, "x")
    seen: Counter[Row] = Counter()
    for number in range(7):
        if number and rng.random() < 0.7:
            change(xy, rng)
        xy.run("counts", counts)
        refresh = xy.run("m", sql)
        expected = computed(xy, sql, source, seen)
        assert xy.view("m") == expected, f"{number}: {refresh.explanation}"
        if number:
            assert refresh.strategy is not Strategy.FULL, refresh.explanation
        seen = relation(xy, source)
        query = consistency_query(("s", "m"), xy)
        assert xy.db.execute(xy.duck(query)).fetchall() == []


@pytest.mark.parametrize("step", StepMode)
@pytest.mark.parametrize("name", FOLDS)
def test_each_new_row_is_taken_once(xy: Lake, name: str, step: StepMode) -> None:
    rng, sql, options = random.Random(name), FOLDS[name], Options(step=step)
    xy.db.execute("create schema before")
    xy.db.execute("create table before.m (i bigint, v bigint)")
    seen: Counter[Row] = Counter()

    def simulated() -> Counter[Row]:
        nonlocal seen
        text = sql.replace("from s.m", "from before.m")
        rows = computed(xy, text, "x", seen)
        seen = relation(xy, "x")
        xy.db.execute("delete from before.m")
        for row in rows.elements():
            xy.db.execute("insert into before.m values (?, ?)", list(row))
        return rows

    expected = simulated()
    xy.run("m", sql, options=options)
    assert xy.view("m") == expected
    for number in range(6):
        for _ in range(rng.choice([0, 1, 2])):
            change(xy, rng)
            if step is StepMode.COMMIT:
                expected = simulated()
        if step is StepMode.REFRESH:
            expected = simulated()
        refresh = xy.run("m", sql, options=options)
        assert xy.view("m") == expected, f"{number}: {refresh.explanation}"
        assert refresh.strategy is not Strategy.FULL, refresh.explanation
    assert [xy.run("m", sql, options=options).strategy for _ in range(3)][-1] is Strategy.NOOP
    query = consistency_query(("s", "m"), xy)
    assert xy.db.execute(xy.duck(query)).fetchall() == []


@pytest.mark.parametrize("sql", [FOLDS["log"], QUERIES["new"]])
def test_a_full_refresh_takes_all_rows_as_new(xy: Lake, sql: str) -> None:
    xy.run("m", sql)
    xy.change("x", delete=xy.rows["x"][-1][:2], insert=[(3, 3)])
    xy.run("m", sql)
    assert xy.view("m") != relation(xy, "x")
    xy.run("m", sql, full_refresh=True)
    assert xy.view("m") == relation(xy, "x")
    assert xy.db.execute(xy.duck(consistency_query(("s", "m"), xy))).fetchall() == []


def test_what_is_new_of_no_delta_table_is_not_known(xy: Lake) -> None:
    xy.types["plain"] = {"i": "int"}
    xy.db.execute("create table s.plain (i int)")
    with pytest.raises(InvalidModel, match=r"line 2, column 6: s.plain is no Delta table"):
        xy.run("m", f"select i\nfrom s.plain {NEW}")


def test_two_feeds_of_one_table_are_read_by_its_path(xy: Lake) -> None:
    """By its name Spark takes one of them for another read of the table, and refuses the plan."""
    xy.run("m", QUERIES["beside"])
    for rows in ([(1, 1)], [(2, 2)], [(3, 3)]):
        xy.change("x", insert=rows)
        xy.executed.clear()
        assert xy.run("m", QUERIES["beside"]).strategy is Strategy.INCREMENTAL
        feeds = "".join(statement.sql for statement in xy.executed).lower()
        assert "table_changes_by_path('file:/lake/x'" in feeds
        assert "table_changes('`s`.`x`'" not in feeds
