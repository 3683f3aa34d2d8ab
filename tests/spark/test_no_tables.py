"""Queries that read no table, on Spark: built once, and compared with their text."""

from __future__ import annotations

from tests.spark.workbench import Bench

QUERIES = {
    "spine": "select explode(sequence(date '2024-01-01', date '2024-01-31', interval 1 day)) as d",
    "values": "values (1, 'a'), (2, 'b'), (2, 'b')",
    "recursion": "with recursive n(i) as (select 1 union all select i + 1 from n where i < 9) "
    "select i, i * i as squared from n",
    "groups": "select id % 3 as r, count(*) as n from range(10) group by id % 3",
}


def test_they_are_built_once(bench: Bench) -> None:
    for sql in QUERIES.values():
        bench.view(sql)
    bench.refresh("noop")
    assert [len(bench.history(view.state)) for view in bench.views] == [1] * len(QUERIES)


def test_a_new_day_is_one_new_row(bench: Bench) -> None:
    until = "select explode(sequence(date '2024-01-01', current_date(), interval 1 day)) as d"
    bench.sql("set spark.sql.session.timeZone = Pacific/Kiritimati")
    days = bench.view(until)
    count = bench.view(f"select count(*) as n from {days.name}")
    days.refresh("noop")
    bookmark = bench.history(days.state)[0]["userMetadata"]
    (today,) = {row["d"] for row in bench.query("select cast(current_date() as string) as d")}
    assert today in bookmark
    # As if the build had been a day ago.
    bench.sql(f"delete from {days.state} where d = current_date()")
    bench.sql(
        "set spark.databricks.delta.commitInfo.userMetadata = "
        + bookmark.replace(f'"today":"{today}"', '"today":"2024-01-01"'),
        f"delete from {days.state} where d = current_date() - interval 1 day",
        "reset spark.databricks.delta.commitInfo.userMetadata",
    )
    outcome = days.refresh("recompute")
    assert outcome.refresh.reason == "CLOCK_MOVED"
    assert outcome.response.rows_inserted == 2
    assert outcome.response.rows_updated == outcome.response.rows_deleted == 0
    count.refresh()
