"""How often a server is asked whether a statement has ended."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from dbt.adapters.spark import connections as dbt_spark
from dbt.adapters.spark.connections import PyhiveConnectionWrapper

from dbt.adapters.sparkivm.connection.polling import PatientPolling

RUNNING, FINISHED = 1, 2


class Cursor:
    """A statement that runs for some seconds by a clock of its own."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock

    def execute(self, sql: str, bindings: object, async_: bool) -> None:
        self.end = self.clock.now + float(sql)

    def poll(self) -> Any:
        state = FINISHED if self.clock.now >= self.end else RUNNING
        return SimpleNamespace(operationState=state, errorMessage="")


class Clock:
    """Time that passes only in sleep, and the server's handle."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def cursor(self) -> Cursor:
        return Cursor(self)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def time(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    states = SimpleNamespace(
        INITIALIZED_STATE=0, RUNNING_STATE=RUNNING, PENDING_STATE=3, FINISHED_STATE=FINISHED
    )
    monkeypatch.setattr(dbt_spark, "ThriftState", states)
    monkeypatch.setattr(dbt_spark, "time", made)
    return made


@pytest.mark.parametrize("seconds", [0.0, 0.02, 0.5, 3.0, 600.0])
def test_a_statement_ends_soon_after_it_has_ended(clock: Clock, seconds: float) -> None:
    handle = PatientPolling(PyhiveConnectionWrapper(clock, poll_interval=5))
    handle.cursor()
    for _ in range(2):  # the second one begins with short sleeps again
        begun = clock.now
        handle.execute(str(seconds))
        assert clock.now - begun <= seconds * 1.2 + 0.02
    assert max(clock.slept, default=0) <= 5


def test_the_profiles_interval_is_the_longest(clock: Clock) -> None:
    handle = PatientPolling(PyhiveConnectionWrapper(clock, poll_interval=1, query_timeout=60))
    handle.cursor()
    handle.execute("30")
    assert max(clock.slept) == 1
    with pytest.raises(Exception, match="timeout of 60 seconds"):
        handle.execute("90")
