"""A refresh that reads little is neither compiled nor planned anew; its settings end with it."""

from __future__ import annotations

import pytest

from dbt.adapters.sparkivm.refresher import _INTERPRETED
from dbt.adapters.sparkivm.warehouse import SparkWarehouse
from tests.spark import workbench
from tests.spark.workbench import Bench, query

USUAL = {
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
}


@pytest.mark.parametrize("bench", [USUAL], indirect=True, ids=["usual"])
def test_small_refreshes_are_interpreted_and_large_reads_bounded(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    during: list[dict[str, str]] = []
    merges: list[str] = []

    def settings() -> dict[str, str]:
        return {key: str(bench.handle.session.conf.get(key)) for key in _INTERPRETED}

    def noting(handle: workbench.SessionHandle, sql: str) -> list[workbench.Row]:
        if sql.startswith("MERGE"):
            during.append(settings())
            merges.append(sql)
        return query(handle, sql)

    monkeypatch.setattr(workbench, "query", noting)
    bench.table("a", "k int, v int", "(1, 7)", "(2, 8)")
    bench.table("b", "v int, w int", "(7, 1)", "(8, 2)", "(null, 3)")
    bench.view("select a.k, b.w from a join b on a.v = b.v")
    bench.sql("insert into a values (3, 7)")
    bench.refresh()
    assert during == [_INTERPRETED]
    assert "BETWEEN" not in merges[-1]
    assert settings() == USUAL

    monkeypatch.setattr(SparkWarehouse, "size", lambda self, parts: 2**40)
    bench.sql("insert into a values (4, 8), (5, 7)", "insert into b values (9, 9)")
    bench.refresh()
    assert during == [_INTERPRETED, USUAL]
    assert "b.v BETWEEN 7 AND 8" in merges[-1]
    assert settings() == USUAL
