"""Queries for which the planner has no rule, or once had a wrong one: rebuilt, and always right."""

from __future__ import annotations

import pytest

from python_ivm.refresh.plan import Strategy
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
    "lateral_left_mixed": "select a.k, u.x from s.a left join lateral (select coalesce(b.w, a.v) "
    "as x from s.b where b.k = a.k) u on true",
    "lateral_left_count": "select a.k, u.n from s.a left join lateral (select count(*) as n "
    "from s.b where b.k = a.k) u on u.n > 0",
    "in_limit_distinct": "select v from s.a where v in (select distinct w from s.b where "
    "(b.k > 0) = (a.k > 0) order by w desc limit 3)",
    "scalar_distinct_null_safe": "select k, (select distinct 1 from s.b where b.k <=> a.k) as x "
    "from s.a",
    "scalar_having_alone": "select k, (select max(w) from s.b where b.k = a.k having count(*) > 1) "
    "as m from s.a",
    "exists_group_both": "select a.k from s.a join s.b on b.k > a.k where exists (select 1 from "
    "s.b where b.w = a.k + b.k group by b.w having count(*) > 0)",
    "nth_of_range": "select v, nth_value(v, 2) over (order by v range between 1 preceding and "
    "current row) as n from s.a",
    "floats_of_range": "select v, sum(v / 10e0) over (order by v range between 1 preceding and "
    "current row) as t from s.a",
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
    for change in ({"insert": [(2, 2), (None, 2)]}, {"delete": [(1, 1)], "insert": [(3, 1)]}):
        lake.change("a", **change)
        lake.change("b", insert=[(2, 4), (None, 1)])
        refresh = lake.refresh_and_check("m", ODD[name])
        if first.reason == "FIRST_BUILD":
            assert refresh.strategy is Strategy.INCREMENTAL, refresh.explanation
