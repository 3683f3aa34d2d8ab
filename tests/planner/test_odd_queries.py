"""Queries for which the planner has no rule, or once had a wrong one: rebuilt, and always right."""

from __future__ import annotations

import pytest

from python_ivm.refresh.statements import Strategy
from tests.planner.lake import Lake

ODD = {
    "own_names": "select k as __ivm_count__, v as __ivm_hash__ from s.a",
    "window_last": "select k, last(v) over (partition by k order by v) as x from s.a",
    "limit_below_where": "select t.v from (select v from s.a order by v limit 2) t where t.v > 1",
    "exists_limit": "select v from s.a where exists (select 1 from s.b limit 1)",
    "having_exists": "select k, count(*) as n from s.a group by k having exists "
    "(select 1 from s.b)",
    "outer_in_aggregate": "select v, (select max(b.w + a.v) from s.b where b.k = a.k) as m "
    "from s.a",
    "any": "select v from s.a where v = any (select w from s.b)",
    "three_full": "select count(*) as n from s.a full join s.b on a.k = b.k full join s.a c "
    "on c.k = b.k full join s.b d on d.k = c.k",
}


@pytest.mark.parametrize("name", ODD)
def test_it_is_right_whatever_the_strategy(name: str) -> None:
    lake = Lake()
    lake.create("a", {"k": "int", "v": "int"}, [(1, 1), (1, 2), (2, 3)])
    lake.create("b", {"k": "int", "w": "int"}, [(1, 5), (3, 2)])
    first = lake.refresh_and_check("m", ODD[name])
    assert first.reason in ("FIRST_BUILD", "NOT_YET_IMPLEMENTED", "PLANNER_ERROR")
    for change in ({"insert": [(2, 2)]}, {"delete": [(1, 1)], "insert": [(3, 1)]}):
        lake.change("a", **change)
        lake.change("b", insert=[(2, 4)])
        refresh = lake.refresh_and_check("m", ODD[name])
        if first.reason == "FIRST_BUILD":
            assert refresh.strategy is Strategy.INCREMENTAL, refresh.explanation
