"""Changes of which a query sees nothing, on a real Spark."""

from __future__ import annotations

import pytest

from python_ivm.optimize.cost import Cost
from tests.spark.workbench import Bench

COLUMNS = (
    "k int, note string, s string, d double, n decimal(9,2), t timestamp, b binary, "
    "m map<string,int>"
)
ROWS = [
    "(1, 'a', 'x', 0.0, 1.50, timestamp'2024-01-01 10:00:00', X'00', map('a', 1))",
    "(2, 'b', 'y', double('NaN'), null, null, X'01', map('b', 2, 'c', 3))",
    "(3, 'c', null, null, -1, timestamp'2024-10-27 01:30:00', null, null)",
]


@pytest.fixture(autouse=True)
def asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every refresh asks what its query sees, which else pays for large tables only."""
    monkeypatch.setattr(Cost, "is_worth_a_question", lambda *arguments: True)


@pytest.mark.thorough
def test_a_change_that_no_query_sees_moves_bookmarks_alone(bench: Bench) -> None:
    bench.table("r", COLUMNS, *ROWS)
    views = [
        bench.view("select k, s, d, n, t, b from r where k < 3"),
        bench.view("select s, count(*) as c, sum(n) as n from r where k < 3 group by s"),
        bench.view("select a.k, b.s from r a left join r b on a.k = b.k and b.k < 3 where a.k < 2"),
        bench.view("select k, count(*) over (partition by k) as c from r where k <> 9"),
    ]
    above = bench.view("select s, c from m2")
    bench.sql("update r set note = concat(note, '!')", "update r set s = 'z', d = 7 where k = 3")
    bench.sql("insert into r values (9, 'z', 'z', 9, 9, null, null, null)")
    bench.sql("delete from r where k = 9")
    bench.refresh("noop")
    for view in [*views, above]:
        view.check()
    bookmarks = bench.history("m1__ivm_state")
    assert bookmarks[0]["operation"] == "MERGE"
    assert bookmarks[0]["operationMetrics"]["numOutputRows"] == "0"
    bench.refresh("noop")
    assert len(bench.history("m1__ivm_state")) == len(bookmarks)
    bench.sql("update r set s = 'new' where k = 1")
    bench.refresh(None)
    for view in [*views, above]:
        view.check()


@pytest.mark.thorough
def test_values_that_spark_takes_for_equal_are_seen_to_change(bench: Bench) -> None:
    bench.table("r", COLUMNS, *ROWS)
    view = bench.view(
        "select k, s, cast(d as string) as d, n, hex(b) as b from r where k = 1 and t is not null"
    )
    for change in ("d = double('-0.0')", "n = 1.51", "b = X'0000'", "s = 'X'", "s = null"):
        bench.sql(f"update r set {change} where k = 1")
        bench.refresh("incremental")
        view.check()
    bench.sql("update r set d = double('NaN') where k = 2")
    bench.refresh("noop")


@pytest.mark.thorough
def test_values_that_cannot_be_compared_are_followed(bench: Bench) -> None:
    bench.table("r", COLUMNS, *ROWS)
    view = bench.view("select k, to_json(m) as m from r where k = 1")
    bench.sql("update r set m = map('a', 2) where k = 1")
    bench.refresh("incremental")
    view.check()
    bench.sql("update r set m = map('z', 2) where k = 2")
    bench.refresh("noop")
