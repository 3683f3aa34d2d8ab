"""WITH RECURSIVE: all rounds now and before, of which only the difference is written."""

from __future__ import annotations

import pytest

from python_ivm.refresh.statement import Strategy
from tests.planner.lake import Lake, instant
from tests.planner.stories import View

CHAIN = """with recursive chain as (
    select id, 0 as depth from s.staff where boss is null
    union all
    select s.id, c.depth + 1 from s.staff s join chain c on s.boss = c.id
)"""
ROWS = [(1, None), (2, 1), (3, 1), (4, 2), (4, 2)]


@pytest.fixture
def staff(lake: Lake) -> Lake:
    lake.create("staff", {"id": "int", "boss": "int"}, ROWS)
    return lake


def test_rows_come_and_go_with_those_that_they_hang_on(staff: Lake) -> None:
    view = View(staff, f"{CHAIN} select id, depth from chain")
    view.shows((1, 0), (2, 1), (3, 1), (4, 2), (4, 2))
    staff.change("staff", delete=[(2, 1)], insert=[(5, 3)])
    view.refresh()
    view.shows((1, 0), (3, 1), (5, 2))
    staff.change("staff", delete=[(1, None)], insert=[(2, None), (1, 4)])
    view.refresh()
    view.shows((2, 0), (4, 1), (4, 1), (1, 2), (1, 2), (3, 3), (3, 3), (5, 4), (5, 4))


def test_only_rows_that_differ_are_written(staff: Lake) -> None:
    view = View(staff, f"{CHAIN} select id, depth from chain")
    staff.change("staff", insert=[(7, 4)])
    assert [row[:2] for row in view.touched()] == [(7, 3)]
    view.refresh()


def test_a_row_that_hangs_on_none_changes_nothing(staff: Lake) -> None:
    view = View(staff, f"{CHAIN} select id, depth from chain")
    staff.change("staff", insert=[(8, 9), (9, None)], delete=[])
    staff.change("staff", delete=[(9, None)])
    assert view.touched() == []
    view.refresh()


def test_a_large_change(staff: Lake) -> None:
    view = View(staff, f"{CHAIN} select depth, count(*) as n, max(id) as m from chain group by 1")
    staff.change("staff", delete=ROWS, insert=[(n, n // 3 or None) for n in range(1, 90)])
    view.refresh()
    view.shows((0, 2, 2), (1, 6, 8), (2, 18, 26), (3, 54, 80), (4, 9, 89))


def test_aggregates_and_outer_joins_above(staff: Lake) -> None:
    staff.create("pay", {"id": "int", "sum": "int"}, [(1, 10), (3, 5), (None, 7)])
    view = View(
        staff,
        f"{CHAIN}, paid as (select c.depth, sum(p.sum) as t from chain c left join s.pay p "
        "on p.id = c.id group by c.depth) select a.id, b.t from chain a full join paid b "
        "on a.depth = b.depth and b.t > 5",
    )
    staff.change("pay", insert=[(4, 9), (2, 1)], delete=[(1, 10)])
    view.refresh()
    staff.change("staff", delete=[(3, 1)], insert=[(3, 4)])
    staff.change("pay", insert=[(1, None)])
    view.refresh()


def test_a_recursion_over_constants_never_changes(staff: Lake) -> None:
    view = View(
        staff,
        "with recursive n(i) as (select 1 union all select i + 1 from n where i < 4) "
        "select n.i, count(s.id) as c from n left join s.staff s on s.boss = n.i group by n.i",
    )
    staff.change("staff", insert=[(6, 4)])
    assert "recomputed" not in view.planned().sql
    view.refresh()
    view.shows((1, 2), (2, 2), (3, 0), (4, 1))


def test_the_clock_in_a_step(lake: Lake) -> None:
    lake.create("t", {"day": "date"}, [("2024-04-29",)])
    lake.now = instant("2024-05-01 12:00:00")
    view = View(
        lake,
        "with recursive days as (select min(day) as day from s.t union all "
        "select cast(day + interval 1 day as date) from days where day < current_date()) "
        "select count(*) as n from days",
    )
    view.shows((3,))
    lake.now = instant("2024-05-03 12:00:00")
    view.refresh()
    view.shows((5,))
    lake.change("t", delete=[("2024-04-29",)], insert=[("2024-05-02",)])
    view.refresh()
    view.shows((2,))


def test_a_view_with_a_recursion_and_a_model_over_one(staff: Lake) -> None:
    staff.define("org", f"{CHAIN} select id, depth from chain")
    view = View(staff, "select o.depth, s.id from s.org o join s.staff s on s.boss = o.id")
    staff.run("org_model", f"{CHAIN} select id, depth from chain")
    above = "select depth, count(*) as n from s.org_model group by depth"
    staff.run("above", above)
    staff.change("staff", delete=[(2, 1)], insert=[(2, 3)])
    view.refresh()
    assert staff.run("org_model", f"{CHAIN} select id, depth from chain").strategy is (
        Strategy.INCREMENTAL
    )
    assert staff.run("above", above).strategy is Strategy.INCREMENTAL
    staff.check("above")
