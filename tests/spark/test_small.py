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
def test_small_refreshes_are_interpreted(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    during: list[dict[str, str]] = []

    def settings() -> dict[str, str]:
        return {key: str(bench.handle.session.conf.get(key)) for key in _INTERPRETED}

    def noting(handle: workbench.SessionHandle, sql: str) -> list[workbench.Row]:
        if sql.startswith("MERGE"):
            during.append(settings())
        return query(handle, sql)

    monkeypatch.setattr(workbench, "query", noting)
    bench.table("a", "k int, v string", "(1, 'x')", "(2, 'y')")
    bench.table("b", "v string, w int", "('x', 1)", "('y', 2)")
    bench.view("select a.k, b.w from a join b on a.v = b.v")
    bench.sql("insert into a values (3, 'x')")
    bench.refresh()
    assert during == [_INTERPRETED]
    assert settings() == USUAL

    monkeypatch.setattr(SparkWarehouse, "size", lambda self, parts: 2**40)
    bench.sql("insert into a values (4, 'y')")
    bench.refresh()
    assert during == [_INTERPRETED, USUAL]
    assert settings() == USUAL
