"""A build follows the model's hints; a refresh reads other tables, and needs none."""

from __future__ import annotations

import re

import pytest

from tests.spark.workbench import Bench

NO_BROADCAST = {
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.databricks.delta.optimizeWrite.enabled": "false",
}


@pytest.mark.thorough
@pytest.mark.parametrize("bench", [NO_BROADCAST], indirect=True)
def test_a_build_follows_hints(bench: Bench) -> None:
    bench.table("t", "k int, v int")
    bench.sql("insert into t select id % 7, id from range(40)")
    bench.table("u", "k int, w int", "(1, 5)", "(2, 8)")
    bench.view("select /*+ BROADCAST(x), SKEW('t') */ t.v, x.w from t join u x on t.k = x.k")
    bench.view("select t.v, u.w from t join u on t.k = u.k")
    bench.view(
        "with q as (select k, sum(w) as w from u group by k) select /*+ SHUFFLE_HASH(q) */ t.v, "
        "q.w from t left join q on t.k = q.k"
    )
    broadcast, merge, hashed = (plan_of_build(bench, number) for number in (1, 2, 3))
    assert "BroadcastHashJoin" in broadcast
    assert "SortMergeJoin" in merge
    assert "ShuffledHashJoin" in hashed
    bench.view("select /*+ REPARTITION(3) */ k, v from t")
    bench.view("select /*+ COALESCE(1) */ /*+ UNKNOWN(t) */ k, v from t")
    files = [bench.sql(f"describe detail m{number}__ivm_state")[0]["numFiles"] for number in (4, 5)]
    assert files == [3, 1]
    bench.sql("insert into t values (1, 99), (2, 98)", "update u set w = 9 where k = 1")
    bench.refresh()


def plan_of_build(bench: Bench, number: int) -> str:
    """How Spark computes the query of a model's last build."""
    outcome = bench.views[number - 1].run(full_refresh=True)
    build = outcome.refresh.statements[0].sql
    body = re.split(r"\nAS\n", build, maxsplit=1)[1]
    return str(bench.sql(f"explain {body}")[0][0])
