"""Faults on purpose: a run that dies at, or in, one of its statements."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from enum import Enum

from dbt.adapters.sparkivm.bridge.warehouse import Row
from dbt.adapters.sparkivm.connection.session import SessionHandle
from tests.spark.workbench import query

_EVERY = 0.05  # seconds between two attempts to stop a statement's jobs
WRITES = ("ALTER", "CREATE", "DELETE", "DROP", "INSERT", "MERGE", "REPLACE", "UPDATE")


class Moment(Enum):
    """When a run dies."""

    BEFORE = "before"
    DURING = "during"
    AFTER = "after"


class Killed(BaseException):
    """The run's process is gone: what catches errors does not catch this."""


@dataclass(frozen=True)
class Fault:
    """Where a run dies.

    Attributes:
        moment: Before, during or after a statement.
        number: Which one of the run, counted from 0.
        writing: Whether only statements that write are counted.
        seconds: How long the statement may work, if the run dies in it.
    """

    moment: Moment
    number: int
    writing: bool
    seconds: float = 0.0


class FaultyRunner:
    """Runs statements until one at which the process dies.

    Args:
        handle: The session of the process.
        fault: Where it dies; None if it lives.
    """

    def __init__(self, handle: SessionHandle, fault: Fault | None) -> None:
        self.handle = handle
        self.fault = fault
        self.run: list[str] = []
        self.died = False

    def __call__(self, sql: str) -> list[Row]:
        """A statement's rows.

        Raises:
            Killed: Here the process dies. Nothing runs after it.
        """
        if self.died:
            raise Killed
        fault, number = self.fault, self._number()
        self.run.append(sql)
        if fault is None or number != fault.number or (fault.writing and not writes(sql)):
            return query(self.handle, sql)
        self.died = True
        if fault.moment is Moment.AFTER:
            query(self.handle, sql)
        if fault.moment is Moment.DURING:
            self._interrupted(sql, fault.seconds)
        raise Killed

    def _number(self) -> int:
        only_writes = self.fault is not None and self.fault.writing
        return sum(writes(sql) or not only_writes for sql in self.run)

    def _interrupted(self, sql: str, seconds: float) -> None:
        """Run a statement whose tasks fail after some time, if it has not ended by then."""
        ended = threading.Event()

        def interrupt() -> None:
            ended.wait(seconds)
            while not ended.wait(_EVERY):
                self.handle.session.interruptAll()

        thread = threading.Thread(target=interrupt)
        thread.start()
        try:
            query(self.handle, sql)
        except Exception as error:
            if not any(sign in str(error).lower() for sign in ("cancel", "interrupt")):
                raise
        finally:
            ended.set()
            thread.join()


def writes(sql: str) -> bool:
    """Whether a statement changes tables."""
    return sql.lstrip().upper().startswith(WRITES)
