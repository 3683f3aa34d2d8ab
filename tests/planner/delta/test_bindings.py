"""Correlated subqueries over bindings, of which a refresh takes those before and those now."""

from __future__ import annotations

import pytest

from python_ivm.errors import Unsupported
from python_ivm.refresh.request import Options, Policy
from python_ivm.refresh.statement import Strategy
from python_ivm.refresh.strategy import plan_refresh
from tests.planner.lake import Lake
from tests.planner.stories import View

COUNT = "(select count(*) from s.b where b.w > a.v)"
EXISTS = "exists (select 1 from s.b where b.w > a.v group by b.k having count(*) > 1)"


@pytest.fixture
def ab(lake: Lake) -> Lake:
    lake.create("a", {"k": "int", "v": "int"}, [(1, 1), (1, 1), (2, 5), (3, None)])
    lake.create("b", {"k": "int", "w": "int"}, [(1, 2), (1, 3), (2, 6), (None, 9)])
    return lake


def test_a_row_with_a_value_that_none_had_comes_with_what_it_finds(ab: Lake) -> None:
    view = View(ab, f"select k, {COUNT} as n from s.a")
    ab.change("a", insert=[(7, 8)])
    ab.change("b", insert=[(7, 10)])
    view.refresh()
    view.shows((1, 5), (1, 5), (2, 3), (3, 0), (7, 2))


def test_a_row_goes_with_what_it_found_before(ab: Lake) -> None:
    view = View(ab, f"select k, {COUNT} as n from s.a")
    ab.change("a", delete=[(2, 5), (1, 1)])
    ab.change("b", delete=[(None, 9)])
    view.refresh()
    view.shows((1, 3), (3, 0))


def test_a_value_moves_to_another_row(ab: Lake) -> None:
    view = View(ab, f"select k from s.a where {EXISTS}")
    ab.change("a", delete=[(1, 1), (2, 5)], insert=[(2, 1), (1, None)])
    view.refresh()
    view.shows((1,), (2,))


def test_what_the_subquery_finds_for_values_that_no_row_has_changes_nothing(ab: Lake) -> None:
    view = View(ab, f"select k from s.a where k > 2 and {EXISTS}")
    ab.change("b", insert=[(4, 8), (4, 8)])
    assert view.touched() == []
    view.refresh()


def test_rows_that_another_subquery_dropped_come_back(ab: Lake) -> None:
    more = EXISTS.replace("> 1)", "> 2)")
    view = View(ab, f"select k, {COUNT} as n from s.a where {EXISTS} and not {more}")
    ab.change("b", insert=[(1, 2), (2, 6)])
    view.refresh()
    view.shows((2, 3))


def test_rows_without_a_match_of_a_full_join_above_ask_with_null(ab: Lake) -> None:
    """They are not among the rows before the LATERAL subquery."""
    lateral = "lateral (select count(*) as n from s.b where b.w > a.v) l"
    joined = f"(select a.k, a.v, l.n from s.a, {lateral}) a full join s.b c on a.k = c.k"
    counted = "(select count(*) from s.b where coalesce(a.v, 2) < b.w)"
    view = View(ab, f"select a.k, a.n, c.w, {counted} as m from {joined}")
    ab.change("a", delete=[(1, 1), (3, None)], insert=[(4, 9)])
    ab.change("b", insert=[(8, 4)])
    view.refresh()


def test_bindings_of_groups_and_of_rows_below_them(ab: Lake) -> None:
    found = "select 1 from s.b where b.w > min(a.v) group by b.k having count(*) > 1"
    above = "(select count(*) from s.b where b.w < q.k)"
    groups = f"select a.k, sum(a.v) as v from s.a where {EXISTS} group by a.k"
    groups = f"{groups} having exists ({found})"
    view = View(ab, f"select k, v, {above} as n from ({groups}) q")
    ab.change("a", insert=[(2, 1), (9, 0)], delete=[(1, 1)])
    view.refresh()
    ab.change("a", insert=[(9, 2)], delete=[(2, 1)])
    ab.change("b", insert=[(5, 0)], delete=[(1, 2)])
    view.refresh()


def test_a_plan_that_takes_spark_minutes_is_not_tried(ab: Lake) -> None:
    sql = "select a.k, a.v from s.a"
    for level in range(5):
        count = f"(select count(*) from s.b where b.w > q.v + {level})"
        sql = f"select k, {count} as v from ({sql}) q"
    view = View(ab, sql)
    ab.change("a", insert=[(5, 5)])
    view.refresh(Strategy.INCREMENTAL)
    ab.change("a", insert=[(5, 5)], delete=[(2, 5)])
    ab.change("b", insert=[(5, 5)])
    refresh = plan_refresh(ab.request("m", sql), ab)
    assert refresh.strategy is Strategy.FULL
    assert refresh.reason == "PLAN_TOO_LARGE"
    assert "split the model" in refresh.explanation
    with pytest.raises(Unsupported, match="PLAN_TOO_LARGE"):
        plan_refresh(ab.request("m", sql, options=Options(policy=Policy.STRICT)), ab)
    view.refresh(Strategy.FULL)
    ab.size_of = lambda name: 9
    ab.change("a", delete=[(5, 5)])
    ab.change("b", delete=[(5, 5)])
    refresh = view.refresh(Strategy.INCREMENTAL)
    assert refresh.computes_anew
    assert "split the model" in refresh.explanation
