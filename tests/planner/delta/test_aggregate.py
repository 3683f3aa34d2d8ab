"""An aggregate below another operator: the affected groups, new minus old."""

from __future__ import annotations

import pytest

from python_ivm.refresh.statement import Strategy
from tests.planner.lake import Lake
from tests.planner.stories import View


@pytest.fixture
def xy(lake: Lake) -> Lake:
    lake.create("x", {"i": "int", "v": "int"}, [(1, 1), (1, 2), (2, 5), (None, 7), (3, None)])
    lake.create("y", {"i": "int", "w": "string"}, [(1, "a"), (1, "a"), (2, "b"), (None, "n")])
    return lake


def test_a_group_changes_its_value_below_a_join(xy: Lake) -> None:
    view = View(
        xy,
        "select y.w, g.n from (select i, count(*) n from s.x group by i) g join s.y on g.i = y.i",
    )
    view.shows(("a", 2), ("a", 2), ("b", 1))
    xy.change("x", insert=[(1, 9), (2, 9)])
    xy.change("y", delete=[(1, "a")])
    view.refresh()
    view.shows(("a", 3), ("b", 2))


def test_a_group_appears_and_another_vanishes_below_a_join(xy: Lake) -> None:
    view = View(
        xy,
        "select y.w, g.t from (select i, sum(v) t from s.x group by i) g join s.y on g.i <=> y.i",
    )
    xy.change("x", delete=[(2, 5), (None, 7)], insert=[(4, 4)])
    xy.change("y", insert=[(4, "d")])
    view.refresh()
    view.shows(("a", 3), ("a", 3), ("d", 4))


def test_a_group_that_keeps_its_value_touches_nothing(xy: Lake) -> None:
    view = View(
        xy, "select n, count(*) c from (select i, count(*) n from s.x group by i) g group by n"
    )
    xy.change("x", delete=[(1, 1)], insert=[(1, 100)])
    assert view.touched() == []
    view.refresh(Strategy.NOOP)


@pytest.mark.parametrize(
    "sql",
    [
        "select max(n) m from (select i, count(*) n from s.x group by i) g",
        "select n, count(*) c from (select i, count(*) n from s.x group by i) g group by n",
        "select d, count(*) c from (select distinct i, v % 2 d from s.x) q group by d",
        "select q.i from (select distinct i from s.x) q",
        "select q.i, y.w from (select distinct i from s.x) q join s.y on q.i = y.i",
        "select n, count(*) c from (select i, count(*) n from (select distinct i, v from s.x) q "
        "group by i) g group by n",
        "select g.t, y.w from (select sum(v) t from s.x) g cross join s.y",
        "select count(*) c from (select sum(v) t from s.x) g join s.y on g.t > y.i",
        "select i from (select i, min(v) lo, max(v) hi from s.x group by i) g where hi > lo",
        "select g.i, y.w from (select i, sum(v) t from s.x group by i having count(*) > 1) g "
        "join s.y on g.i = y.i",
        "with c as (select i, sum(v) t from s.x group by i) "
        "select a.t, count(*) k from c a, c b where a.t <= b.t group by a.t",
        "with c as (select i, sum(v) t from s.x group by i) "
        "select x.v, c.t from s.x join c on x.i = c.i where x.v = c.t",
        "select g.i from (select i, count(distinct v) d from s.x group by i) g "
        "join s.y on g.i = y.i where d > 1",
        "select n from (select i, count(*) n from s.x group by i) g "
        "union all select count(*) from s.y",
        "select a.n, b.m from (select i, count(*) n from s.x group by i) a "
        "join (select i, count(*) m from s.y group by i) b on a.i = b.i",
        "select g.m, y.w from (select i % 2 as p, max(v) m from s.x group by i % 2) g "
        "join s.y on g.p = y.i",
    ],
)
def test_aggregates_below_every_operator(xy: Lake, sql: str) -> None:
    view = View(xy, sql)
    xy.change("x", insert=[(1, 2), (2, None), (5, 5)])
    view.refresh()
    xy.change("x", delete=[(1, 1), (2, 5), (None, 7)], insert=[(None, 8), (3, 1)])
    xy.change("y", delete=[(1, "a")], insert=[(5, "e"), (3, "c")])
    view.refresh()
    xy.change("x", delete=list(xy.rows["x"][-1]))
    view.refresh()
    xy.change("x", insert=[(1, 1), (2, 3)])
    view.refresh()


def test_an_inner_row_without_groups_stays_when_everything_is_deleted(xy: Lake) -> None:
    view = View(xy, "select g.t, g.n, y.w from (select sum(v) t, count(*) n from s.x) g, s.y")
    xy.change("x", delete=list(xy.rows["x"][-1]))
    view.refresh()
    view.shows(*[(None, 0, w) for w in ("a", "a", "b", "n")])
