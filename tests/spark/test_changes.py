"""What can happen to a source between two runs, and what a refresh then does."""

from __future__ import annotations

import time

import pytest

from dbt.adapters.sparkivm.bridge.refresher import Outcome
from python_ivm.errors import InvalidModel
from tests.spark.workbench import FEED, Bench, View

R_JOIN_S = "select r.k, r.v, s.w from r join s on r.k = s.k"
SUMS = "select k, count(*) as n, sum(v) as total, min(v) as lo from r group by k"


@pytest.fixture
def two(bench: Bench) -> Bench:
    """R and S with a bag over their join."""
    bench.table("r", "k int, v int", "(1, 10)", "(1, 11)", "(2, 20)", "(null, 0)")
    bench.table("s", "k int, w string", "(1, 'a')", "(3, 'c')")
    bench.view(R_JOIN_S)
    return bench


@pytest.mark.thorough
def test_inserts_into_both_sides_of_a_join_meet_each_other_once(bench: Bench) -> None:
    bench.table("r", "k int, v int", "(1, 10)")
    bench.table("s", "k int, w string", "(1, 'a')")
    view = bench.view(R_JOIN_S)
    bench.sql("insert into r values (1, 11), (2, 20)", "insert into s values (1, 'b'), (2, 'z')")
    outcome = view.refresh()
    assert view.rows() == [
        (1, 10, "a"), (1, 10, "b"), (1, 11, "a"), (1, 11, "b"), (2, 20, "z")
    ]  # fmt: skip
    assert outcome.response._message == "incremental: +4 ~0 -0 rows from r@1→2, s@1→2"


@pytest.mark.thorough
def test_deletions_updates_and_inserts_on_both_sides_at_once(two: Bench) -> None:
    two.view(SUMS)
    two.sql(
        "update r set k = 3 where v = 11",
        "delete from r where v = 10",
        "insert into r values (1, 12), (1, 12)",
        "update s set k = 2 where k = 1",
        "insert into s values (1, 'new'), (3, 'c')",
    )
    two.refresh()


@pytest.mark.thorough
def test_an_update_that_changes_nothing_writes_no_row(two: Bench) -> None:
    two.view(SUMS)
    two.sql("update r set v = v")
    for view in two.views:
        outcome = view.refresh()
        assert (outcome.response.rows_affected, view.refresh("noop").refresh.reason) == (
            0, "UNCHANGED",
        )  # fmt: skip
        newest = two.history(view.state)[0]["operationMetrics"]
        assert newest["numTargetFilesAdded"] == newest["numTargetFilesRemoved"] == "0"


@pytest.mark.thorough
def test_rows_deleted_and_inserted_again_cancel_out(two: Bench) -> None:
    two.sql(
        "delete from r where k = 1",
        "insert into r values (1, 10), (1, 11)",
        "delete from s",
        "insert into s values (1, 'a'), (3, 'c')",
    )
    for view in two.views:
        assert view.refresh().response.rows_affected == 0


@pytest.mark.thorough
def test_several_commits_between_two_runs(two: Bench) -> None:
    two.view(SUMS)
    two.sql(
        "insert into r values (1, 1)",
        "update r set v = 2 where v = 1",
        "delete from r where v = 2",
        "insert into r values (5, 1)",
        "update r set k = 6 where k = 5",
        "insert into s values (6, 'six')",
    )
    two.refresh()


def test_commits_that_change_no_row_are_a_noop(two: Bench) -> None:
    two.sql("insert into r values (1, 5)")
    two.refresh()
    two.sql(
        "optimize r",
        "alter table r set tblproperties ('delta.logRetentionDuration' = 'interval 60 days')",
        "vacuum r",
        "comment on table r is 'a table'",
        "alter table r add constraint positive check (v >= 0)",
        "alter table r alter column v comment 'a column'",
    )
    for view in two.views:
        before = len(two.history(view.state))
        view.refresh("noop")
        assert len(two.history(view.state)) == before
    two.sql("insert into r values (3, 6)", "optimize r")
    two.refresh()


def test_truncate_and_insert_overwrite(two: Bench) -> None:
    one_row = two.view("select count(*) as n, sum(v) as total, max(v) as hi from r")
    two.sql("insert overwrite r values (1, 10), (7, 70)")
    two.refresh()
    two.sql("truncate table r")
    two.refresh()
    assert one_row.rows() == [(0, None, None)]
    two.sql("insert into r values (1, 1)")
    two.refresh()


@pytest.mark.thorough
def test_merges_into_a_source(two: Bench) -> None:
    two.view(SUMS)
    two.sql(
        "merge into r using (select * from values (8, 80), (1, 10) as t(k, v)) as n on r.v = n.v "
        "when not matched then insert *"
    )
    two.refresh()
    two.sql(
        "merge into r using (select * from values (1, 10, 'd'), (1, 11, 'u'), (3, 30, 'i') "
        "as t(k, v, what)) as n on r.v = n.v when matched and what = 'd' then delete "
        "when matched then update set k = 3, v = 12 when not matched then insert (k, v) "
        "values (n.k, n.v)"
    )
    two.refresh()
    two.sql("merge into r using (select 10000 as v) as n on r.v = n.v when matched then delete")
    two.refresh("noop")


def assert_recomputed(view: View, told: str) -> Outcome:
    """Refresh a view whose sources' changes cannot be followed: its state stays."""
    outcome = view.refresh("recompute")
    assert told in outcome.refresh.explanation
    return outcome


@pytest.mark.thorough
def test_a_restored_source_goes_back_with_its_rows(two: Bench) -> None:
    two.sql("insert into r values (1, 100)", "delete from r where k = 2")
    two.refresh()
    two.sql("restore table r to version as of 1")
    for view in two.views:
        assert_recomputed(view, "r was replaced as a whole")
    two.sql("insert into r values (1, 100)")
    two.refresh()


@pytest.mark.thorough
def test_a_restored_source_whose_column_was_dropped_and_added_again(bench: Bench) -> None:
    """No file comes or goes, so that the change feed shows nothing; yet the values come back."""
    bench.sql(
        "create table r (k int, v int) using delta tblproperties ("
        "delta.enableChangeDataFeed = true, delta.columnMapping.mode = 'name')",
        "insert into r values (1, 10), (2, 20)",
        "alter table r drop column v",
        "alter table r add columns (v int)",
    )
    view = bench.view("select k, sum(v) as v from r group by k")
    bench.sql("restore table r to version as of 1")
    assert_recomputed(view, "r was replaced as a whole")
    assert view.rows() == [(1, 10), (2, 20)]


@pytest.mark.thorough
def test_an_overwritten_table_of_other_partitions(bench: Bench) -> None:
    """Its feed shows the rows that went with NULL for what they were partitioned by."""
    frame = bench.handle.session.range(4).selectExpr("cast(id as int) as k", "cast(id as int) as p")
    bench.sql(f"create table r (k int, p int) using delta partitioned by (p) {FEED}")
    (told,) = bench.query("describe detail r")
    frame.write.format("delta").mode("append").save(told["location"])
    view = bench.view("select count(*) as n, sum(p) as p from r")
    frame.write.format("delta").mode("overwrite").option("overwriteSchema", "true").save(
        told["location"]
    )
    assert_recomputed(view, "r was replaced as a whole")
    bench.sql("insert overwrite r select 7, 8")
    view.refresh()


@pytest.mark.thorough
def test_old_versions_whose_files_delta_may_delete(bench: Bench) -> None:
    """Delta refused each read of them, at every run, though the files were there."""
    for name in ("r", "s"):
        bench.table(name, "k int, v int", "(1, 10)", "(2, 20)")
        bench.sql(
            f"alter table {name} set tblproperties ("
            "delta.deletedFileRetentionDuration = 'interval 1 second')"
        )
    bench.view("select r.v, s.v as w from r join s on r.k = s.k")
    bench.view(
        "select r.k, count(s.v) as n, max(s.v) as most from r left join s using (k) group by r.k"
    )
    bench.sql("insert into r values (2, 21)", "update s set v = 11 where k = 1")
    time.sleep(2)
    bench.sql("insert into r values (1, 12)", "delete from s where k = 2")
    bench.refresh()


def test_a_replaced_source_is_computed_from_and_then_goes_on(two: Bench) -> None:
    two.sql(f"create or replace table r using delta {FEED} as select 1 as k, 2 as v")
    for view in two.views:
        assert_recomputed(view, "r was replaced as a whole")
    two.sql("insert into r values (3, 4)")
    two.refresh()


def test_a_source_dropped_and_made_anew_with_as_many_versions(two: Bench) -> None:
    two.sql("drop table r")
    two.table("r", "k int, v int", "(1, 99)")
    assert len(two.history("r")) == 2
    for view in two.views:
        assert_recomputed(view, "r is not the table of the last refresh any more")


@pytest.mark.thorough
def test_a_source_dropped_and_made_anew_with_more_versions(two: Bench) -> None:
    two.sql("drop table r")
    two.table("r", "k int, v int", "(1, 99)")
    two.sql("insert into r values (3, 1)", "delete from r where v = 99")
    for view in two.views:
        assert_recomputed(view, "r is not the table of the last refresh any more")


def test_a_missing_source_is_named_and_the_view_stays(two: Bench) -> None:
    two.sql("drop table s")
    view = two.views[0]
    with pytest.raises(InvalidModel, match=rf"Table {two.schema}\.s does not exist"):
        view.run()
    assert len(view.rows()) == 2


@pytest.mark.thorough
def test_a_new_column_shows_in_select_star(bench: Bench) -> None:
    bench.table("r", "k int, v int", "(1, 10)", "(2, 20)")
    star = bench.view("select * from r")
    named = bench.view("select k, v from r")
    bench.sql("alter table r add columns (extra string)")
    assert star.refresh("full").refresh.reason == "SCHEMA_CHANGED"
    assert named.refresh("noop").refresh.reason == "UNCHANGED"
    bench.sql("insert into r values (1, 10, 'x'), (1, 10, null)")
    bench.refresh()


@pytest.mark.thorough
def test_a_new_column_and_new_rows_in_one_step(bench: Bench) -> None:
    bench.table("r", "k int, v int", "(1, 10)", "(2, 20)")
    star = bench.view("select * from r")
    named = bench.view("select v, count(*) as n from r group by v")
    bench.sql("alter table r add columns (extra string)", "insert into r values (1, 10, 'x')")
    star.refresh("full")
    named.refresh("incremental")


@pytest.mark.parametrize(
    "sql",
    [
        "select k, v from r",
        pytest.param("select k, sum(v) as v from r group by k", marks=pytest.mark.thorough),
    ],
)
def test_a_columns_type_changed_in_place(bench: Bench, sql: str) -> None:
    bench.table("r", "k int, v int", "(1, 10)")
    bench.sql("alter table r set tblproperties ('delta.enableTypeWidening' = true)")
    view = bench.view(sql)
    bench.sql("alter table r alter column v type bigint", "insert into r values (1, 5000000000)")
    assert view.refresh("full").refresh.reason == "SCHEMA_CHANGED"
    bench.sql("delete from r where v = 10")
    view.refresh()


@pytest.mark.thorough
def test_a_renamed_and_a_dropped_column(bench: Bench) -> None:
    bench.table("r", "k int, v int, old int", "(1, 10, 0)")
    bench.sql("alter table r set tblproperties ('delta.columnMapping.mode' = 'name')")
    view = bench.view("select k, v from r")
    bench.sql("alter table r rename column old to older", "insert into r values (2, 20, 0)")
    view.refresh(None)
    bench.sql("alter table r drop column older", "insert into r values (3, 30)")
    view.refresh(None)
    bench.sql("insert into r values (4, 40)")
    view.refresh()
    bench.sql("alter table r rename column v to w")
    with pytest.raises(InvalidModel, match="Column v does not exist"):
        view.run()


def test_a_change_feed_that_was_off_for_a_while(two: Bench) -> None:
    two.sql(
        "alter table r set tblproperties (delta.enableChangeDataFeed = false)",
        "insert into r values (1, 77)",
        "alter table r set tblproperties (delta.enableChangeDataFeed = true)",
    )
    for view in two.views:
        outcome = assert_recomputed(view, "the sources' changes cannot be read")
        assert "line 1 pos" not in outcome.response._message
    two.sql("insert into r values (1, 78)")
    two.refresh()


def test_a_source_without_a_change_feed_says_how_to_switch_it_on(bench: Bench) -> None:
    bench.table("r", "k int, v int", "(1, 10)", feed=False)
    view = bench.view(SUMS)
    for rows in ("(1, 5)", "(2, 5)"):
        bench.sql(f"insert into r values {rows}")
        advice = f"ALTER TABLE {bench.schema}.r SET TBLPROPERTIES (delta.enableChangeDataFeed"
        outcome = assert_recomputed(view, advice)
        assert outcome.response._message.endswith(".r has no change feed")  # the rest is in dbt.log
        assert "ivm_enable_change_feed: true" in outcome.refresh.explanation


@pytest.mark.thorough
def test_the_change_feed_may_be_switched_on(bench: Bench) -> None:
    bench.table("r", "k int, v int", "(1, 10)", feed=False)
    view = bench.view(SUMS, ivm_enable_change_feed=True)
    bench.sql("insert into r values (1, 5)")
    view.refresh()


@pytest.mark.thorough
def test_old_files_that_were_vacuumed_away(two: Bench) -> None:
    two.sql(
        "delete from r where v = 11",
        "insert into s values (1, 'late'), (2, 'late')",
        "set spark.databricks.delta.retentionDurationCheck.enabled = false",
        "vacuum r retain 0 hours",
    )
    (join,) = two.views
    outcome = join.refresh(None)
    assert outcome.refresh.strategy.value in ("incremental", "recompute")
    two.sql("insert into r values (2, 1)", "insert into s values (2, 'x')")
    join.refresh()


@pytest.mark.parametrize("ignored", [pytest.param("false", marks=pytest.mark.thorough), "true"])
def test_a_change_feed_vacuumed_before_it_was_read(two: Bench, ignored: str) -> None:
    two.sql(
        f"set spark.sql.files.ignoreMissingFiles = {ignored}",
        "update r set v = v + 1",
        "set spark.databricks.delta.retentionDurationCheck.enabled = false",
        "vacuum r retain 0 hours",
    )
    for view in two.views:
        assert_recomputed(view, "the sources' changes cannot be read")
    two.sql("insert into r values (2, 1)")
    two.refresh()


@pytest.mark.thorough
def test_the_same_table_named_in_different_ways(bench: Bench) -> None:
    bench.table("r", "k int, v int", "(1, 10)", "(2, 20)")
    bench.view(f"select a.k, b.v from r a join {bench.schema}.R b on a.k = b.k")
    bench.view(f"select a.k, count(*) as n from r a, spark_catalog.{bench.schema}.r b group by a.k")
    bench.sql("insert into r values (1, 11)", "delete from r where v = 10")
    bench.refresh()
