"""One value of a column at a time (``ivm_step: <column>``)."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from datetime import date

import duckdb
import pytest

from python_ivm.errors import InvalidModel
from python_ivm.refresh.consistency import consistency_query
from python_ivm.refresh.options import Options
from python_ivm.refresh.plan import Refresh, Strategy
from python_ivm.refresh.strategy import plan_refresh
from python_ivm.render.time_points import literal
from python_ivm.sources.history import Until
from tests.planner.lake import Lake, Row, bag
from tests.planner.refresh.delays.naive import Naive

BY_DAY = Options.of({"ivm_step": "day"})
Timed = tuple[int | None, int | None, int | None]

QUERIES = {
    "running_sum": "select i, least(sum(v), 90) as v from (select i, v from s.x union all "
    "select i, v from s.m) q group by i",
    "alternating": "select i, v from s.x where not exists (select 1 from s.m where m.i = x.i)",
    "joined": "select x.i, coalesce(y.v, 0) + coalesce(max(m.v), 0) as v from s.x "
    "left join s.y on x.i = y.i left join s.m on m.i = x.i where coalesce(m.v, 0) < 40 "
    "group by x.i, y.v",
    "and_one_without": "select x.i, z.w + coalesce(max(m.v), 0) as v from s.x join s.z "
    "on x.i = z.i left join s.m on m.i = x.i where coalesce(m.v, 0) < 40 group by x.i, z.w",
    "capped": "select i, v from s.x where v + (select coalesce(sum(v), 0) from s.m) < 9 "
    "union all select i, v from s.m where v > 1",
}


@pytest.mark.parametrize("value", ["2024", "${spark.app.name}", "a$ ${env:HOME} ${", "$"])
def test_a_text_is_no_reference_to_a_setting(value: str) -> None:
    """Spark put the setting, or its environment, in its place."""
    for kind in ("string", "varchar(40)"):
        told = literal(Until("day", kind, value)).sql("spark")
        assert "${" not in told
        assert duckdb.sql(f"select {told}").fetchall() == [(value,)]


def some(rng: random.Random, days: range) -> Timed:
    day = rng.choice([*days, None] if rng.random() < 0.1 else list(days))
    return (rng.choice([None, 1, 2, 3]), rng.choice([None, 1, 2, 3]), day)


class Points:
    """The steps of a model by their definition, each computed by DuckDB from all rows.

    The lake of the definition holds of each source the rows that are seen, and no more.
    """

    def __init__(self, lake: Lake, sql: str) -> None:
        self.lake, self.seen = lake, Lake()
        for name in lake.rows:
            if name in ("x", "y", "z"):
                self.seen.create(name, lake.types[name])
        self.naive = Naive(self.seen, sql, "m", "i bigint, v bigint")
        self.read = [name for name in ("x", "y", "z") if f"s.{name}" in sql]
        self.reached: int | None = None
        self.rows: Counter[Row] = Counter()
        self.steps = 0

    def run(self) -> None:
        """All steps that are pending."""
        if self.steps and self.show(self.reached):
            self.step()
        pending = {
            row[2]
            for name in self.read
            if name != "z"
            for row in self.lake.rows[name][-1]
            if row[2] is not None and (self.reached is None or row[2] > self.reached)
        }
        for day in sorted(pending):
            self.reached = day
            self.show(day)
            self.step()
        if not self.steps:
            self.show(None)
            self.step()

    def show(self, day: int | None) -> bool:
        """Show the rows of a day and before; whether any row is another one."""
        changed = False
        for name in self.read:
            now = [
                row
                for row in self.lake.rows[name][-1]
                if name == "z" or row[2] is None or (day is not None and row[2] <= day)
            ]
            if bag(now) != bag(self.seen.rows[name][-1]):
                self.seen.change(name, delete=self.seen.rows[name][-1], insert=now)
                changed = True
        return changed

    def step(self) -> None:
        self.rows = self.naive.run()
        self.steps += 1


def run(lake: Lake, sql: str, **more: object) -> Refresh:
    return lake.run("m", sql, **{"options": BY_DAY, **more})


@pytest.fixture
def xyz(lake: Lake) -> Lake:
    rng = random.Random(3)
    for name in "xy":
        columns = dict.fromkeys(("i", "v", "day"), "int")
        lake.create(name, columns, [some(rng, range(1, 4)) for _ in range(4)])
    lake.create("z", {"i": "int", "w": "int"}, [(1, 1), (2, 2)])
    return lake


def change(lake: Lake, rng: random.Random, number: int) -> None:
    table = rng.choice("xxyz")
    if table == "z":
        lake.change("z", insert=[(rng.choice([1, 2, 3]), rng.choice([1, 2]))])
        return
    present = lake.rows[table][-1]
    late = rng.random() < 0.3
    days = range(1, number + 5) if late else range(number + 4, number + 7)
    gone = rng.sample(present, min(len(present), rng.choice([0, 0, 1, 2])))
    lake.change(table, delete=gone, insert=[some(rng, days) for _ in range(rng.randint(0, 3))])


@pytest.mark.parametrize("name", QUERIES)
def test_each_value_is_a_step(xyz: Lake, name: str) -> None:
    rng, sql = random.Random(name), QUERIES[name]
    points = Points(xyz, sql)
    for number in range(8):
        points.run()
        refresh = run(xyz, sql)
        assert xyz.view("m") == points.rows, f"{number}: {refresh.explanation}"
        if number:
            assert refresh.strategy is not Strategy.FULL, refresh.explanation
        for _ in range(rng.choice([0, 1, 1, 2])):
            change(xyz, rng, number)
    query = consistency_query(("s", "m"), xyz)
    assert xyz.db.execute(xyz.duck(query)).fetchall() == []


def test_a_log_of_each_value(xyz: Lake) -> None:
    """ISTREAM at each time point, of a query without delay."""
    rng = random.Random(8)
    sql = "select x.i, sum(y.v) as v from s.x left join s.y on x.i = y.i group by x.i"
    options = Options.of({"ivm_step": "day", "ivm_output": "inserted"})
    points = Points(xyz, sql)
    before: Counter[Row] = Counter()
    came: list[Counter[Row]] = []
    step = points.step

    def logged() -> None:
        nonlocal before
        step()
        came.append(points.rows - before)
        before = points.rows

    points.step = logged  # type: ignore[method-assign]
    for number in range(7):
        points.run()
        run(xyz, sql, options=options)
        steps: dict[int, Counter[Row]] = {}
        for row, times in xyz.view("m").items():
            steps.setdefault(row[-1], Counter())[row[:-1]] += times
        assert [steps[n] for n in sorted(steps)] == [rows for rows in came if rows], number
        change(xyz, rng, number)
    query = consistency_query(("s", "m"), xyz)
    assert xyz.db.execute(xyz.duck(query)).fetchall() == []


NEW = (
    "select i, least(sum(v), 50) as v from (select i, v from s.x /* ivm_new */ union all "
    "select i, v from s.m) q group by i"
)


def test_new_rows_are_those_of_the_value(lake: Lake) -> None:
    lake.create("x", dict.fromkeys(("i", "v", "day"), "int"), [(1, 1, 1), (1, 5, 3), (2, 2, 2)])
    lone = NEW.split("union all")[0].replace("select i, least(sum(v), 50)", "select i, sum(v)")
    sql = f"{lone}) q group by i"
    seen = []
    for rows in ([(3, 7, 4), (1, 1, 9)], [(1, 1, 2)], []):
        lake.run("m", NEW, options=BY_DAY)
        lake.run("last", sql, options=BY_DAY)
        seen.append((lake.view("m"), lake.view("last")))
        if rows:
            lake.change("x", insert=rows)
    assert seen == [
        (Counter({(1, 6): 1, (2, 2): 1}), Counter({(1, 5): 1})),
        (Counter({(1, 7): 1, (2, 2): 1, (3, 7): 1}), Counter({(1, 1): 1})),
        (Counter({(1, 8): 1, (2, 2): 1, (3, 7): 1}), Counter({(1, 1): 1})),
    ]
    for name in ("m", "last"):
        query = consistency_query(("s", name), lake)
        assert lake.db.execute(lake.duck(query)).fetchall() == []


def test_the_result_does_not_depend_on_when_rows_were_written() -> None:
    rows = [(day % 3, day % 4, day) for day in range(1, 13)]
    found = []
    for cuts in ([12], [3, 3, 6], [1] * 12):
        lake = Lake()
        columns = dict.fromkeys(("i", "v", "day"), "int")
        left = random.Random(1).sample(rows[: cuts[0]], cuts[0])
        lake.create("x", columns, left)
        run(lake, QUERIES["running_sum"])
        start = cuts[0]
        for cut in cuts[1:]:
            lake.change("x", insert=rows[start : start + cut])
            start += cut
            run(lake, QUERIES["running_sum"])
        found.append(lake.view("m"))
    assert found[1:] == found[:1] * 2


def built_and_pending(xyz: Lake, sql: str) -> Points:
    """Build a model, and let values come that are pending; what it is to show after them."""
    points = Points(xyz, sql)
    points.run()
    run(xyz, sql)
    xyz.change("x", insert=[(1, 1, 6), (2, 2, 7), (1, 2, 8), (1, 3, 1)])
    points.run()
    return points


@pytest.mark.parametrize("done", [1, 2, 3])
def test_a_run_that_dies_between_two_values(xyz: Lake, done: int) -> None:
    sql = QUERIES["joined"]
    points = built_and_pending(xyz, sql)
    for _ in range(done):
        refresh = plan_refresh(xyz.request("m", sql, options=BY_DAY), xyz)
        assert refresh.again
        for statement in refresh.statements:
            xyz.execute("m", statement)
    assert xyz.view("m") != points.rows
    xyz.change("x", insert=[(2, 1, 7)])  # before 7 was taken, or after
    run(xyz, sql)
    assert run(xyz, sql).strategy is Strategy.NOOP
    query = consistency_query(("s", "m"), xyz)
    assert xyz.db.execute(xyz.duck(query)).fetchall() == []


def test_what_is_left_by_a_run_that_died_is_done_by_the_next(xyz: Lake) -> None:
    sql = QUERIES["capped"]
    points = built_and_pending(xyz, sql)
    refresh = plan_refresh(xyz.request("m", sql, options=BY_DAY), xyz)
    for statement in refresh.statements:
        xyz.execute("m", statement)
    run(xyz, sql)
    assert xyz.view("m") == points.rows


def test_what_came_late_is_said(xyz: Lake) -> None:
    sql = QUERIES["running_sum"]
    run(xyz, sql)
    xyz.change("x", insert=[(1, 1, 2)])
    refresh = plan_refresh(xyz.request("m", sql, options=BY_DAY), xyz)
    assert "changes of rows with day at 3 or before came late" in refresh.explanation
    assert "came late" in refresh.summary() and refresh.strategy is Strategy.INCREMENTAL
    run(xyz, sql)
    assert run(xyz, sql).strategy is Strategy.NOOP
    xyz.optimize("x")
    assert run(xyz, sql).statements == ()


def test_a_source_that_was_replaced(xyz: Lake) -> None:
    sql = QUERIES["running_sum"]
    points = Points(xyz, sql)
    points.run()
    run(xyz, sql)
    xyz.change("x", delete=xyz.rows["x"][-1], insert=[(1, 2, 3), (3, 3, 8), (3, 1, 9)])
    newest = xyz.commits["x"][0]
    xyz.commits["x"][0] = replace(newest, operation="CREATE OR REPLACE TABLE AS SELECT")
    points.run()
    run(xyz, sql)
    assert xyz.view("m") == points.rows


def test_words_and_dates_are_time_points(lake: Lake) -> None:
    lake.create("x", {"i": "int", "day": "date"}, [(1, date(2024, 1, 2)), (2, date(2024, 1, 1))])
    sql = "select i, 1 as v from s.x union all select i + 10, v from s.m where i < 10"
    run(lake, sql)
    assert lake.view("m") == Counter({(1, 1): 1, (2, 1): 1, (12, 1): 1})
    lake.create("w", {"i": "int", "word": "string"}, [(1, "b'"), (2, "a"), (3, None)])
    sql = sql.replace("s.x", "s.w").replace("s.m", "s.n")
    lake.run("n", sql, options=Options.of({"ivm_step": "word"}))
    assert lake.view("n") == Counter({(1, 1): 1, (2, 1): 1, (3, 1): 1, (12, 1): 1, (13, 1): 1})


def test_without_a_delay_steps_do_not_matter(xyz: Lake) -> None:
    sql = "select i, sum(v) as v from s.x group by i"
    run(xyz, sql)
    xyz.change("x", insert=[(1, 1, 7), (1, 1, 8)])
    run(xyz, sql)
    xyz.check("m")
    assert len([s for s in xyz.executed if s.sql.startswith("MERGE")]) == 1


def test_columns_that_order_nothing(xyz: Lake) -> None:
    sql = QUERIES["running_sum"]
    with pytest.raises(InvalidModel, match="no source of the model has a column") as error:
        run(xyz, sql, options=Options.of({"ivm_step": "week"}))
    assert (error.value.model, error.value.line) == ("m", 1)
    xyz.create("f", {"i": "int", "v": "int", "day": "double"})
    with pytest.raises(InvalidModel, match=r"s.f.day is of type double, which says no order"):
        run(xyz, sql.replace("s.x", "s.f"))
    xyz.create("d", {"i": "int", "v": "int", "day": "date"})
    with pytest.raises(InvalidModel, match="several types in the model's sources: date, int"):
        run(xyz, QUERIES["joined"].replace("s.y", "s.d").replace("y.", "d."))
    with pytest.raises(InvalidModel, match="and ivm_policy is full"):
        Options.of({"ivm_step": "day", "ivm_policy": "full"})
    with pytest.raises(InvalidModel, match="Config ivm_step is 3"):
        Options.of({"ivm_step": 3})


def test_too_many_values(xyz: Lake) -> None:
    options = Options.of({"ivm_step": "day", "ivm_max_steps": 5})
    run(xyz, QUERIES["capped"], options=options)
    xyz.change("x", insert=[(1, 1, day) for day in range(10, 16)])
    with pytest.raises(InvalidModel, match=r"6 values of day are pending.*ivm_max_steps is 5"):
        run(xyz, QUERIES["capped"], options=options)
