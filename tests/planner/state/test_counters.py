"""Aggregates maintained from hidden counters: NULLs, empty groups, floats, extreme values."""

from __future__ import annotations

from decimal import Decimal

import pytest
from sqlglot import exp

from python_ivm.state.counters import NonNull
from tests.planner.lake import Lake
from tests.planner.stories import View

INF, NAN = float("inf"), float("nan")


def numbers(lake: Lake, rows: list[tuple[object, ...]], items: str, kind: str = "int") -> View:
    lake.create("x", {"k": "string", "v": kind}, rows)
    return View(lake, f"select k, {items} from s.x group by k")


ALL = "count(*) c, count(v) n, sum(v) t, avg(v) m, min(v) lo, max(v) hi"


def test_counts_sums_averages_and_extremes_follow_inserts_updates_and_deletes(lake: Lake) -> None:
    view = numbers(lake, [("a", 1), ("a", 3), ("b", 5)], ALL)
    view.shows(("a", 2, 2, 4, 2.0, 1, 3), ("b", 1, 1, 5, 5.0, 5, 5))
    lake.change("x", delete=[("a", 3)], insert=[("a", 7), ("b", 1), ("c", 9)])
    view.refresh()
    view.shows(("a", 2, 2, 8, 4.0, 1, 7), ("b", 2, 2, 6, 3.0, 1, 5), ("c", 1, 1, 9, 9.0, 9, 9))


def test_a_group_whose_values_all_became_null_shows_null(lake: Lake) -> None:
    view = numbers(lake, [("a", 1), ("a", 3)], ALL)
    lake.change("x", delete=[("a", 1), ("a", 3)], insert=[("a", None), ("a", None)])
    view.refresh()
    view.shows(("a", 2, 0, None, None, None, None))
    lake.change("x", delete=[("a", None)], insert=[("a", 4)])
    view.refresh()
    view.shows(("a", 2, 1, 4, 4.0, 4, 4))


def test_values_that_cancel_out_sum_to_zero_not_to_null(lake: Lake) -> None:
    view = numbers(lake, [("a", 5)], "sum(v) t")
    lake.change("x", insert=[("a", -5)])
    view.refresh()
    view.shows(("a", 0))


@pytest.mark.parametrize("kind", ["int", "decimal(28,2)"])
def test_a_value_that_came_and_went_leaves_a_new_group_without_a_sum(lake: Lake, kind: str) -> None:
    view = numbers(lake, [("a", 1)], "sum(v) t", kind)
    lake.change("x", insert=[("b", 5), ("b", None)])
    lake.change("x", delete=[("b", 5)])
    view.refresh()
    view.shows(("a", 1), ("b", None))


def test_a_group_of_no_rows_is_removed_and_may_come_back(lake: Lake) -> None:
    view = numbers(lake, [("a", 1), ("b", 2)], ALL)
    lake.change("x", delete=[("a", 1)])
    view.refresh()
    view.shows(("b", 1, 1, 2, 2.0, 2, 2))
    lake.change("x", insert=[("a", 8)])
    view.refresh()
    view.shows(("a", 1, 1, 8, 8.0, 8, 8), ("b", 1, 1, 2, 2.0, 2, 2))


def test_a_group_is_emptied_and_filled_between_two_refreshes(lake: Lake) -> None:
    view = numbers(lake, [("a", 1), ("a", 2)], ALL)
    lake.change("x", delete=[("a", 1), ("a", 2)])
    lake.change("x", insert=[("a", 10)])
    view.refresh()
    view.shows(("a", 1, 1, 10, 10.0, 10, 10))


def test_null_is_a_group_of_its_own(lake: Lake) -> None:
    view = numbers(lake, [(None, 1), (None, 2), ("", 3)], "sum(v) t, max(v) hi")
    lake.change("x", delete=[(None, 2)], insert=[(None, 5)])
    view.refresh()
    view.shows((None, 6, 5), ("", 3, 3))


def test_filter_counts_only_what_it_lets_through(lake: Lake) -> None:
    view = numbers(
        lake,
        [("a", 1), ("a", 20), ("b", 2)],
        "count(*) filter (where v > 10) big, sum(v) filter (where v > 10) t, "
        "min(v) filter (where v > 10) lo, avg(v) filter (where v < 0) neg, count(*) c",
    )
    view.shows(("a", 1, 20, 20, None, 2), ("b", 0, None, None, None, 1))
    lake.change("x", delete=[("a", 20)], insert=[("a", 3), ("b", 30), ("b", 11), ("b", -4)])
    view.refresh()
    view.shows(("a", 0, None, None, None, 2), ("b", 2, 41, 11, -4.0, 4))


def test_decimals_add_up_exactly(lake: Lake) -> None:
    rows = [("a", Decimal("0.10")), ("a", Decimal("0.20")), ("b", Decimal("99999999.99"))]
    view = numbers(lake, rows, "sum(v) t, min(v) lo", "decimal(10,2)")
    lake.change("x", delete=rows[:1], insert=[("a", Decimal("0.01")), ("b", Decimal("0.01"))])
    view.refresh()
    view.shows(
        ("a", Decimal("0.21"), Decimal("0.01")), ("b", Decimal("100000000.00"), Decimal("0.01"))
    )


def test_sums_wider_than_27_digits_add_up_too(lake: Lake) -> None:
    rows = [("a", Decimal("0.10")), ("a", Decimal("0.20")), ("b", Decimal("9" * 20 + ".99"))]
    view = numbers(lake, [*rows, ("c", None)], "sum(v) t", "decimal(28,2)")
    lake.change("x", delete=rows[:1], insert=[("b", Decimal("0.01")), ("c", None)])
    view.refresh()
    assert "recomputed" not in lake.executed[-1].sql
    view.shows(("a", Decimal("0.20")), ("b", Decimal("1" + "0" * 20)), ("c", None))
    lake.change("x", delete=[("a", Decimal("0.20"))], insert=[("c", Decimal("-1.00")), ("a", None)])
    view.refresh()
    view.shows(("a", None), ("b", Decimal("1" + "0" * 20)), ("c", Decimal("-1.00")))


def test_averages_wider_than_27_digits_are_divided_anew(lake: Lake) -> None:
    rows = [("a", Decimal("0.10")), ("a", Decimal("0.20")), ("b", Decimal("7.00")), ("c", None)]
    view = numbers(lake, rows, "avg(v) m, count(*) n", "decimal(36,2)")
    new = [("b", None), ("c", Decimal("1.00")), ("c", Decimal("3.00")), ("d", Decimal("-1.00"))]
    lake.change("x", delete=[rows[0], rows[2]], insert=new)
    view.refresh()
    assert "recomputed" not in lake.executed[-1].sql
    view.shows(("a", 0.2, 1), ("b", None, 1), ("c", 2.0, 3), ("d", -1.0, 1))
    lake.change("x", insert=[("a", Decimal("0.00"))])  # which adds nothing but to the count
    view.refresh()
    view.shows(("a", 0.1, 2), ("b", None, 1), ("c", 2.0, 3), ("d", -1.0, 1))


@pytest.mark.parametrize(
    ("item", "kind"),
    [("sum(v)", "decimal(28,7)"), ("avg(v)", "decimal(28,5)"), ("avg(v)", "decimal(12,5)")],
)
def test_decimals_that_spark_would_round_are_computed_anew(
    lake: Lake, item: str, kind: str
) -> None:
    view = numbers(lake, [("a", Decimal("0.10")), ("b", Decimal("2.00"))], f"{item} y", kind)
    lake.change("x", delete=[("a", Decimal("0.10"))], insert=[("a", Decimal("0.25"))])
    assert "recomputed" in view.planned().sql
    view.refresh()


# -- floating sums -------------------------------------------------------------------------


def test_a_deleted_large_float_leaves_the_small_ones_exact(lake: Lake) -> None:
    """{1e16, 1, -0.1} minus 1e16 is 0.9; subtracting gives 0.0."""
    view = numbers(lake, [("a", 1e16), ("a", 1.0), ("a", -0.1)], "sum(v) t, avg(v) m", "double")
    lake.change("x", delete=[("a", 1e16)])
    view.refresh()
    view.shows(("a", 0.9, 0.45))


@pytest.mark.parametrize("odd", [NAN, INF, -INF])
def test_a_deleted_nan_or_infinity_leaves_no_trace(lake: Lake, odd: float) -> None:
    view = numbers(
        lake, [("a", odd), ("a", 1.5), ("b", 2.5)], "sum(v) t, avg(v) m, min(v) lo, max(v) hi",
        "double",
    )  # fmt: skip
    lake.change("x", delete=[("a", odd)])
    view.refresh()
    view.shows(("a", 1.5, 1.5, 1.5, 1.5), ("b", 2.5, 2.5, 2.5, 2.5))
    lake.change("x", insert=[("b", odd)])
    view.refresh()
    lake.change("x", delete=[("b", odd)], insert=[("a", odd), ("a", -odd)])
    view.refresh()
    lake.change("x", delete=[("a", odd), ("a", -odd)])
    view.refresh()
    view.shows(("a", 1.5, 1.5, 1.5, 1.5), ("b", 2.5, 2.5, 2.5, 2.5))


def test_a_float_sum_without_groups_is_summed_anew_after_a_deletion(lake: Lake) -> None:
    lake.create("x", {"v": "double"}, [(1e16,), (1.0,), (-0.1,), (NAN,)])
    view = View(lake, "select sum(v) t, count(*) c from s.x")
    lake.change("x", delete=[(1e16,), (NAN,)])
    view.refresh()
    view.shows((0.9, 2))


def test_float_sums_recompute_only_the_groups_that_lost_a_value(lake: Lake) -> None:
    rows = [(k, v) for k in "abcde" for v in (1.5, 2.5)]
    view = numbers(lake, rows, "sum(v) t", "double")
    lake.change("x", insert=[("a", 4.5), ("b", 1.0)], delete=[("c", 1.5)])
    assert view.rows_of("lost") == [("c",)]
    view.refresh()


def test_a_float_that_is_null_may_leave_without_recomputation(lake: Lake) -> None:
    view = numbers(lake, [("a", 1.5), ("a", None)], "sum(v) t", "double")
    lake.change("x", delete=[("a", None)], insert=[("a", 0.5)])
    assert view.rows_of("lost") == []
    view.refresh()
    view.shows(("a", 2.0))


# -- minimum and maximum -------------------------------------------------------------------


def test_only_groups_that_lost_their_extreme_value_are_recomputed(lake: Lake) -> None:
    rows = [(k, v) for k in "abcde" for v in (1, 5, 9)]
    view = numbers(lake, rows, "min(v) lo, max(v) hi")
    lake.change(
        "x",
        delete=[("a", 5), ("b", 1), ("c", 9)],
        insert=[("a", 0), ("d", 10), ("f", 3)],
    )
    assert sorted(view.rows_of("lost")) == [("b",), ("c",)]
    view.refresh()
    view.shows(("a", 0, 9), ("b", 5, 9), ("c", 1, 5), ("d", 1, 10), ("e", 1, 9), ("f", 3, 3))


def test_inserts_only_look_nothing_up(lake: Lake) -> None:
    view = numbers(lake, [("a", 1), ("b", 5)], "min(v) lo, max(v) hi")
    lake.change("x", insert=[("a", 0), ("b", 9), ("c", 4)])
    sql = view.planned().sql
    assert "recomputed" not in sql
    assert "VERSION AS OF" not in sql, "no source is read but its changes"
    view.refresh()
    view.shows(("a", 0, 1), ("b", 5, 9), ("c", 4, 4))


def test_an_extreme_value_that_another_row_still_has(lake: Lake) -> None:
    view = numbers(lake, [("a", 1), ("a", 1), ("a", 5)], "min(v) lo")
    lake.change("x", delete=[("a", 1)])
    view.refresh()
    view.shows(("a", 1))
    lake.change("x", delete=[("a", 1)])
    view.refresh()
    view.shows(("a", 5))


def test_an_extreme_value_that_goes_while_a_better_one_comes(lake: Lake) -> None:
    view = numbers(lake, [("a", 3), ("a", 5)], "min(v) lo, max(v) hi")
    lake.change("x", delete=[("a", 3), ("a", 5)], insert=[("a", 2), ("a", 4)])
    view.refresh()
    view.shows(("a", 2, 4))


def test_an_extreme_value_that_came_and_went_between_two_refreshes(lake: Lake) -> None:
    view = numbers(lake, [("a", 3)], "min(v) lo, max(v) hi")
    odd = [(k, v) for k in "ab" for v in (1, 9)]
    lake.change("x", insert=odd)
    lake.change("x", delete=odd, insert=[("a", 4), ("b", 4)])
    view.refresh()
    view.shows(("a", 3, 4), ("b", 4, 4))


def test_extremes_of_text_dates_and_nulls(lake: Lake) -> None:
    view = numbers(lake, [("a", "b"), ("a", None), ("b", None)], "min(v) lo, max(v) hi", "string")
    view.shows(("a", "b", "b"), ("b", None, None))
    lake.change("x", delete=[("a", "b")], insert=[("b", "z"), ("b", "")])
    view.refresh()
    view.shows(("a", None, None), ("b", "", "z"))


@pytest.mark.parametrize(
    "item",
    [
        "count(distinct v)", "sum(distinct v)", "avg(distinct v)", "min(distinct v)",
        "count(distinct v) filter (where v > 1)", "bool_or(v > 2)", "stddev(v)", "median(v)",
        "count(1)", "sum(v + 1)", "sum(-v)", "sum(case when v > 1 then v end)",
        "avg(v * 2)", "min(-v)", "max(v % 3)", "count(nullif(v, 1))", "sum(1)", "sum(0)",
    ],
)  # fmt: skip
def test_other_aggregates_are_computed_anew_for_the_touched_groups(lake: Lake, item: str) -> None:
    view = numbers(lake, [("a", 1), ("a", 3), ("a", 3), ("b", None), (None, 2)], f"{item} y")
    lake.change("x", delete=[("a", 3)], insert=[("b", 4), ("c", 1)])
    view.refresh()
    lake.change("x", delete=[("a", 3), ("a", 1), (None, 2)], insert=[("b", 4), ("b", None)])
    view.refresh()


@pytest.mark.parametrize(
    "item",
    [
        "count(distinct k) filter (where v > 1)",
        "count(distinct k, v)",
        "percentile_disc(0.9) within group (order by v)",
    ],
)
def test_an_update_of_what_stands_beside_the_first_argument(lake: Lake, item: str) -> None:
    view = numbers(lake, [("a", 1), ("a", 7), ("b", 5)], f"{item} y")
    lake.change("x", delete=[("a", 7)], insert=[("a", 1)])
    view.refresh()


def test_a_count_of_several_arguments_counts_the_rows_that_have_them_all(lake: Lake) -> None:
    """DuckDB has no such call."""
    counter = NonNull("n", (exp.column("a"), exp.column("b")))
    (gained,) = counter.contributions(exp.column("c"), inserts_only=False)
    rows = "(values (1, 2, 4), (1, null, 8), (null, 2, 16), (3, 3, -1)) as t(a, b, c)"
    query = exp.select(gained.expression).from_(rows).sql("spark")
    assert lake.db.execute(lake.duck(query)).fetchall() == [(3,)]


def test_count_distinct_recomputes_only_the_touched_groups(lake: Lake) -> None:
    view = numbers(lake, [(k, v) for k in "abcd" for v in (1, 2)], "count(distinct v) d")
    lake.change("x", delete=[("b", 1)], insert=[("c", 3)])
    assert sorted(view.rows_of("lost")) == [("b",), ("c",)]
    view.refresh()


def test_equal_counters_are_stored_once(lake: Lake) -> None:
    numbers(lake, [("a", 1)], "sum(v) t, avg(v) m, count(v) n, sum(v) + 1 u, count(*) c")
    stored = [c[0] for c in lake.db.execute("describe s.m__ivm_state").fetchall()]
    assert stored == ["__ivm_count__", "k", "__ivm_nonnull_1__", "t"]


def test_a_change_that_no_counter_sees_touches_nothing(lake: Lake) -> None:
    lake.create("x", {"k": "string", "v": "int", "w": "int"}, [("a", 1, 1), ("a", 2, 2)])
    view = View(lake, "select k, count(*) c, sum(v) t from s.x group by k")
    lake.change("x", delete=[("a", 1, 1)], insert=[("a", 1, 99)])
    assert view.touched() == []
    view.refresh()
