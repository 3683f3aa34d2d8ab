"""Logs of the rows that came into a query's result, on Spark and Delta."""

from __future__ import annotations

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.sparkivm.bridge.warehouse import SparkWarehouse
from python_ivm.errors import Unsupported
from python_ivm.refresh.consistency import consistency_query
from tests.spark.workbench import Bench, View, failing, refresher

pytestmark = pytest.mark.spark

LARGE = (
    "select c.name, sum(o.v) as total from o join c on o.k = c.k group by c.name "
    "having sum(o.v) > 3"
)


def differing(bench: Bench) -> list[object]:
    return bench.sql(consistency_query((bench.schema, "m"), SparkWarehouse(bench.query)))


def test_a_log_of_what_came(bench: Bench) -> None:
    bench.table("o", "k int, v int", "(1, 4)", "(2, 1)")
    bench.table("c", "k int, name string", "(1, 'a')", "(2, 'b')", "(3, null)")
    view = View(bench, "m", LARGE, {"ivm_output": "inserted"})
    assert view.run().refresh.reason == "FIRST_BUILD"
    bench.sql("insert into o values (2, 4), (3, 9)", "delete from o where k = 1")
    for side in ("before", "after"):
        with pytest.raises(DbtRuntimeError, match="killed"):
            refresher(failing(bench.query, **{side: "MERGE"})).refresh(view.request())
    # The second one died behind its commit, so that nothing is left to do.
    assert view.run().refresh.strategy.value == "noop"
    assert view.rows() == [("a", 4, 1), ("b", 5, 2), (None, 9, 2)]
    bench.sql("insert into o values (1, 4)", "update c set name = 'd' where k = 2")
    outcome = view.run()
    assert outcome.refresh.strategy.value == "incremental", outcome.refresh.explanation
    assert view.rows() == [("a", 4, 1), ("a", 4, 3), ("b", 5, 2), ("d", 5, 3), (None, 9, 2)]
    assert outcome.response.rows_inserted == 2
    assert not outcome.response.rows_updated and not outcome.response.rows_deleted
    feed = bench.sql(f"select _change_type from table_changes('{view.state}', 1)")
    assert {row[0] for row in feed} == {"insert"}
    assert differing(bench) == []


@pytest.mark.thorough
def test_a_log_whose_sources_cannot_be_followed(bench: Bench) -> None:
    bench.table("o", "k int, v int", "(1, 4)", "(1, 4)")
    view = View(bench, "m", "select k, v from o", {"ivm_output": "inserted"})
    view.run()
    bench.sql("alter table o set tblproperties (delta.enableChangeDataFeed = false)")
    bench.sql("insert into o values (1, 4), (2, 2)", "delete from o where v = 2")
    outcome = view.run()
    assert outcome.refresh.strategy.value == "recompute", outcome.refresh.explanation
    assert view.rows() == [(1, 4, 1), (1, 4, 1), (1, 4, 2)]
    assert differing(bench) == []
    bench.sql("drop table o", "create table o (k int, v int) using delta")
    with pytest.raises(Unsupported, match="Nothing was written to the log"):
        view.run()
    outcome = view.run(full_refresh=True)
    assert "the log begins anew" in str(outcome.response.warning)
    assert view.rows() == []
