"""A refresh that reads little is neither compiled nor planned anew; its settings end with it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dbt.adapters.sparkivm.bridge.conf import (
    DICTIONARIES,
    EXECUTIONS,
    LISTED,
    SessionConf,
    StatementConf,
)
from dbt.adapters.sparkivm.connection import session
from python_ivm.optimize import cost
from python_ivm.optimize.cost import Execution
from python_ivm.refresh import changed_keys
from python_ivm.refresh.metadata.table_statistics import TableStatistics
from python_ivm.refresh.planning import commits
from tests.planner.optimize.bounds import is_bounded, one_of
from tests.spark import workbench
from tests.spark.workbench import Bench, query

USUAL = {
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
    "spark.sql.parquet.pushdown.inFilterThreshold": "10",
}

ONCE = dict(EXECUTIONS[Execution.PLANNED_ONCE])


def tell_merges(
    monkeypatch: pytest.MonkeyPatch, note: Callable[[str], None], what: str = "MERGE"
) -> None:
    """Tell of each MERGE, or of what begins otherwise, before it runs."""

    def noting(handle: workbench.SessionHandle, sql: str) -> list[workbench.Row]:
        if sql.startswith(what):
            note(sql)
        return query(handle, sql)

    monkeypatch.setattr(workbench, "query", noting)


@pytest.mark.thorough
def test_a_state_of_large_files_gets_deletion_vectors(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commits, "_LARGE_FILES", 0)
    bench.table("a", "k int, v int", "(1, 7)", "(2, 8)", "(2, 8)", "(3, 9)", "(null, null)")
    bench.view("select k, v from a")
    bench.view("select v, count(*) as n from m1 group by v")
    bench.view("select k, v from a where v > 0", ivm_policy="strict")
    bench.sql("update a set v = 1 where k = 2", "delete from a where k is null")
    bench.refresh()
    (told,) = bench.query("describe detail m1__ivm_state")
    assert told["properties"]["delta.enableDeletionVectors"] == "true"
    assert "deletionVectors" in told["tableFeatures"]
    bench.sql("update a set v = 2 where k = 3", "delete from a where k = 1")
    bench.refresh()
    merged = bench.history("m1__ivm_state")[0]
    assert merged["operation"] == "MERGE"
    assert merged["operationMetrics"]["numTargetRowsCopied"] == "0"
    assert [c["operation"] for c in bench.history("m1__ivm_state")].count("SET TBLPROPERTIES") == 1
    bench.refresh("noop")


@pytest.mark.parametrize("bench", [USUAL], indirect=True, ids=["usual"])
def test_small_refreshes_are_interpreted_and_large_reads_bounded(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    during: list[dict[str, str]] = []
    merges: list[str] = []

    def settings() -> dict[str, str]:
        return {key: str(bench.handle.session.conf.get(key)) for key in USUAL}

    def dictionaries() -> str | None:
        found: str | None = bench.handle.session.conf.get(*DICTIONARIES, None)
        return found

    def note(merge: str) -> None:
        assert dictionaries() == "false"
        during.append(settings())
        merges.append(merge)

    tell_merges(monkeypatch, note)
    bench.table("a", "k int, v int", "(1, 7)", "(2, 8)")
    bench.table("b", "v int, w int", "(7, 1)", "(8, 2)", "(null, 3)")
    bench.view("select a.k, b.w from a join b on a.v = b.v")
    bench.sql("insert into a values (3, 7)")
    bench.refresh()
    assert during == [ONCE | LISTED]
    assert not is_bounded(merges[-1])
    assert settings() == USUAL
    assert dictionaries() is None

    monkeypatch.setattr(TableStatistics, "size", lambda self, source: 2**40)
    bench.sql("insert into a values (4, 8), (5, 7)", "insert into b values (9, 9)")
    bench.refresh()
    assert during == [ONCE | LISTED, USUAL | LISTED]
    assert "b.v BETWEEN 7 AND 8" in merges[-1]
    assert settings() == USUAL


@pytest.mark.parametrize("bench", [USUAL], indirect=True, ids=["usual"])
def test_a_users_own_setting_of_parquet_is_set_again(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was reset to what the Spark was started with."""
    ((key, ours),) = DICTIONARIES.items()
    bench.table("a", "k int", "(1)")
    bench.view("select k from a")
    during: list[str] = []
    tell_merges(monkeypatch, lambda sql: during.append(bench.handle.session.conf.get(key)))
    try:
        for users in ("true", ours):
            bench.sql(f"set {key} = {users}", "insert into a values (2)")
            bench.refresh()
            assert bench.handle.session.conf.get(key) == users
    finally:
        bench.sql(f"reset {key}")
    assert during == [ours, ours]


@pytest.mark.parametrize("conf", [SessionConf, StatementConf])
def test_to_ask_for_a_setting_that_nobody_made_is_no_error(
    bench: Bench, conf: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each refresh put Java's stack trace of it into the log."""
    traces: list[str] = []
    monkeypatch.setattr(session.logger, "debug", traces.append)
    handle = bench.handle
    settings = conf(handle if conf is SessionConf else lambda sql: query(handle, sql))
    (key,) = DICTIONARIES
    assert settings.given(key) is None
    settings.set(key, "true")
    assert settings.given(key) == "true"
    settings.reset(key)
    assert settings.given(key) is None
    assert not traces


@pytest.mark.parametrize("bench", [USUAL], indirect=True, ids=["usual"])
@pytest.mark.parametrize("rows", [1, cost.FEW_ROWS + 1])
def test_questions_for_few_keys_are_not_compiled(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    asked: list[str] = []
    tell_merges(
        monkeypatch,
        lambda sql: asked.append(str(bench.handle.session.conf.get("spark.sql.adaptive.enabled"))),
        "WITH",
    )
    monkeypatch.setattr(TableStatistics, "size", lambda self, source: 2**40)
    bench.table("a", "k int, v int", "(1, 7)", "(2, 8)")
    bench.table("b", "v int, w int", "(7, 1)", "(8, 2)", "(null, 3)")
    bench.view("select a.k, b.w from a join b on a.v = b.v")
    asked.clear()
    bench.sql(f"insert into a select id, 7 from range({rows})")
    bench.refresh()
    assert asked == ["false" if rows == 1 else "true"]


@pytest.mark.thorough
def test_sources_are_asked_together_of_which_one_has_more_keys(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TableStatistics, "size", lambda self, source: 2**40)
    merges: list[str] = []
    tell_merges(monkeypatch, lambda merge: merges.append(" ".join(merge.split())))
    bench.table("a", "k int, d date, v int", "(1, date'2024-01-01', 7)", "(2, null, 8)")
    bench.table("b", "k smallint, w int", "(1, 1)", "(2, 2)", "(null, 3)")
    bench.table("c", "d date, x int", "(date'2024-01-01', 1)", "(date'2024-01-09', 2)")
    view = bench.view("select v, w, x from a join b on b.k = a.k join c on c.d = a.d")
    for most in (1000, 1):
        monkeypatch.setattr(changed_keys, "_MOST_LISTED", most)
        bench.sql(
            "insert into a values (1, date'2024-01-09', 5), (4, date'2024-01-01', 6)",
            "insert into b values (2, 7), (4, 8)",
        )
        bench.refresh("incremental")
        view.check()
        days = [f"CAST('2024-01-0{day}' AS DATE)" for day in (1, 9)]
        for column, low, high in (("b.k", 1, 4), ("c.d", *days), ("a.k", 2, 4)):
            listed, between = one_of(column, low, high), f"{column} BETWEEN {low} AND {high}"
            assert (listed in merges[-1], between in merges[-1]) == (most == 1000, most == 1)
