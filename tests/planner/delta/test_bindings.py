"""Correlated subqueries over bindings, of which a refresh takes those before and those now."""

from __future__ import annotations

import pytest

from python_ivm.errors import Unsupported
from python_ivm.refresh.options import Options, Policy
from python_ivm.refresh.plan import Strategy
from python_ivm.refresh.strategy import plan_refresh
from tests.planner.lake import Lake
from tests.planner.stories import View


@pytest.fixture
def ab(lake: Lake) -> Lake:
    lake.create("a", {"k": "int", "v": "int"}, [(1, 1), (1, 1), (2, 5), (3, None)])
    lake.create("b", {"k": "int", "w": "int"}, [(1, 2), (1, 3), (2, 6), (None, 9)])
    return lake


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
    refresh = view.refresh(Strategy.RECOMPUTE)
    assert refresh.reason == "PLAN_TOO_LARGE"
    assert "split the model" in refresh.explanation
