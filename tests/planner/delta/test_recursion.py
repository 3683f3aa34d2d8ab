"""WITH RECURSIVE: all rounds now and before, of which only the difference is written."""

from __future__ import annotations

import pytest

from python_ivm.refresh.statement import Strategy
from tests.planner.lake import Lake
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


def test_a_large_change(staff: Lake) -> None:
    view = View(staff, f"{CHAIN} select depth, count(*) as n, max(id) as m from chain group by 1")
    staff.change("staff", delete=ROWS, insert=[(n, n // 3 or None) for n in range(1, 90)])
    view.refresh()
    view.shows((0, 2, 2), (1, 6, 8), (2, 18, 26), (3, 54, 80), (4, 9, 89))


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
