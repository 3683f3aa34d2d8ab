"""Spark says what ORDER BY and LIMIT mean that stand elsewhere than at the end of a query."""

from __future__ import annotations

from tests.spark.workbench import Bench

ORDERED = "select k, v from r order by v desc"
QUERIES = (
    f"({ORDERED}) limit 1",
    f"select * from ({ORDERED}) q limit 1",
    f"select v from ({ORDERED}) q where k > 1 limit 2 offset 1",
    f"with q as ({ORDERED}) select v * 2 as d from q where v > 0 limit 2",
    f"select count(*) as n, sum(v) as s from (select v from ({ORDERED}) where k > 0 limit 2) q",
    f"select * from ({ORDERED} limit 3) q limit 1",
    f"select * from ({ORDERED} limit 3) q offset 1",
    "select k from r where v in ((select v from s) order by v limit 1)",
    "select k from r where v in ((select v from s) limit 0)",
    "select k, ((select max(v) from s) limit 0) as most from r",
    "select k from r where exists (select count(*) from s where s.v > 99 limit 1)",
)


def test_views_are_what_spark_gives(bench: Bench) -> None:
    bench.table("r", "k int, v int", "(1, 10)", "(2, 25)", "(3, 30)", "(4, 7)")
    bench.table("s", "k int, v int", "(1, 10)", "(1, 30)", "(9, 7)")
    views = [bench.view(sql) for sql in QUERIES]
    for changes in (
        ("insert into r values (5, 40)", "insert into s values (2, 5)"),
        ("delete from r where v = 30", "delete from s where v = 30"),
    ):
        for view in views:
            spark = sorted((tuple(row) for row in bench.sql(view.sql)), key=repr)
            assert view.rows() == spark, view.sql
        bench.sql(*changes)
        bench.refresh(None)
    for view in views:
        spark = sorted((tuple(row) for row in bench.sql(view.sql)), key=repr)
        assert view.rows() == spark, view.sql
