"""Views that are recomputed, of which only the rows that differ are written."""

from __future__ import annotations

import pytest

from python_ivm.optimize.cost import Cost
from python_ivm.refresh.planning.recomputes import Recomputes
from tests.spark.workbench import Bench


@pytest.fixture(autouse=True)
def recomputed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Cost, "is_more_expensive", lambda *plans: True)
    monkeypatch.setattr(Recomputes, "_is_rewritable", lambda *given: False)  # or all were written


def test_only_rows_that_differ_are_written(bench: Bench) -> None:
    bench.table("a", "k int, v int", "(1, 7)", "(2, 8)", "(2, 8)", "(3, 9)", "(null, 1)")
    groups = bench.view("select k, sum(v) as s, max(v) as m from a group by k")
    bag = bench.view("select k, v from a")
    above = bench.view(f"select count(*) as n, max(s) as s from {groups.name}")
    bench.sql("update a set v = 5 where k = 2", "delete from a where k is null")
    bench.sql("insert into a values (4, 1), (3, 9)")
    outcome = groups.refresh("recompute")
    assert outcome.response._message == (
        "recompute (CHEAPER): +1 ~2 -1 rows from a@1→4; to follow what changed would read more"
    )
    assert bag.refresh("recompute").response._message.startswith("recompute (CHEAPER): +0 ~3 -0 ")
    above.refresh("recompute")
    fed = bench.sql(f"select * from table_changes('{groups.state}', 1, 1)")
    assert sorted((row["k"] or 0) for row in fed) == [0, 2, 2, 3, 3, 4]
    bench.refresh("noop")


@pytest.mark.parametrize(
    "sql",
    [
        "select sum(v) as s, count(distinct k) as n from a",
        pytest.param(
            "select d, avg(d) as x, sum(f) as t, collect_set(k) as ks from a group by d",
            marks=pytest.mark.thorough,
        ),
        pytest.param("select f, count(*) as n from a group by f", marks=pytest.mark.thorough),
        "select k, f, d, array(k, v) as vs, map(k, v) as m from a where k is not null",
        pytest.param(
            "select k, v, row_number() over (partition by k order by v, f, d) as r from a",
            marks=pytest.mark.thorough,
        ),
        pytest.param("select k, v from a order by v, k limit 3", marks=pytest.mark.thorough),
        pytest.param(
            "select x.k, y.v from a x full join a y on x.k = y.v", marks=pytest.mark.thorough
        ),
        "select n, count(*) as c from (select x.k, count(y.k) as n from a x left join a y "
        "on x.k = y.v group by x.k) q group by n",
    ],
)
def test_a_view_equals_its_query(bench: Bench, sql: str) -> None:
    bench.table(
        "a", "k int, v int, d decimal(10, 2), f double",
        "(1, 2, 1.50, 0.1D)", "(2, 1, 1.50, double('NaN'))", "(2, 1, 1.50, double('NaN'))",
        "(null, null, null, 0D)",
        "(3, 3, 2.00, -0.0D)",
    )  # fmt: skip
    view = bench.view(sql)
    bench.sql(
        "insert into a values (2, 2, 1.50, 0.0D), (null, 3, null, null)",
        "update a set v = k, d = d + 1 where k = 2",
        "delete from a where k is null and v is null or v = 3",
    )
    view.refresh("recompute")
    bench.sql("delete from a")
    view.refresh("recompute")
