"""Rows that came and went: they fail nothing in ANSI mode, and nothing else is netted."""

from __future__ import annotations

import duckdb
import pytest

from python_ivm.refresh.plan import Strategy
from tests.planner.lake import Lake
from tests.planner.stories import View

NETTED = "HAVING\n      SUM(CASE WHEN _change_type"
BAD = (9, 5, 0)

QUERIES = {
    "item": "select k, n / d as r from s.x",
    "condition": "select k, n from s.x where n / d > 1",
    "key": "select n / d as r, count(*) as c from s.x group by n / d",
    "argument": "select k, sum(n / d) as t, max(n / d) as hi from s.x group by k",
    "filter_of_aggregate": "select k, count(*) filter (where n / d > 1) as c from s.x group by k",
    "join_condition": "select x.k, y.w from s.x join s.y on y.w = x.n / x.d",
    "above_a_join": "select y.w, x.n / x.d as r from s.x join s.y on x.k = y.k",
    "left_join": "select x.k, y.w from s.x left join s.y on y.k = x.k and x.n / x.d > 1",
    "full_join": "select x.k, y.w from s.x full join s.y on y.k = x.n / x.d",
    "exists": "select k from s.y where exists (select 1 from s.x where x.k = y.k and n / d > 1)",
    "union": "select n / d as r from s.x union all select w from s.y",
    "distinct": "select distinct n / d as r from s.x",
    "in_a_partition": "select k, row_number() over (partition by n / d order by k, n, d) as p "
    "from s.x",
    "under_groups": "select t, count(*) as c from (select n / d as g, sum(n) as t from s.x "
    "group by n / d) q group by t",
    "recomputed": "select k, count(distinct n / d) as c from s.x group by k",
    "self_join": "select a.k, b.n / b.d as r from s.x a join s.x b on a.k = b.k",
    "cte": "with q as (select k, n / d as r from s.x where d < 9) "
    "select a.k, a.r + b.r as r from q a join q b on a.k = b.k",
    "lateral": "select k, e from s.x lateral view explode(array(n / d, 1)) t as e",
}


@pytest.fixture
def x(lake: Lake) -> Lake:
    lake.ansi = True
    lake.create("x", {"k": "int", "n": "int", "d": "int"}, [(1, 10, 2), (1, 10, 2), (2, 6, 3)])
    lake.create("y", {"k": "int", "w": "int"}, [(1, 5), (2, 2), (9, 1)])
    return lake


def come_and_go(lake: Lake) -> None:
    lake.change("x", insert=[BAD, BAD])
    lake.change("x", delete=[BAD], insert=[(3, 8, 2)])
    lake.change("x", delete=[BAD, (2, 6, 3)], insert=[(2, 6, 2)])


@pytest.mark.parametrize("name", QUERIES)
def test_rows_that_came_and_went_are_no_failure(x: Lake, name: str) -> None:
    view = View(x, QUERIES[name])
    come_and_go(x)
    assert NETTED in view.planned().sql
    view.keep_up()
    x.change("x", insert=[BAD])
    x.change("x", delete=[BAD])
    x.change("y", delete=[(1, 5)], insert=[(3, 4)])
    view.keep_up()


@pytest.mark.parametrize("name", ["item", "condition", "argument", "join_condition"])
def test_without_the_pass_they_are(x: Lake, name: str) -> None:
    x.without_passes = frozenset({"net_changes"})
    view = View(x, QUERIES[name])
    come_and_go(x)
    with pytest.raises(duckdb.Error, match="DIVIDE_BY_ZERO"):
        view.refresh()


@pytest.mark.parametrize("name", QUERIES)
def test_without_ansi_mode_nothing_is_netted(x: Lake, name: str) -> None:
    x.ansi = False
    view = View(x, QUERIES[name])
    x.change("x", delete=[(2, 6, 3)], insert=[(2, 6, 2)])
    assert NETTED not in view.planned().sql
    view.refresh()


@pytest.mark.parametrize(
    "sql",
    [
        "select k, n, d from s.x where n > 1",
        "select k, sum(n) as n, count(*) as c, avg(d) as a from s.x group by k",
        "select x.k, y.w from s.x left join s.y on x.k = y.k where x.n > 1 or y.w is null",
        "select k, sum(n) / count(*) as r from s.x group by k",
        "select k, t / c as r from (select k, sum(n) as t, count(*) as c from s.x group by k) q "
        "where t > 1 order by k limit 2",
        "select k, n / row_number() over (partition by k order by n, d) as r from s.x",
        "select k, coalesce(n, 0) as n, case when d > 2 then 'a' else 'b' end as s from s.x",
    ],
)
def test_what_cannot_fail_for_a_changed_row_is_not_netted(x: Lake, sql: str) -> None:
    view = View(x, sql)
    x.change("x", delete=[(2, 6, 3)], insert=[(2, 7, 2)])
    assert NETTED not in view.planned().sql
    view.refresh()


def test_added_rows_are_not_netted(x: Lake) -> None:
    view = View(x, QUERIES["item"])
    x.change("x", insert=[(4, 4, 4)])
    assert NETTED not in view.planned().sql
    view.refresh()


def test_the_other_tables_changes_are_not_netted(x: Lake) -> None:
    view = View(x, "select y.w from s.y where w in (select n / d from s.x)")
    x.change("y", delete=[(1, 5)], insert=[(1, 2)])
    sql = view.planned().sql
    view.refresh()
    x.change("x", delete=[(2, 6, 3)], insert=[(2, 6, 2)])
    assert NETTED in view.planned().sql and "s`.`x" not in sql
    view.refresh()


@pytest.mark.parametrize("kind", ["map<int, int>", "array<double>"])
def test_what_cannot_be_compared_exactly_is_not_netted(x: Lake, kind: str) -> None:
    value = {1: 2} if kind.startswith("map") else [0.0]
    x.create("z", {"k": "int", "d": "int", "m": kind}, [(1, 1, value), (2, 2, value)])
    view = View(x, "select 1 / d as r, m from s.z")
    x.change("z", delete=[(1, 1, value)])
    assert NETTED not in view.planned().sql
    view.refresh()


def test_a_model_above_nets_the_states_feed(x: Lake) -> None:
    below = "select k, sum(n) as n, sum(d) as d from s.x group by k"
    x.run("b", below)
    view = View(x, "select k, n / d as r from s.b")
    x.change("x", insert=[BAD])
    x.run("b", below)
    x.change("x", delete=[BAD], insert=[(2, 1, 1)])
    x.run("b", below)
    assert NETTED in view.planned().sql
    view.refresh()
    assert view.refresh(Strategy.NOOP).reason == "UNCHANGED"
