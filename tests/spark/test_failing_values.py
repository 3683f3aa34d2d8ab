"""In ANSI mode: a value that fails stops the run, and rows that came and went fail nothing."""

from __future__ import annotations

import pytest

from tests.spark.workbench import Bench

ANSI = pytest.mark.parametrize("bench", [{"spark.sql.ansi.enabled": "true"}], indirect=True)


@ANSI
def test_a_group_that_fails_leaves_view_and_state(bench: Bench) -> None:
    bench.table("r", "k int, n int, d int, at timestamp", "(1, 10, 2, now())", "(2, 6, 3, now())")
    view = bench.view(
        "select k, sum(n) / sum(d) as ratio, max(at) - min(at) as span, "
        "map('n', sum(n) div sum(d)) as m, array(k, 7)[k - 1] as x from r group by k "
        "having sum(n) / sum(d) > 0 or sum(n) div sum(d) < 9"
    )
    ordered = bench.view("select k from r group by k order by 60 / sum(d), k")
    assert all("__ivm_check__" in bench.sql(f"select * from {v.state}")[0] for v in bench.views)
    shown = [v.rows() for v in bench.views]
    commits = [len(bench.history(v.state)) for v in bench.views]
    bench.sql("insert into r values (2, 1, -3, now())")
    divided = r"SUM\(r.n\) (/|DIV) SUM\(r.d\)"
    for told, failing in ((divided, view), (r"60 / SUM\(r.d\)", ordered)):
        with pytest.raises(Exception, match="DIVIDE_BY_ZERO") as failed:
            failing.run()
        assert str(failed.value).count(f"{failing.name}: an expression in the query fails") == 1
        failed.match(f"(?i){told}")
    assert [v.rows() for v in bench.views] == shown
    assert [len(bench.history(v.state)) for v in bench.views] == commits
    bench.sql("insert into r values (2, 1, 2, now())", "delete from r where n = 10")
    bench.refresh()
    bench.sql("insert into r values (5, 1, 0, now())")
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):  # a new group
        ordered.run()


@ANSI
@pytest.mark.thorough
@pytest.mark.parametrize("failing", ["cast(s as int)", "1 / length(trim('seven' from s))"])
def test_a_row_that_fails_stops_the_run_until_it_is_deleted(bench: Bench, failing: str) -> None:
    bench.table("r", "k int, s string", "(1, '7')")
    view = bench.view(f"select k, {failing} as number from r")
    before, commits = view.rows(), len(bench.history(view.state))
    bench.sql("insert into r values (2, 'seven'), (3, '9')")
    for _ in range(2):
        with pytest.raises(Exception, match="m1: an expression in the query fails"):
            view.run()
        assert (view.rows(), len(bench.history(view.state))) == (before, commits)
    bench.sql("delete from r where k = 2")
    view.refresh()
    view.refresh("noop")


@ANSI
def test_rows_that_came_and_went_fail_nothing(bench: Bench) -> None:
    bench.table("r", "k int, n int, d int, x double, s string", "(1, 10, 2, 0.0, '7')")
    bench.view("select k, n / d as ratio, cast(x as string) as x, s::int as number from r")
    bench.view("select cast(s as int) as number, count(*) as c, max(x) as x from r group by 1")
    bench.sql(
        "insert into r values (2, 1, 0, 1.0, 'seven'), (3, 1, 1, double('NaN'), '9')",
        "update r set x = double('-0.0') where k = 1",
        "delete from r where k = 2",
        "update r set x = x + 1, s = 'nine' where k = 3",
        "update r set s = '8' where k = 3",
    )
    bench.refresh()
    assert [row[2] for row in bench.views[0].rows()] == ["-0.0", "NaN"]
    bench.refresh("noop")


@ANSI
def test_a_build_that_fails_writes_nothing(bench: Bench) -> None:
    bench.table("r", "k int, n int, d int", "(1, 10, 0)")
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        bench.view("select k, sum(n) / sum(d) as ratio from r group by k")
    assert not bench.sql("show tables like 'm1*'")
