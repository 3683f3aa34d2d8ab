"""Runs that die, runs at once, and hands on the state: no row is doubled, none is lost."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.sparkivm.bridge.warehouse import Row
from dbt.adapters.sparkivm.connection.session import SessionHandle
from python_ivm.errors import Conflict
from python_ivm.sources import history
from tests.spark.workbench import Bench, View, failing, query, refresher

SUMS = "select k, count(*) as n, sum(v) as s from r group by k"
ROWS = "select k, v from r"


@pytest.fixture
def filled(bench: Bench) -> Bench:
    """A table r."""
    bench.table("r", "k int, v int", "(1, 10)", "(1, 10)", "(2, 20)")
    return bench


def dies(view: View, **where: str) -> None:
    """A run that is killed before or after a statement that starts so."""
    request = view.request()
    with pytest.raises(DbtRuntimeError, match="killed"):
        refresher(failing(view.bench.query, **where)).refresh(request)


def settings(bench: Bench) -> list[str]:
    """The commit settings that are set in the session."""
    keys = [row["key"] for row in bench.query("set")]
    return [k for k in keys if "userMetadata" in k or "write.txn" in k]


def test_a_run_killed_before_its_merge_changed_nothing(filled: Bench) -> None:
    view = filled.view(SUMS)
    before = view.rows()
    filled.sql("insert into r values (1, 5)")
    dies(view, before="MERGE")
    assert view.rows() == before
    assert settings(filled) == []
    assert view.refresh().response.rows_affected == 1


def test_a_run_killed_behind_its_merge_did_everything(filled: Bench) -> None:
    view = filled.view(ROWS)
    filled.sql("insert into r values (1, 5), (1, 10)")
    dies(view, after="MERGE")
    view.refresh("noop")


def test_a_first_build_killed_before_its_view(filled: Bench) -> None:
    view = View(filled, "m", SUMS)
    dies(view, before="CREATE OR REPLACE VIEW")
    assert view.refresh("noop").refresh.reason == "VIEW_MISSING"
    filled.sql("insert into r values (1, 5)")
    view.refresh()


@pytest.mark.thorough
def test_a_first_build_over_an_empty_one_killed_before_its_view(filled: Bench) -> None:
    """The view of `--empty` named the state, and so counted as that of the build."""
    view = View(filled, "m", SUMS)
    refresher(filled.query).refresh(replace(view.request(), partial=True))
    dies(view, after="CREATE OR REPLACE TABLE")
    assert view.refresh("noop").refresh.reason == "VIEW_MISSING"
    filled.sql("insert into r values (1, 5)")
    view.refresh()


def test_an_edited_query_keeps_the_old_view_readable_at_every_step(filled: Bench) -> None:
    view = filled.view(SUMS)
    before = view.rows()
    view.sql = "select v, k, count(*) as n, 'new' as what from r group by v, k"
    dies(view, before="CREATE OR REPLACE TABLE")
    assert view.rows() == before
    dies(view, after="CREATE OR REPLACE TABLE")
    assert view.rows() == before
    view.refresh("noop")  # the state is the new query's: the view is all that is missing
    filled.sql("insert into r values (1, 5)")
    view.refresh()


def test_an_edited_query_whose_build_fails_leaves_the_old_view(filled: Bench) -> None:
    view = filled.view(ROWS)
    before = view.rows()
    for sql in (
        "select k, raise_error('no') as v from r",
        "select k, v, raise_error('no') as w from r",
        "select k, cast(assert_true(v > 10) as int) as v from r",
    ):
        with pytest.raises(DbtRuntimeError):
            view.run(sql=sql)
        assert view.rows() == before, sql
        assert settings(filled) == []
    filled.sql("insert into r values (1, 5)")
    view.refresh(None)


def meet(view: View, start: str) -> tuple[list[Any], list[BaseException]]:
    """Two runs of one model at once, in two sessions, that meet before a kind of statement."""
    barrier = threading.Barrier(2)
    outcomes: list[Any] = []
    errors: list[BaseException] = []
    request = view.request()

    def waiting(run: Callable[[str], list[Row]]) -> Callable[[str], list[Row]]:
        met = []

        def waited(sql: str) -> list[Row]:
            if sql.startswith(start) and not met:
                met.append(True)
                barrier.wait(120)
            return run(sql)

        return waited

    def work() -> None:
        session = view.bench.new_session()
        session.sql(f"use {view.bench.schema}")
        handle = SessionHandle(session)
        try:
            outcomes.append(refresher(waiting(lambda sql: query(handle, sql))).refresh(request))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(300)
    return outcomes, errors


def test_two_refreshes_at_once_apply_a_change_once(filled: Bench) -> None:
    view = filled.view(ROWS)
    filled.sql("insert into r values (1, 10), (3, 30)")
    outcomes, errors = meet(view, "MERGE")
    assert errors == []
    assert sorted(o.refresh.strategy.value for o in outcomes) == ["incremental", "noop"]
    assert [c["operation"] for c in filled.history(view.state)].count("MERGE") == 1
    view.refresh("noop")


@pytest.mark.thorough
def test_two_first_builds_at_once(filled: Bench) -> None:
    view = View(filled, "m", SUMS)
    outcomes, errors = meet(view, "CREATE OR REPLACE TABLE")
    assert errors == []
    assert len(outcomes) == 2
    view.refresh(None)
    filled.sql("insert into r values (1, 5)")
    view.refresh()


def test_a_conflict_with_other_work_on_the_state_is_tried_again(filled: Bench) -> None:
    view = filled.view(SUMS)
    filled.sql("insert into r values (1, 5)")
    told = "[DELTA_CONCURRENT_DELETE_READ] another transaction deleted files"
    request = view.request()
    attempts = []

    def once(sql: str) -> list[Row]:
        if sql.startswith("MERGE"):
            attempts.append(sql)
            if len(attempts) == 1:
                raise DbtRuntimeError(told)
        return filled.query(sql)

    assert refresher(once).refresh(request).refresh.strategy.value == "incremental"
    assert len(attempts) == 2
    view.check()
    filled.sql("insert into r values (1, 6)")
    with pytest.raises(Conflict, match="Let only one run at a time") as caught:
        refresher(failing(filled.query, before="MERGE", message=told)).refresh(view.request())
    assert caught.value.model == view.name


@pytest.mark.thorough
def test_state_and_view_dropped_by_hand(filled: Bench) -> None:
    view = filled.view(SUMS)
    filled.sql(f"drop view {view.name}")
    assert view.refresh("noop").refresh.reason == "VIEW_MISSING"
    filled.sql(f"drop table {view.state}", "insert into r values (2, 2)")
    assert view.refresh("full").refresh.reason == "FIRST_BUILD"
    filled.sql("insert into r values (2, 2)")
    view.refresh()


def test_a_state_changed_by_hand_is_rebuilt(filled: Bench) -> None:
    view = filled.view(SUMS)
    filled.sql(f"update {view.state} set s = 100 where k = 1")
    outcome = view.refresh("full")
    assert outcome.refresh.reason == "STATE_MODIFIED"
    assert "written by something else" in (outcome.refresh.warning or "")
    filled.sql(f"optimize {view.state}", "insert into r values (9, 9)", f"vacuum {view.state}")
    view.refresh()
    filled.sql(f"restore table {view.state} to version as of 0")
    assert view.refresh("full").refresh.reason == "STATE_MODIFIED"


def test_a_bookmark_moves_on_without_a_changed_row(
    filled: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The history of a source that is only maintained may forget the bookmark's commit."""
    monkeypatch.setattr(history, "_DAY", -1)
    view = filled.view(SUMS)
    before = view.rows()
    filled.sql("alter table r set tblproperties ('note' = 'kept')")
    view.refresh("noop")
    commits = filled.history(view.state)
    assert commits[0]["operation"] == "MERGE"
    moved = json.loads(commits[0]["userMetadata"])
    assert moved["refresh"] == 2
    assert [v for v, _ in moved["sources"].values()] == [filled.history("r")[0]["version"]]
    assert view.rows() == before
    filled.sql("insert into r values (1, 5)")
    view.refresh()


@pytest.mark.parametrize("sql", [SUMS, pytest.param(ROWS, marks=pytest.mark.thorough)])
def test_a_state_that_drifted_is_noticed_and_rebuilt(filled: Bench, sql: str) -> None:
    view = filled.view(sql)
    bookmark = filled.history(view.state)[0]["userMetadata"]
    filled.sql(
        f"set spark.databricks.delta.commitInfo.userMetadata=`{bookmark}`",
        f"delete from {view.state} where k = 2",
        "reset spark.databricks.delta.commitInfo.userMetadata",
        "delete from r where k = 2",
    )
    assert view.refresh("full").refresh.reason == "STATE_DRIFTED"
    filled.sql("insert into r values (9, 9)")
    view.refresh()
