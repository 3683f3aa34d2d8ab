"""Rows of tables that are looked up by key, and not indexed."""

from __future__ import annotations

import random

import pytest

from python_ivm.rows import lookups
from python_ivm.rows.lookups import LookedUp
from python_ivm.rows.operators import Bag, Joined
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
