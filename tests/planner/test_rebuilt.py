"""Queries without rules: each change rebuilds their view, and the reason names the construct."""

from __future__ import annotations

import pytest

from python_ivm.explain.explain import explain
from tests.planner.lake import Lake
from tests.planner.test_operators import TABLES

REBUILT = {
    "recursive_limit": "with recursive n(i) as (select k from s.a union all select i + 1 from n) "
    "select i from n limit 3",
    "recursive_distinct": "with recursive n(i) as (select k from s.a union all "
    "select distinct i + 1 from n where i < 3) select i from n",
    "star_in_struct": "select to_json(struct(*)) as j from s.a",
    "star_beside_using": "select hash(*) as h from s.a join s.b using (k)",
    "script": "select transform(k) using 'cat' as (x) from s.a",
    "star_beside_generator": "select hash(a.*) as h from s.a lateral view explode(array(v)) as e",
}

NOT_OF_SPARK = {
    "union_by_name": "select k, v from s.a union all by name select 1 as v, k from s.b",
    "asof_join": "select a.v, b.w from s.a asof join s.b on a.k >= b.k",
}
"""What sqlglot reads, and Spark does not."""

NAMED = {
    "recursive_limit": "LIMIT without ORDER BY over a recursive CTE",
    "recursive_distinct": "reads itself below an aggregate or DISTINCT",
    "union_by_name": "BY NAME",
    "asof_join": "ASOF",
    "star_in_struct": "* here",
    "script": "TRANSFORM",
    "star_beside_using": "* here",
    "star_beside_generator": "a.* here",
}
"""What the reason names."""


@pytest.mark.parametrize("name", REBUILT | NOT_OF_SPARK)
def test_the_view_is_rebuilt_and_the_reason_names_the_construct(name: str) -> None:
    lake = Lake()
    for table, columns in TABLES.items():
        lake.create(table, dict.fromkeys(columns, "int"), [(1, 1), (2, 3)])
    assert NAMED[name] in explain(lake.request("m", (REBUILT | NOT_OF_SPARK)[name]), lake)
