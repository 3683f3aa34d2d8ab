"""SELECT's expressions apply to the delta as they do to the rows."""

from __future__ import annotations

import pytest

from tests.planner.lake import Lake
from tests.planner.stories import View


@pytest.fixture
def xs(lake: Lake) -> Lake:
    lake.create("x", {"i": "int", "s": "string"}, [(1, "a"), (-1, "a"), (2, None)])
    return lake


def test_rows_that_become_equal_are_counted(xs: Lake) -> None:
    view = View(xs, "select abs(i) as n from s.x")
    view.shows((1,), (1,), (2,))
    xs.change("x", delete=[(-1, "a")], insert=[(-2, "b")])
    view.refresh()
    view.shows((1,), (2,), (2,))


def test_a_change_of_a_column_that_is_not_shown_touches_nothing(xs: Lake) -> None:
    view = View(xs, "select abs(i) as n from s.x")
    xs.change("x", delete=[(1, "a"), (2, None)], insert=[(-1, "z"), (2, "y")])
    assert view.touched() == []
    view.refresh()


@pytest.mark.parametrize(
    "items",
    [
        "i + 1 as a, i * 2 - 1 as b",
        "case when i > 0 then s else 'neg' end as c, coalesce(s, '-') as d",
        "concat(s, '!') as c, upper(s) as u, length(s) as n",
        "cast(i as string) as t, cast(i as decimal(10,2)) as m",
        "1 as one, 'x' as word, null as nothing, i",
        "-1 as minus, 2 as two",
        "i as a, i as b, i + 0 as c",
        "s is null as missing, i > 1 as big",
        "date_add(date '2024-01-31', i) as d",
    ],
)
def test_any_deterministic_expression(xs: Lake, items: str) -> None:
    view = View(xs, f"select {items} from s.x")
    xs.change("x", delete=[(1, "a")], insert=[(5, "b"), (None, None), (2, None)])
    view.refresh()
    xs.change("x", delete=[(2, None), (5, "b")])
    view.refresh()


def test_a_view_of_constants_counts_rows(xs: Lake) -> None:
    view = View(xs, "select 7 as seven from s.x")
    view.shows((7,), (7,), (7,))
    xs.change("x", delete=[(1, "a")], insert=[(9, "z"), (9, "z")])
    view.refresh()
    view.shows((7,), (7,), (7,), (7,))


def test_names_keep_their_spelling_and_may_need_quotes(xs: Lake) -> None:
    view = View(xs, "select i as `Total Amount`, s as `größe;=` , i + 1 as `select` from s.x")
    names = [c[0] for c in xs.db.execute("describe s.m").fetchall()]
    assert names == ["Total Amount", "größe;=", "select"]
    xs.change("x", insert=[(4, "q")])
    view.refresh()


def test_star_and_qualified_star(xs: Lake) -> None:
    view = View(xs, "select t.*, upper(t.s) as u from s.x t")
    xs.change("x", delete=[(2, None)], insert=[(2, "now")])
    view.refresh()
    view.shows((1, "a", "A"), (-1, "a", "A"), (2, "now", "NOW"))
