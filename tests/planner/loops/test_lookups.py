"""Rows of tables that are looked up by key, and not indexed."""

from __future__ import annotations

import random

import pytest
from sqlglot import parse_one

from python_ivm.algebra.columns import ColumnRef, Named
from python_ivm.algebra.nodes import Filter, Join, Project, Scan
from python_ivm.rows import lookups
from python_ivm.rows.kinds import ValueType
from python_ivm.rows.lookups import LookedUp, MadeRows
from python_ivm.rows.operators import Bag, Joined
from python_ivm.rows.pipeline import Pipeline
from tests.planner.delta import test_recursion
from tests.planner.lake import Lake
from tests.planner.loops.tables import Table
from tests.planner.stories import View


@pytest.mark.parametrize("most", [0, 2, 100])
@pytest.mark.parametrize("is_left", [False, True])
def test_they_are_those_of_a_join(
    most: int, is_left: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lookups, "_LOOKUPS", most)
    seeded = random.Random(most)
    keys = [None, 1, 2, 3]
    rows = [(seeded.choice(keys), seeded.choice(keys)) for _ in range(20)]
    first = LookedUp(Table(rows), 1, (lambda r: r[0], lambda r: r[1]), lambda r: r[0], is_left)
    second = Joined(
        (lambda r: r[1], lambda r: r[0]) if is_left else (lambda r: r[0], lambda r: r[1])
    )
    table: Bag = {row: rows.count(row) for row in rows}
    second.step({int(not is_left): table})
    for _ in range(5):
        change = {(seeded.choice(keys), n): seeded.choice([1, 2, -1]) for n in range(3)}
        assert first.step({0: change}) == second.step({int(is_left): change})


def test_what_is_chosen_of_a_table_is_looked_up_too() -> None:
    rows = Scan("s.t", "t", ("a", "b"))
    small = Filter(rows, parse_one("t.b < 5"))
    items = (
        Named("k", parse_one("t.b")),
        Named("one", parse_one("1")),
        Named("a", parse_one("t.a")),
    )
    changed = Scan("s.c", "c", ("k", "one"))
    conditions = (parse_one("c.k = q.k"), parse_one("c.one = q.one"))
    plan = Join((changed, Project(small, "q", items)), conditions)
    table = Table([(1, 2), (1, 2), (3, 4), (5, 6), (None, None)])
    ints = [ValueType("int"), ValueType("int")]
    shown = [(ColumnRef("q", "a"), ValueType("int")), (ColumnRef("c", "k"), ValueType("int"))]
    asked = Table.asked
    pipeline = Pipeline(plan, changed, ints, {id(rows): (table, ints)}, shown, ansi=False)
    sent: Bag = {(2, 1): 1, (4, 1): 3, (6, 1): 1, (4, 2): 1, (None, 1): 1}
    assert pipeline.send(sent) == {(1, 2): 2, (3, 4): 3}
    assert Table.asked == asked + 1


def test_what_is_computed_of_a_table_is_found_among_all_rows() -> None:
    made = MadeRows(
        Table([(1,), (2,), (3,)]), lambda row: (row[0] * 2,) if row[0] > 1 else None, [None]
    )
    assert list(made) == [(4,), (6,)] and len(made) == 2
    assert list(made.find(0, {6, 2})) == [(6,)]


@pytest.mark.usefixtures("looked_up")
@pytest.mark.parametrize("seed", range(3))
def test_recursions_that_look_rows_up_equal_their_queries(seed: int) -> None:
    asked = Table.asked
    for number in range(6):
        test_recursion.random_life(random.Random(seed * 77 + number), in_memory=True)
    assert Table.asked > asked


@pytest.mark.usefixtures("looked_up")
def test_loops_look_rows_up(lake: Lake) -> None:
    edges = [(1, 2), (2, 3), (3, 1), (4, 5), (None, 1), (5, None)]
    lake.create("e", {"a": "int", "b": "int"}, edges)
    sql = (
        "with recursive r as (select 1 as k union select e.b from r join s.e on s.e.a = r.k) "
        "select k from r"
    )
    asked = Table.asked
    view = View(lake, sql, judged=False)
    assert Table.asked > asked
    view.shows((1,), (2,), (3,))
    lake.change("e", delete=[(2, 3)], insert=[(2, 4)])
    lake.run("m", sql)
    view.shows((1,), (2,), (4,), (5,), (None,))
