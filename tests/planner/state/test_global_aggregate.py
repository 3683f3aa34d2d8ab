"""An aggregate without GROUP BY always has its one row."""

from __future__ import annotations

import pytest

from tests.planner.lake import Lake
from tests.planner.stories import View

ALL = "count(*) c, count(v) n, sum(v) t, avg(v) m, min(v) lo, max(v) hi, count(distinct v) d"


def test_over_an_empty_table_the_row_is_there_from_the_start(lake: Lake) -> None:
    lake.create("x", {"v": "int"}, [])
    view = View(lake, f"select {ALL} from s.x")
    view.shows((0, 0, None, None, None, None, 0))
    lake.change("x", insert=[(4,), (None,)])
    view.refresh()
    view.shows((2, 1, 4, 4.0, 4, 4, 1))


def test_the_row_stays_when_everything_is_deleted_as_truncate_does(lake: Lake) -> None:
    lake.create("x", {"v": "int"}, [(1,), (2,), (2,)])
    view = View(lake, f"select {ALL} from s.x")
    lake.change("x", delete=[(1,), (2,), (2,)])
    view.refresh()
    view.shows((0, 0, None, None, None, None, 0))
    lake.change("x", insert=[(7,)])
    view.refresh()
    view.shows((1, 1, 7, 7.0, 7, 7, 1))


@pytest.mark.parametrize("item", ["count(*)", "sum(v)", "max(v)", "count(distinct v)", "avg(v)"])
def test_each_aggregate_alone(lake: Lake, item: str) -> None:
    lake.create("x", {"v": "int"}, [(1,), (5,)])
    view = View(lake, f"select {item} a from s.x where v > 1")
    lake.change("x", delete=[(5,)])
    view.refresh()
    lake.change("x", insert=[(9,), (3,)])
    view.refresh()


def test_a_change_that_the_filter_keeps_out_touches_nothing(lake: Lake) -> None:
    lake.create("x", {"v": "int"}, [(1,), (5,)])
    view = View(lake, "select count(*) c, max(v) hi from s.x where v > 3")
    lake.change("x", insert=[(2,)])
    assert view.touched() == []
    view.refresh()
    lake.change("x", delete=[(2,)], insert=[(0,)])
    assert view.touched() == []
    view.refresh()


def test_having_may_hide_the_row(lake: Lake) -> None:
    lake.create("x", {"v": "int"}, [(1,)])
    view = View(lake, "select sum(v) t from s.x having count(*) > 1")
    view.shows()
    lake.change("x", insert=[(2,)])
    view.refresh()
    view.shows((3,))
    lake.change("x", delete=[(1,), (2,)])
    view.refresh()
    view.shows()


def test_group_by_all_without_keys_is_one_row(lake: Lake) -> None:
    lake.create("x", {"v": "int"}, [(1,)])
    view = View(lake, "select count(*) c from s.x group by all")
    lake.change("x", delete=[(1,)])
    view.refresh()
    view.shows((0,))


def test_over_a_join(lake: Lake) -> None:
    lake.create("x", {"k": "int", "v": "int"}, [(1, 10), (2, 20)])
    lake.create("y", {"k": "int"}, [(1,), (1,)])
    view = View(lake, "select sum(v) t, count(*) c from s.x join s.y using (k)")
    view.shows((20, 2))
    lake.change("y", delete=[(1,), (1,)])
    view.refresh()
    view.shows((None, 0))
