"""Models that read their own rows as of the last refresh, on Spark and Delta."""

from __future__ import annotations

from decimal import Decimal

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.sparkivm.bridge.warehouse import SparkWarehouse
from python_ivm.errors import InvalidModel, Unsupported
from python_ivm.refresh.consistency import consistency_query
from tests.planner.refresh.delays.test_own_rows import QUERIES
from tests.spark.workbench import Bench, View, failing, refresher

thorough = pytest.mark.thorough

BALANCES = (
    "select account, cast(sum(amount) as decimal(18, 2)) as balance from ("
    "select account, amount from payments union all "
    "select account, balance as amount from {s}.m1) q group by account"
)


def own(bench: Bench, sql: str, **options: str) -> View:
    """A view that may read itself; its build is not compared with its text."""
    view = View(bench, f"m{len(bench.views) + 1}", sql.format(s=bench.schema), dict(options))
    bench.views.append(view)
    assert view.run().refresh.reason == "FIRST_BUILD"
    return view


def test_own_rows_are_those_of_the_last_refresh(bench: Bench) -> None:
    bench.table("payments", "account int, amount decimal(18, 2)", "(1, 10)", "(2, 5)")
    view = own(bench, BALANCES)
    assert view.rows() == [(1, Decimal("10.00")), (2, Decimal("5.00"))]
    bench.sql("insert into payments values (3, 1)")
    # All payments again, and the balances before.
    refresh = view.run().refresh
    assert refresh.strategy.value == "incremental", refresh.explanation
    assert view.rows() == [(1, Decimal("20.00")), (2, Decimal("10.00")), (3, Decimal("1.00"))]
    outcome = view.run(full_refresh=True)
    assert (outcome.refresh.strategy.value, outcome.refresh.reason) == ("full", "FULL_REFRESH")
    assert view.rows() == [(1, Decimal("10.00")), (2, Decimal("5.00")), (3, Decimal("1.00"))]
    bench.sql("drop view m1")
    view.run()
    assert view.rows() == [(1, Decimal("20.00")), (2, Decimal("10.00")), (3, Decimal("2.00"))]


@pytest.mark.thorough
def test_a_model_that_has_settled_has_nothing_to_do(bench: Bench) -> None:
    bench.table("edges", "a int, b int", "(1, 2)", "(2, 3)", "(3, 4)", "(4, 5)")
    view = own(
        bench,
        "select a, b from edges union select r.a, e.b from {s}.m1 r join edges e on r.b = e.a",
    )
    strategies = [view.run().refresh.strategy.value for _ in range(5)]
    assert strategies == ["incremental"] * 4 + ["noop"]
    assert len(view.rows()) == 10
    bench.sql("insert into edges values (5, 6)")
    strategies = [view.run().refresh.strategy.value for _ in range(7)]
    assert strategies[-1] == "noop" and len(view.rows()) == 15


@pytest.mark.parametrize(
    "statement",
    [*(pytest.param(s, marks=thorough) for s in ("CREATE OR REPLACE TABLE", "INSERT")), "MERGE"],
)
@pytest.mark.parametrize("side", ["before", "after"])
def test_a_run_that_dies_is_taken_up_by_the_next(bench: Bench, statement: str, side: str) -> None:
    bench.table("payments", "account int, amount decimal(18, 2)", "(1, 10)")
    if statement == "MERGE":
        view = own(bench, BALANCES)
        bench.sql("insert into payments values (2, 1)")
        expected = [(1, Decimal("20.00")), (2, Decimal("1.00"))]
    else:
        view = View(bench, "m1", BALANCES.format(s=bench.schema))
        expected = [(1, Decimal("10.00"))]
    if (statement, side) == ("INSERT", "after"):  # the rows are there, and the next run is one more
        expected = [(1, Decimal("20.00"))]
    dying = refresher(failing(bench.query, **{side: statement}))
    with pytest.raises(DbtRuntimeError, match="killed"):
        dying.refresh(view.request())
    if (statement, side) != ("MERGE", "after"):
        view.run()
    assert view.rows() == expected


def test_rows_that_cannot_be_computed_anew_are_not_given_up(bench: Bench) -> None:
    bench.table("payments", "account int, amount decimal(18, 2)", "(1, 10)")
    view = own(bench, BALANCES)
    bench.sql("create or replace table payments (account int, amount decimal(18, 2)) using delta")
    bench.sql("insert into payments values (2, 1)")
    assert view.run().refresh.strategy.value == "recompute"
    assert view.rows() == [(1, Decimal("10.00")), (2, Decimal("1.00"))]
    bench.sql("delete from m1__ivm_state where account = 1")
    with pytest.raises(Unsupported, match=r"its state cannot stay \(STATE_MODIFIED\)"):
        view.run()


@pytest.mark.parametrize("output", ["rows", pytest.param("inserted", marks=thorough)])
def test_an_expression_that_fails_ends_the_run(bench: Bench, output: str) -> None:
    """No rebuild can help such a model, so that none is tried for ever."""
    bench.sql("set spark.sql.ansi.enabled=true")
    bench.table("payments", "account int, amount int", "(1, 10)")
    sql = "select account, 100 div amount as share from payments"
    if output == "rows":
        sql += " union select account, share from {s}.m1"
    view = own(bench, sql, ivm_output=output)
    bench.sql("insert into payments values (2, 0)")
    before = view.rows()
    with pytest.raises(DbtRuntimeError, match="an expression in the query fails"):
        view.run()
    assert view.rows() == before
    bench.sql("delete from payments where amount = 0")
    view.run()
    assert view.rows() == before


def test_columns_that_the_text_does_not_tell(bench: Bench) -> None:
    bench.table("payments", "account int, amount decimal(18, 2)", "(1, 10)")
    view = View(bench, "m1", f"select * from payments union all select * from {bench.schema}.m1")
    with pytest.raises(InvalidModel, match=r"line 1, column 48: .*columns are not known"):
        view.run()


FOLD = (
    "select account, cast(sum(amount) as decimal(18, 2)) as balance from ("
    "select account, amount from payments /* ivm_new */ union all "
    "select account, balance as amount from {s}.m1) q group by account"
)


@pytest.mark.thorough
@pytest.mark.parametrize("step", ["refresh", "commit"])
def test_each_new_row_is_taken_once_commit_by_commit(bench: Bench, step: str) -> None:
    bench.table("payments", "account int, amount decimal(18, 2)", "(1, 10)", "(2, 5)")
    view = own(bench, FOLD, ivm_step=step)
    bench.sql("insert into payments values (1, 1)", "insert into payments values (3, 7)")
    dying = refresher(failing(bench.query, after="MERGE"))
    with pytest.raises(DbtRuntimeError, match="killed"):
        dying.refresh(view.request())
    outcome = view.run()  # of two steps the second, or nothing but the end of the new rows
    assert outcome.refresh.strategy.value == "incremental", outcome.refresh.explanation
    bench.sql("delete from payments where account = 1", "insert into payments values (2, 1)")
    outcome = view.run()
    assert outcome.refresh.strategy.value == "incremental", outcome.refresh.explanation
    assert ("in 2 steps" in outcome.response._message) == (step == "commit")
    assert view.rows() == [(1, Decimal("11.00")), (2, Decimal("6.00")), (3, Decimal("7.00"))]
    assert [view.run().refresh.strategy.value for _ in range(3)][-1] == "noop"
    replay = consistency_query((bench.schema, "m1"), SparkWarehouse(bench.query))
    assert bench.sql(replay) == []


SHARE = ("capped_sum", "not_in", "full", "closure", "last_of_each")


@pytest.mark.parametrize("name", [SHARE[0], *(pytest.param(n, marks=thorough) for n in SHARE[1:])])
def test_runs_as_spark_computes_them_one_by_one(bench: Bench, name: str) -> None:
    """The queries of the planner's test, beside Spark's own result over the run before."""
    bench.table("x", "i int, v int", "(1, 3)", "(2, 1)", "(null, 2)", "(3, null)", "(1, 3)")
    sql = QUERIES[name].replace("s.x", "x").replace("s.m", f"{bench.schema}.m1")
    sql = f"select cast(i as bigint) as i, cast(v as bigint) as v from ({sql}) typed"
    view = View(bench, "m1", sql)
    bench.sql("create database if not exists before")
    bench.sql("create or replace table before.m1 (i bigint, v bigint) using delta")
    changes = ["insert into x values (2, 3), (4, 1)", "select 1", "delete from x where i = 1"]
    for change in ["select 1", *changes]:
        bench.sql(change)
        view.run()
        naive = sql.replace(f"{bench.schema}.m1", "before.m1")
        expected = [tuple(row) for row in bench.sql(naive)]
        assert view.rows() == sorted(expected, key=repr)
        bench.sql(f"create or replace table before.m2 using delta as {naive}")
        bench.sql("create or replace table before.m1 using delta as select * from before.m2")
