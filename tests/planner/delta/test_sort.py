"""ORDER BY below the top has no effect; with LIMIT it has no rule yet."""

from __future__ import annotations

from python_ivm.refresh.statement import Strategy
from tests.planner.compare import assert_same
from tests.planner.lake import Lake
from tests.planner.stories import View


def test_an_order_inside_a_derived_table_is_passed_over(lake: Lake) -> None:
    lake.create("x", {"i": "int"}, [(3,), (1,), (2,)])
    view = View(lake, "select q.i + 1 as j from (select i from s.x order by i desc) q where i > 1")
    lake.change("x", delete=[(3,)], insert=[(5,), (0,)])
    view.refresh()
    view.shows((3,), (6,))


def test_an_order_inside_a_joined_derived_table_is_passed_over(lake: Lake) -> None:
    lake.create("x", {"i": "int"}, [(3,), (1,), (2,)])
    view = View(
        lake, "select q.i, x.i j from (select i from s.x order by i) q join s.x on q.i < x.i"
    )
    lake.change("x", delete=[(3,)], insert=[(5,), (0,)])
    view.refresh()


def test_a_limit_in_a_derived_table_that_is_the_whole_view_stays_with_the_view(lake: Lake) -> None:
    lake.create("x", {"i": "int"}, [(3,), (1,), (2,)])
    view = View(lake, "select q.i + 1 as j from (select i from s.x order by i desc limit 2) q")
    view.shows((4,), (3,))
    lake.change("x", delete=[(3,)], insert=[(9,)])
    view.refresh()
    view.shows((10,), (3,))


def test_a_limit_inside_keeps_the_right_rows(lake: Lake) -> None:
    lake.create("x", {"i": "int"}, [(3,), (1,), (2,)])
    sql = (
        "select q.i, x.i j from (select i from s.x order by i desc limit 2) q join s.x on q.i > x.i"
    )
    for change in ([], [(9,)], [(4,), (10,)]):
        lake.change("x", insert=change)
        refresh = lake.run("m", sql)
        assert refresh.reason in ("FIRST_BUILD", "CHANGED")
        assert_same(lake, "m")
    assert lake.run("m", sql).strategy is Strategy.NOOP
