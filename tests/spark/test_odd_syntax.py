"""What DuckDB has no syntax, no types or no errors for, each by the smallest model."""

from __future__ import annotations

import pytest

from tests.spark.workbench import Bench, View

MAINTAINED = (
    "select hash(*) as h, concat_ws('|', *) as c from a",
    "select k, count(distinct *) as n, max(coalesce(*)) as c from a group by k",
    "select q.h, b.w from (select k, array(*) as h from a) q join b on q.k = b.k",
    "select p.* from d",
    "select k, d.p.* from d where d.p.x > 0",
    "select 'a' as x, count(*) as n from a group by rollup(1)",
    "select k, v, sum(v) as t from a group by grouping sets ((1, 2), 1)",
    "select k, count(*) as n from a group by k order by all desc",
    "select k, v, count(*) as n, grouping_id() as i from a group by k, v grouping sets ((k), ())",
    "select a.k, col1, col2 from a join values (1, 'x'), (5, 'y') on k = col1 or v = col1",
    "select x, y from (select k, v from a order by v desc, k limit 2) as q(x, y)",
    "select v, z from a natural left join (select w, w + 1 as z from b) c where v = w",
    "select a.v, n, m from a, lateral (select count(*) as n from b where w > v), "
    "lateral (select max(w) as m from (select w from b where b.k <> a.k union select 1) u)",
    "table a",
    "from a |> select distinct k, v |> union all table b |> drop k",
    "table a |> order by v desc |> where v > 1 |> limit 2 |> set v = v + 1, k = v |> as q "
    "|> extend q.k * 2 as n |> inner join b on q.k > b.k |> select q.v, n, w",
    "from a |> where k in (table b |> select w - 4) |> aggregate sum(v) as s, count(*) "
    "group by k % 2 as odd |> pivot (max(s) for odd in (0 as even, 1 as odd))",
    "with q as (from b |> minus values (1, 5) as r(k, w)) from a |> join lateral "
    "(from q |> where q.k >= a.k |> aggregate max(w) as m) |> intersect all (table a |> limit 0 "
    "|> select *, 1 as m)",
    "from a |> extend sum(v) over (partition by k) as s, k + 1 |> unpivot (n for c in (v, s))",
    "select k, v >>> 1 + 1 as h, -v >>> 1 as g from a",
    "from a left join b on a.k = b.k select a.v, w where a.v > 1",
    "select k, x from a join values 1, 2 q(x) on k = x",
    "select x.k, identifier('upper')('y') as `identifier` from identifier('a' '') x "
    "where identifier('x.k') in (select identifier('k') from identifier(concat('', 'b')))",
    "select /*+ MERGE(b), SKEW('a') */ /*+ REBALANCE(v) */ distinct a.v, w from a join b "
    "on a.k = b.k where exists (select /*+ COALESCE(1) */ 1 from b where w > v)",
    "select v, (select max(w) from (select w from b where b.k = a.k order by w limit 1) q) as m "
    "from a where v in (select w from b where b.k <= a.k union all select 7)",
    "select k, v, s, grouping_id() as i, count(*) as n from (select k, v, v + k as s from a) "
    "group by grouping sets ((k), (v)), s",
    "select k, max_by(distinct v, k) as m, first(distinct v) as f, any_value(distinct v) as y, "
    "regr_count(distinct v, k) as r from a group by k",
    "select * from (select k, string(v) as s, v as p from a) "
    "pivot (sum(s) as t, count(*) as c for p in (5, 6))",
    "select m, count(*) as n from (select k, avg(v) as m, avg(distinct v) filter (where k > 1) "
    "as d from a group by k) group by m, d",
)
REBUILT = {
    "select to_json(struct(*)) as j from a": "NOT_YET_IMPLEMENTED",
    "from a |> order by v |> limit 3 |> offset 1": "NOT_PARSED",
    "select k from a for system_version as of 1": "NOT_PARSED",
    "select transform(k) using 'cat' as (x) from a": "NOT_YET_IMPLEMENTED",
}  # fmt: skip


@pytest.mark.parametrize(
    "queries",
    [MAINTAINED[::8], pytest.param(MAINTAINED, marks=pytest.mark.thorough)],
    ids=["some", "all"],
)
def test_odd_syntax(bench: Bench, queries: tuple[str, ...]) -> None:
    bench.table("a", "k int, v int", "(1, 5)", "(1, 5)", "(2, 7)")
    bench.table("b", "k int, w int", "(1, 5)", "(2, 8)")
    bench.table(
        "d",
        "k int, t timestamp, p struct<x: int, Y: string>",
        "(1, timestamp '2024-01-01 00:00:00', named_struct('x', 1, 'Y', 'y'))",
        "(2, timestamp '2024-01-01 00:08:00', null)",
    )
    maintained = [bench.view(sql) for sql in queries]
    rebuilt = [View(bench, f"r{n}", sql) for n, sql in enumerate(REBUILT)]
    for view in rebuilt:
        assert view.refresh("full").refresh.reason == REBUILT[view.sql]
    bench.sql(
        "insert into a values (1, 5), (3, null)",
        "delete from a where k = 2",
        "insert into d values (3, timestamp '2024-01-01 00:04:00', named_struct('x', 3, 'Y', 'z'))",
    )
    for view in maintained:
        view.refresh()
    for view in rebuilt:
        assert view.refresh("full").refresh.reason == REBUILT[view.sql]


@pytest.mark.thorough
@pytest.mark.parametrize("bench", [{"spark.sql.ansi.enabled": "true"}], indirect=True)
def test_an_error_over_rows_that_the_query_never_pairs(bench: Bench) -> None:
    """The new row of a met the old row of b, and each refresh from then on failed."""
    bench.table("a", "k int, v int", "(1, 5)")
    bench.table("b", "k int, w int", "(1, 2)")
    view = bench.view("select a.k, 10 / (a.v - b.w) as r from a join b on a.k = b.k")
    bench.sql("update a set v = 2 where k = 1", "update b set w = 7 where k = 1")
    refresh = view.refresh("full").refresh
    assert refresh.reason == "VALUE_ERROR"
    assert "[DIVIDE_BY_ZERO]" in refresh.explanation
    bench.sql("insert into a values (1, 9)")
    view.refresh()
    shown, commits = view.rows(), len(bench.history(view.state))
    bench.sql("insert into a values (1, 7)")
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        view.run()
    assert view.rows() == shown
    assert len(bench.history(view.state)) == commits
    bench.sql("delete from a where v = 7")
    view.refresh()  # the row came and went
    view.refresh("noop")
