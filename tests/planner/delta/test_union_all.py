"""UNION ALL: the delta is the union of the inputs' deltas."""

from __future__ import annotations

import pytest

from tests.planner.lake import Lake
from tests.planner.stories import View


@pytest.fixture
def ab(lake: Lake) -> Lake:
    lake.create("a", {"k": "int", "v": "string"}, [(1, "x"), (2, "y")])
    lake.create("b", {"n": "int", "w": "string"}, [(1, "x"), (3, None)])
    return lake


def test_equal_rows_of_both_sides_are_counted(ab: Lake) -> None:
    view = View(ab, "select k, v from s.a union all select n, w from s.b")
    view.shows((1, "x"), (1, "x"), (2, "y"), (3, None))
    ab.change("a", delete=[(1, "x")])
    view.refresh()
    view.shows((1, "x"), (2, "y"), (3, None))


def test_a_row_that_moves_from_one_side_to_the_other_touches_nothing(ab: Lake) -> None:
    view = View(ab, "select k, v from s.a union all select n, w from s.b")
    ab.change("a", delete=[(2, "y")])
    ab.change("b", insert=[(2, "y")])
    assert view.touched() == []
    view.refresh()


@pytest.mark.parametrize(
    "sql",
    [
        "select k, v from s.a union all select k, v from s.a",
        "select k from s.a union all select n from s.b union all select k + 1 from s.a",
        "(select k from s.a) union all (select n from s.b)",
        "select k, v from s.a where k > 1 union all select max(n), w from s.b group by w",
        "select v, count(*) n from (select k, v from s.a union all select n, w from s.b) q "
        "group by v",
        "select distinct v from (select v from s.a union all select w from s.b) q",
        "select q.k, b.w from (select k from s.a union all select n from s.b) q "
        "join s.b on q.k = b.n",
        "select k, v from s.a union select n, w from s.b",
        "select v, k from s.a union all select w, n from s.b order by k, v limit 3",
        "with c as (select k from s.a union all select n from s.b) "
        "select x.k, y.k as l from c x join c y on x.k <= y.k",
        "select 1 as one, v from s.a union all select 2, w from s.b",
        "select sum(k) t from (select k from s.a union all select n from s.b) q",
    ],
)
def test_unions_in_every_place(ab: Lake, sql: str) -> None:
    view = View(ab, sql)
    ab.change("a", insert=[(3, None), (3, "z")], delete=[(1, "x")])
    view.refresh()
    ab.change("b", insert=[(1, "x"), (2, "y")], delete=[(3, None)])
    ab.change("a", delete=[(2, "y"), (3, "z")])
    view.refresh()
