"""WHERE applies to the delta as it does to the rows."""

from __future__ import annotations

import pytest

from python_ivm.refresh.statement import Strategy
from tests.planner.lake import Lake
from tests.planner.stories import View


@pytest.fixture
def view(lake: Lake) -> View:
    lake.create("x", {"i": "int", "v": "int"}, [(1, 5), (2, 50), (3, None)])
    return View(lake, "select i, v from s.x where v > 10")


def test_an_update_moves_a_row_into_and_out_of_the_filter(lake: Lake, view: View) -> None:
    view.shows((2, 50))
    lake.change("x", delete=[(1, 5), (2, 50)], insert=[(1, 11), (2, 10)])
    view.refresh()
    view.shows((1, 11))


def test_a_condition_that_is_null_keeps_nothing(lake: Lake, view: View) -> None:
    lake.change("x", delete=[(2, 50)], insert=[(2, None)])
    view.refresh()
    view.shows()


def test_a_change_outside_the_filter_touches_nothing(lake: Lake, view: View) -> None:
    lake.change("x", delete=[(1, 5), (3, None)], insert=[(1, 6), (4, 0), (5, None)])
    assert view.touched() == []
    view.refresh(Strategy.NOOP)


@pytest.mark.parametrize(
    "condition",
    [
        "v is null or i = 1",
        "not (v > 10)",
        "v in (5, 6, null)",
        "v not in (5, 50)",
        "i between 2 and 3 and (v = 50 or v is null)",
        "coalesce(v, 0) % 2 = 0",
        "case when i = 1 then true else v > 10 end",
        "v <=> null",
        "true",
        "1 = 0",
    ],
)
def test_any_condition(lake: Lake, condition: str) -> None:
    lake.create("x", {"i": "int", "v": "int"}, [(1, 5), (2, 50), (3, None)])
    view = View(lake, f"select i, v from s.x where {condition}")
    lake.change("x", delete=[(2, 50), (3, None)], insert=[(2, None), (3, 5), (1, 6)])
    view.refresh(Strategy.INCREMENTAL, Strategy.NOOP)
    lake.change("x", delete=[(1, 5)], insert=[(None, None)])
    view.refresh(Strategy.INCREMENTAL, Strategy.NOOP)


def test_filters_stack_through_derived_tables(lake: Lake) -> None:
    lake.create("x", {"i": "int", "v": "int"}, [(1, 5), (2, 50), (3, 7)])
    view = View(lake, "select v from (select * from s.x where i > 1) q where q.v < 40")
    view.shows((7,))
    lake.change("x", insert=[(2, 8), (1, 9), (5, 45)])
    view.refresh()
    view.shows((7,), (8,))
