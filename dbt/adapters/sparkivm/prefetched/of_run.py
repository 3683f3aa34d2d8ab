"""What was read at once of a run's models, which its threads share."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock

from dbt_common.invocation import get_invocation_id

from dbt.adapters.sparkivm.prefetched.unchanged import PrefetchedMetadata


class _OfRun:
    """What was read for the run of dbt that asked last."""

    def __init__(self) -> None:
        self._reading = Lock()
        self._run: str | None = None
        self._found: PrefetchedMetadata | None = None

    def get(
        self, run: str, read: Callable[[], PrefetchedMetadata | None]
    ) -> PrefetchedMetadata | None:
        with self._reading:
            if self._run != run:
                self._found = read()
                self._run = run
            return self._found


_of_run = _OfRun()


def prefetched_once(
    read: Callable[[], PrefetchedMetadata | None],
) -> PrefetchedMetadata | None:
    """What is read at once in the present run; the first model that asks reads it.

    Args:
        read: Reads it. None means that each model asks for itself.
    """
    return _of_run.get(get_invocation_id(), read)
