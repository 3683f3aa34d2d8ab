"""What stands above the state is the public view's: HAVING, expressions, ORDER BY, LIMIT, names."""

from __future__ import annotations

import pytest

from tests.planner.lake import Lake
from tests.planner.stories import View


@pytest.fixture
def xs(lake: Lake) -> Lake:
    lake.create(
        "x",
        {"k": "int", "s": "string", "v": "int"},
        [(1, "a", 1), (1, "b", 2), (2, "a", 5), (None, "c", None)],
    )
    return lake


def test_a_group_enters_and_leaves_through_having(xs: Lake) -> None:
    view = View(xs, "select k, sum(v) t from s.x group by k having sum(v) > 3")
    view.shows((2, 5))
    xs.change("x", insert=[(1, "z", 7)], delete=[(2, "a", 5)])
    view.refresh()
    view.shows((1, 10))


@pytest.mark.parametrize(
    "sql",
    [
        "select k, sum(v) t from s.x group by k having count(*) > 1 and max(v) is not null",
        "select k from s.x group by k having min(s) = 'a'",
        "select k + 1 as n, count(*) c from s.x group by k + 1",
        "select k + 1 as n, count(*) c from s.x group by (k + 1)",
        "select k + 1 as n, count(*) c from s.x group by n",
        "select k + 1 as n, count(*) c from s.x group by 1",
        "select (k + 1) * 2 as n, count(*) c from s.x group by k + 1",
        "select s, k, count(*) c from s.x group by all",
        "select upper(s) u, k, count(*) c from s.x group by 2, upper(s)",
        "select count(*) c from s.x group by k, s",
        "select count(*) c, k from s.x group by k",
        "select sum(v) / count(*) as r, k from s.x group by k",
        "select coalesce(sum(v), 0) + count(*) * 2 - min(k) as r from s.x group by k",
        "select case when count(*) > 1 then max(s) else 'one' end as r from s.x group by k",
        "select k, concat(min(s), max(s)) as r from s.x group by k",
        "select max(v) - min(v) as spread, avg(v) as m from s.x",
        "select 2 as two, k, count(*) c from s.x group by two, k",
        "select 'w' as word, k, count(*) c from s.x group by all",
        "select v > 2 or k = 9 as g, v >= 2 or k = 9 as h, count(*) c from s.x "
        "group by v > 2 or k = 9, v >= 2 or k = 9",
        "select k, s, count(*) as `sum`, sum(v) as `count` from s.x group by k, s",
        "select k as v, sum(v) as k from s.x group by s, x.k",
        "select sum(v) as s, s as t from s.x group by s",
        "select distinct k, count(*) c from s.x group by k, s",
        "select k, count(*) c from s.x group by k order by c desc, k limit 2",
        "select k, count(*) c from s.x group by k order by 2 desc, 1 limit 1 offset 1",
        "select k, sum(v) t from s.x group by k order by max(v) desc nulls last, k limit 1",
        "select k, 2 as two, count(*) c from s.x group by k order by two, k desc limit 2",
        "select distinct s from s.x order by s desc limit 2",
        "select distinct s, k from s.x order by k nulls last, upper(s) limit 2",
        "select k * 2 as d, v from s.x order by d + 1 desc nulls last, v, k limit 2 offset 1",
        "select k, 9 - v as v from s.x order by x.v nulls last, k limit 2",
        "select k from s.x union all select v from s.x order by k nulls first limit 3",
        "select q.k, q.c * 2 as d from (select k, count(*) c from s.x group by k) q where q.c > 1",
        "with g as (select k, count(*) c from s.x group by k) select * from g where c = 1",
        "select a.k, a.k as l from s.x a group by a.k",
    ],
)
def test_the_view_follows_its_query(xs: Lake, sql: str) -> None:
    view = View(xs, sql)
    xs.change("x", insert=[(2, "a", 7), (3, "q", -1)], delete=[(1, "a", 1)])
    view.refresh()
    xs.change("x", delete=[(None, "c", None), (2, "a", 5)], insert=[(1, "b", 2), (None, "d", 4)])
    view.refresh()
    xs.change("x", delete=[(3, "q", -1), (2, "a", 7)])
    view.refresh()


def test_hidden_columns_are_not_shown(xs: Lake) -> None:
    View(xs, "select k, avg(v) m, min(s) lo from s.x group by k having count(v) >= 0")
    assert [c[0] for c in xs.db.execute("describe s.m").fetchall()] == ["k", "m", "lo"]


def test_a_view_over_groups_with_the_key_left_out_keeps_its_multiplicity(xs: Lake) -> None:
    view = View(xs, "select count(*) c from s.x group by k")
    view.shows((2,), (1,), (1,))
    xs.change("x", insert=[(9, "n", 0)])
    view.refresh()
    view.shows((2,), (1,), (1,), (1,))


def test_the_order_is_that_of_the_query(xs: Lake) -> None:
    View(xs, "select k, count(*) c from s.x group by k order by c desc, k desc nulls last")
    rows = xs.db.execute("select * from s.m").fetchall()
    assert rows == [(1, 2), (2, 1), (None, 1)]
