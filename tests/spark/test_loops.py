"""Loop programs on Spark: built, kept up, cut off, and refused."""

from __future__ import annotations

from decimal import Decimal

import pytest
from dbt_common.exceptions import DbtRuntimeError

from python_ivm.errors import LoopNotEnded
from tests.spark.workbench import Bench, View, failing, refresher

pytestmark = pytest.mark.spark


def run(view: View, strategy: str, reason: str) -> None:
    """Refresh; Spark cannot tell what the view must show."""
    found = view.run().refresh
    assert (found.strategy.value, found.reason) == (strategy, reason), found.explanation


REACHED = """with recursive reached as (
    select n, 0 as hops from start
    union
    select e.b, least(r.hops + 1, 3) from {{ delayed }} r join edge e on e.a = r.n
) select n, min(hops) as hops from reached group by n"""


def test_a_graph_with_a_circle_that_is_cut(bench: Bench) -> None:
    bench.table("start", "n bigint", "(1)")
    bench.table("edge", "a bigint, b bigint", "(1, 2)", "(2, 3)", "(3, 1)", "(3, 4)", "(null, 5)")
    view = View(bench, "m", REACHED.replace("{{ delayed }}", "ivm_delay.reached"))
    run(view, "full", "FIRST_BUILD")
    assert view.rows() == [(1, 0), (2, 1), (3, 2), (4, 3)]
    bench.sql("delete from edge where a = 2")
    run(view, "recompute", "LOOP")
    assert view.rows() == [(1, 0), (2, 1)]
    run(view, "noop", "UNCHANGED")


def test_types_that_go_into_a_loop_and_come_out(bench: Bench) -> None:
    bench.table(
        "t", "k int, name string, d date, p decimal(10, 2), ok boolean",
        "(1, 'it''s \\\\ \"so\"', date'2024-02-29', 1.50, true)", "(2, null, null, -0.01, null)",
    )  # fmt: skip
    view = View(
        bench,
        "m",
        "with recursive r as (select k, name, d, p, ok from t union select k + 1, name, d, p * 2, "
        "not ok from ivm_delay.r where k < 3) select * from r",
    )
    run(view, "full", "FIRST_BUILD")
    names = [row.name for row in bench.sql(f"select * from {view.name} where k = 1")]
    assert names == ['it\'s \\ "so"']
    found = bench.sql(f"select max(p) as p, max(d) as d from {view.name}")
    assert found[0].p == Decimal("6.00")
    assert str(found[0].d) == "2024-02-29"


def test_a_loop_that_is_cut_off_is_run_anew(bench: Bench) -> None:
    bench.table("t", "k int", "(1)")
    endless = "with recursive r as (select k from t union all select k + 1 from ivm_delay.r) "
    view = View(bench, "m", endless + "select * from r", {"ivm_max_rounds": 5})
    with pytest.raises(LoopNotEnded, match=r"r has .* 5 → 6 rows"):
        view.run()
    view.options["ivm_on_limit"] = "return"
    run(view, "full", "FIRST_BUILD")
    assert view.rows() == [(n,) for n in range(1, 7)]
    run(view, "recompute", "LOOP_CUT_OFF")
    view.options["ivm_max_rounds"] = 7
    run(view, "recompute", "LOOP_CUT_OFF")
    assert view.rows() == [(n,) for n in range(1, 9)]


def test_a_process_that_dies_between_the_loop_and_its_commit(bench: Bench) -> None:
    """All rounds or none: the view is as before, and the next run does what was left."""
    bench.table("t", "k int", "(1)")
    sql = "with recursive r as (select k from t union select k + 1 from ivm_delay.r where k < 4) "
    view = View(bench, "m", sql + "select k from r")
    run(view, "full", "FIRST_BUILD")
    bench.sql("insert into t values (10), (2)", "delete from t where k = 1")
    before = len(bench.history(view.state))
    with pytest.raises(DbtRuntimeError, match="killed"):
        refresher(failing(bench.query, before="MERGE")).refresh(view.request())
    assert view.rows() == [(1,), (2,), (3,), (4,)]
    assert len(bench.history(view.state)) == before
    run(view, "incremental", "CHANGED")
    assert sorted(view.rows()) == [(2,), (3,), (4,), (10,)]
    assert len(bench.history(view.state)) == before + 1
