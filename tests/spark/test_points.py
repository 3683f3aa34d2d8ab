"""One value of a column at a time, on Spark and Delta."""

from __future__ import annotations

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.sparkivm.bridge.warehouse import SparkWarehouse
from python_ivm.refresh.consistency import consistency_query
from tests.spark.workbench import Bench, View, failing, refresher

pytestmark = pytest.mark.spark

BALANCES = (
    "select p.account, coalesce(max(m.balance), 0) + sum(p.amount) as balance, max(p.at) as at "
    "from payments p left join {s}.m m on m.account = p.account "
    "where p.at > coalesce(m.at, timestamp'1970-01-01 00:00:00') "
    "and coalesce(m.balance, 0) + p.amount >= 0 group by p.account union all "
    "select account, balance, at from {s}.m m where not exists (select 1 from payments p "
    "where p.account = m.account and p.at > m.at and m.balance + p.amount >= 0)"
)


@pytest.mark.thorough
def test_each_value_of_a_time_is_a_step(bench: Bench) -> None:
    bench.sql("set spark.sql.session.timeZone=America/New_York")
    bench.table(
        "payments", "account int, amount bigint, at timestamp",
        "(1, 5, timestamp'2024-11-03 00:10:00')", "(1, -9, timestamp'2024-11-03 00:20:00')",
        # The same hour twice, as clocks are set back.
        "(1, 3, timestamp'2024-11-03 01:30:00-04:00')",
        "(1, -7, timestamp'2024-11-03 01:30:00-05:00')", "(2, 1, null)",
    )  # fmt: skip
    view = View(bench, "m", BALANCES.format(s=bench.schema), {"ivm_step": "at"})
    outcome = view.run()
    assert outcome.refresh.reason == "FIRST_BUILD", outcome.refresh.explanation
    assert "in 4 steps" in outcome.response._message
    # 5, not 5 - 9, 5 + 3, 8 - 7.
    assert [row[:2] for row in view.rows()] == [(1, 1)]
    assert view.run().refresh.strategy.value == "noop"
    bench.sql(
        "insert into payments values (1, -2, timestamp'2024-12-01 00:00:00'), "
        "(1, 2, timestamp'2024-12-02 00:00:00'), (2, 4, timestamp'2024-12-01 00:00:00')"
    )
    dying = refresher(failing(bench.query, after="MERGE"))
    with pytest.raises(DbtRuntimeError, match="killed"):
        dying.refresh(view.request())
    outcome = view.run()
    assert outcome.refresh.strategy.value == "incremental", outcome.refresh.explanation
    assert [row[:2] for row in view.rows()] == [(1, 3), (2, 4)]
    replay = consistency_query((bench.schema, "m"), SparkWarehouse(bench.query))
    assert bench.sql(replay) == []
    bench.sql("delete from payments where amount = 4")
    outcome = view.run()
    assert "came late" in outcome.response.explanation
    assert outcome.refresh.strategy.value == "incremental", outcome.refresh.explanation
