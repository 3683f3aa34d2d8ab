"""A view without a topmost aggregate is a bag of rows, each stored once with its multiplicity."""

from __future__ import annotations

from tests.planner.lake import Lake
from tests.planner.stories import View


def test_multiplicity_is_exact_through_many_rounds(lake: Lake) -> None:
    lake.create("x", {"v": "string"}, [("a",), ("a",), (None,)])
    view = View(lake, "select v from s.x")
    for delete, insert in (
        ([("a",)], [(None,), ("b",)]),
        ([(None,), (None,)], [("a",), ("a",), ("a",)]),
        ([("a",), ("a",), ("b",)], []),
        ([], [("b",), (None,)]),
    ):
        lake.change("x", delete=delete, insert=insert)
        view.refresh()
    view.shows(("a",), ("a",), ("b",), (None,))


def test_equal_rows_are_stored_once(lake: Lake) -> None:
    lake.create("x", {"v": "int"}, [(1,)] * 5 + [(2,)])
    View(lake, "select v from s.x")
    stored = lake.db.execute("select v, __ivm_count__ from s.m__ivm_state").fetchall()
    assert sorted(stored) == [(1, 5), (2, 1)]


def test_a_cross_product_multiplies_multiplicities(lake: Lake) -> None:
    lake.create("x", {"v": "int"}, [(1,)] * 3)
    lake.create("y", {"w": "int"}, [(2,)] * 4)
    view = View(lake, "select v, w from s.x, s.y")
    view.shows(*[(1, 2)] * 12)
    lake.change("x", delete=[(1,)])
    lake.change("y", insert=[(2,)])
    view.refresh()
    view.shows(*[(1, 2)] * 10)


def test_rows_of_nan_infinity_and_zero_of_either_sign(lake: Lake) -> None:
    odd = [(float("nan"),), (float("inf"),), (0.0,), (-0.0,), (None,)]
    lake.create("x", {"v": "double"}, odd)
    view = View(lake, "select v from s.x")
    lake.change("x", delete=[*odd[:1], (-0.0,)], insert=[(float("nan"),), (float("nan"),)])
    view.refresh()
    lake.change("x", delete=[(float("nan"),), (0.0,)])
    view.refresh()
    view.shows((float("nan"),), (float("inf"),), (None,))


def test_order_and_limit_count_repeated_rows(lake: Lake) -> None:
    lake.create("x", {"v": "int"}, [(1,), (1,), (2,), (3,)])
    view = View(lake, "select v from s.x order by v limit 3")
    view.shows((1,), (1,), (2,))
    lake.change("x", insert=[(1,)])
    view.refresh()
    view.shows((1,), (1,), (1,))


def test_an_order_by_what_is_not_shown(lake: Lake) -> None:
    lake.create("x", {"v": "int", "w": "int"}, [(1, 9), (1, 8), (2, 7)])
    view = View(lake, "select v from s.x order by w desc limit 2")
    view.shows((1,), (1,))
    lake.change("x", insert=[(5, 10)], delete=[(1, 9)])
    view.refresh()
    view.shows((5,), (1,))
    assert [c[0] for c in lake.db.execute("describe s.m").fetchall()] == ["v"]


def test_distinct_shows_each_row_once_and_counts_below(lake: Lake) -> None:
    lake.create("x", {"v": "int", "w": "int"}, [(1, 1), (1, 2), (None, 1)])
    view = View(lake, "select distinct v from s.x")
    view.shows((1,), (None,))
    lake.change("x", delete=[(1, 1)])
    view.refresh()
    view.shows((1,), (None,))
    lake.change("x", delete=[(1, 2)], insert=[(None, 5), (4, 4)])
    view.refresh()
    view.shows((None,), (4,))
