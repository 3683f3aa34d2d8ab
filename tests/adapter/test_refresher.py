"""What follows from errors of a refresh's statements."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.sparkivm.bridge import refresher, spark_errors
from dbt.adapters.sparkivm.bridge.refresher import Refresher
from dbt.adapters.sparkivm.bridge.warehouse import Row, SparkWarehouse
from python_ivm.errors import Conflict
from python_ivm.refresh.plan import Refresh, Strategy
from python_ivm.refresh.reason import Reason
from python_ivm.refresh.request import Request
from python_ivm.refresh.statement import Statement, StatementKind
from python_ivm.state.rows import COLLISION

REQUEST = Request("m", "select 1", ("s", "m"), ("s", "m__ivm_state"))
CONFLICT = "[DELTA_CONCURRENT_APPEND] another one"
FEED_GAP = "[DELTA_MISSING_CHANGE_DATA] no files"


class Conf:
    """Settings that nobody reads."""

    def get(self, key: str) -> str | None:
        return None

    given = get

    def set(self, key: str, value: str) -> None: ...

    def reset(self, key: str) -> None: ...


class Run:
    """A model whose statements fail one after the other, with these errors.

    Attributes:
        forced: The reason that each plan was given.
        recomputes: Whether such a reason has the query recomputed first.
    """

    def __init__(
        self,
        monkeypatch: pytest.MonkeyPatch,
        kind: StatementKind,
        *errors: str,
        recomputes: bool = False,
    ) -> None:
        self.errors = list(errors)
        self.forced: list[str | None] = []
        self.kind = kind
        self.recomputes = recomputes
        monkeypatch.setattr(refresher, "plan_refresh", self.plan)

    def plan(
        self, request: Request, warehouse: object, forced: Reason | None, *, rebuild: bool
    ) -> Refresh:
        self.forced.append(forced and forced.code)
        if forced is not None and (rebuild or not self.recomputes):
            return Refresh(Strategy.FULL, forced.code, forced.text)
        statement = Statement(self.kind, "DO IT", "bookmark", ("m", 2))
        if forced is not None:
            return Refresh(Strategy.RECOMPUTE, forced.code, forced.text, (statement,))
        return Refresh(Strategy.INCREMENTAL, "CHANGED", "", (statement,))

    def query(self, sql: str) -> list[Row]:
        if sql == "DO IT" and self.errors:
            raise DbtRuntimeError(self.errors.pop(0))
        counts: Mapping[str, int] = dict.fromkeys(("inserted", "updated", "deleted"), 0)
        return [{f"num_{what}_rows": n for what, n in counts.items()}] if sql == "DO IT" else []

    def refresh(self) -> Refresh:
        warehouse = SparkWarehouse(self.query)
        return Refresher(self.query, Conf(), warehouse, lambda: None).refresh(REQUEST).refresh


@pytest.mark.parametrize("kind", [StatementKind.MERGE, StatementKind.TUNE])
def test_a_lost_race_is_run_again(monkeypatch: pytest.MonkeyPatch, kind: StatementKind) -> None:
    """Of a TUNE it was an error."""
    run = Run(monkeypatch, kind, CONFLICT, CONFLICT)
    assert run.refresh().strategy is Strategy.INCREMENTAL
    assert run.forced == [None] * 3


def test_who_loses_every_race_gives_up(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Conflict, match="keeps refreshing"):
        Run(monkeypatch, StatementKind.MERGE, *[CONFLICT] * 3).refresh()


def test_a_gap_that_shows_at_the_last_attempt_is_rebuilt(monkeypatch: pytest.MonkeyPatch) -> None:
    """The user was told of another run instead."""
    run = Run(monkeypatch, StatementKind.MERGE, CONFLICT, CONFLICT, FEED_GAP)
    assert run.refresh().reason == "CHANGE_FEED_GAP"
    assert run.forced == [None, None, None, "CHANGE_FEED_GAP"]


def test_what_cannot_be_recomputed_either_is_rebuilt(monkeypatch: pytest.MonkeyPatch) -> None:
    collision = f"an error: {COLLISION}"
    run = Run(monkeypatch, StatementKind.MERGE, FEED_GAP, collision, recomputes=True)
    assert run.refresh().strategy is Strategy.FULL
    assert run.forced == [None, "CHANGE_FEED_GAP", "CHANGE_FEED_GAP"]


def test_after_a_lost_race_what_changed_is_followed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The view was recomputed once more, though the other run had got behind the gap."""
    run = Run(monkeypatch, StatementKind.MERGE, FEED_GAP, CONFLICT, recomputes=True)
    assert run.refresh().reason == "CHANGED"
    assert run.forced == [None, "CHANGE_FEED_GAP", None]


def test_a_gap_that_is_still_there_after_a_lost_race(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(monkeypatch, StatementKind.MERGE, FEED_GAP, CONFLICT, FEED_GAP, recomputes=True)
    assert run.refresh().strategy is Strategy.RECOMPUTE
    assert run.forced == [None, "CHANGE_FEED_GAP"] * 2


@pytest.mark.parametrize(
    ("sql", "error", "found"),
    [
        (
            "MERGE … WITH RECURSIVE r AS …",
            "Not enough memory to build and broadcast the table",
            True,
        ),
        ("MERGE … WITH r AS …", "Not enough memory to build and broadcast the table", False),
        ("MERGE … WITH RECURSIVE r AS …", "[DIVIDE_BY_ZERO]", False),
    ],
)
def test_rounds_that_fill_the_memory_are_too_many(sql: str, error: str, found: bool) -> None:
    planned = Refresh(Strategy.INCREMENTAL, "CHANGED", "", (Statement(StatementKind.MERGE, sql),))
    reason = spark_errors.too_many_rounds(planned, error)
    assert (reason is not None and reason.code == "RECURSION_LIMIT") == found


@pytest.mark.parametrize("limit", ["LEVEL", "ROW"])
def test_a_change_without_an_end_is_recomputed(limit: str) -> None:
    reason = spark_errors.fallback(f"[RECURSION_{limit}_LIMIT_EXCEEDED] reached")
    assert reason is not None
    assert reason.code == "RECURSION_LIMIT"


@pytest.mark.parametrize("told", ["java.lang.OutOfMemoryError: heap", "exited with code 52"])
def test_a_change_that_fills_an_executors_memory_is_recomputed(told: str) -> None:
    reason = spark_errors.fallback(f"Job aborted due to stage failure: Task 1 in stage 2.0: {told}")
    assert reason is not None
    assert reason.code == "OUT_OF_MEMORY"
    assert spark_errors.fallback("Command exited with code 521") is None


def test_no_rebuild_follows_where_a_privilege_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(monkeypatch, StatementKind.MERGE, "[INSUFFICIENT_PERMISSIONS] no. SQLSTATE: 42501")
    with pytest.raises(DbtRuntimeError, match="INSUFFICIENT_PERMISSIONS"):
        run.refresh()
    assert run.forced == [None]


def test_a_full_disk_is_told_and_no_rebuild_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    error = "[INTERNAL_ERROR] in a task: No space left on device SQLSTATE: XX000"
    run = Run(monkeypatch, StatementKind.MERGE, error)
    with pytest.raises(DbtRuntimeError) as failed:
        run.refresh()
    assert run.forced == [None]
    told = failed.value.msg
    assert told.startswith("m: nothing is half-written: ")
    assert "The disk is full (No space left on device): make room" in told
    assert error in told
