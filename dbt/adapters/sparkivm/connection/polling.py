"""How often a Thrift or HTTP server is asked whether a statement has ended."""

from __future__ import annotations

from typing import Any

from dbt.adapters.spark.connections import PyhiveConnectionWrapper

_FIRST = 0.01  # seconds
_GROWTH = 1.2  # so that a statement ends at most a fifth later than it has to


class PatientPolling(PyhiveConnectionWrapper):
    """Asks soon, and then ever less often, up to the profile's `poll_interval`.

    dbt-spark sleeps for all of `poll_interval` (by default five seconds) before it asks again, so
    that each of a refresh's short statements takes as long.
    """

    def __init__(self, handle: PyhiveConnectionWrapper) -> None:
        """Take over dbt-spark's connection."""
        self._longest = float(handle.poll_interval)
        self._next = _FIRST
        super().__init__(
            handle.handle, query_timeout=handle.query_timeout, query_retries=handle.query_retries
        )

    def execute(self, sql: str, bindings: list[Any] | None = None) -> None:
        """Run a statement: see dbt-spark."""
        self._next = _FIRST
        super().execute(sql, bindings)

    @property
    def poll_interval(self) -> float:  # type: ignore[override]
        """How long to sleep now, in seconds; the next time a little longer."""
        now = min(self._next, self._longest)
        self._next = now * _GROWTH
        return now

    @poll_interval.setter
    def poll_interval(self, seconds: float) -> None:
        """What dbt-spark sets; the longest one is known from its connection."""
