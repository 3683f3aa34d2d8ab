"""A dbt connection in a Spark session of its own, with the cursor that dbt expects."""

from __future__ import annotations

import datetime as dt
import re
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeVar

from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.spark.connections import SparkConnectionWrapper
from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError

from dbt.adapters.sparkivm.connection.arrow_rows import ArrowRows, gives_arrow
from dbt.adapters.sparkivm.diagnostics import errors

if TYPE_CHECKING:  # the sessions of Spark Connect have the same methods
    from pyspark.sql import DataFrame, Row, SparkSession
    from pyspark.sql.types import StructType

logger = AdapterLogger("SparkIvm")

Description = Sequence[tuple[str, Any, None, None, None, None, bool]]
AtHand = Callable[["DataFrame"], "tuple[StructType, list[Row]] | None"]
"""Schema and rows of a result, if they are in this process already."""
T = TypeVar("T")

_CANCEL_EVERY = 0.2  # seconds
_PLACEHOLDER = re.compile(r"%[s%]")


def is_of_connect(session: object) -> bool:
    """Whether a session is Spark Connect's: both kinds have one name and the same methods."""
    return type(session).__module__.startswith("pyspark.sql.connect")


class Cursor:
    """The result of one statement, fetched at most once from Spark."""

    def __init__(self, handle: SessionHandle) -> None:
        """Make a cursor that runs its statement in the session of `handle`."""
        self._handle = handle
        self._frame: DataFrame | None = None
        self._schema: StructType | None = None
        self._rows: list[Row] | None = None
        self._next = 0

    def execute(self, sql: str, bindings: Sequence[Any] | None = None) -> None:
        """Run a statement.

        Spark runs commands (DDL, DML) here, and once; a query is only analyzed, and runs when
        its rows are fetched.

        Args:
            sql: one statement.
            bindings: values for each `%s` in `sql`; without them a `%` is just a character.

        Raises:
            DbtDatabaseError: Spark's message.
        """
        statement = sql.strip().rstrip(";")
        if bindings is not None:
            statement = bind(statement, bindings)
        self._schema, self._rows, self._next = None, None, 0
        self._frame = self._handle.run(lambda session: session.sql(statement))
        at_hand = self._handle.at_hand(self._frame)
        if at_hand is not None:
            self._schema, self._rows = at_hand

    def fetchall(self) -> list[Row]:
        """The rows that were not fetched yet."""
        rows = self._all()[self._next :]
        self._next += len(rows)
        return rows

    def fetchmany(self, size: int = 1) -> list[Row]:
        """The next `size` rows."""
        rows = self._all()[self._next : self._next + size]
        self._next += len(rows)
        return rows

    def fetchone(self) -> Row | None:
        """The next row, or None at the end."""
        rows = self.fetchmany(1)
        return rows[0] if rows else None

    def _all(self) -> list[Row]:
        frame = self._frame
        if frame is None:
            return []
        if self._rows is None:
            self._rows = self._handle.run(lambda _: frame.collect())
        return self._rows

    def fetch_tuples(self) -> ArrowRows | list[tuple[Any, ...]]:
        """All rows as plain tuples.

        Arrow gives them by column, which takes a seventh of the time for a million rows.
        """
        frame = self._frame
        if frame is None or self._rows is not None or not gives_arrow(frame):
            return [tuple(row) for row in self._all()]
        return ArrowRows(self._handle.run(lambda _: frame.toArrow()))

    @property
    def description(self) -> Description:
        """Name, Spark's type and nullability of each column, as pyodbc lays them out."""
        if self._frame is None:
            return []
        schema = self._frame.schema if self._schema is None else self._schema
        return [
            (column.name, column.dataType.simpleString(), None, None, None, None, column.nullable)
            for column in schema.fields
        ]

    def close(self) -> None:
        """Let go of the rows."""
        self._frame, self._schema, self._rows = None, None, None


_CANCELLED = (
    "Stopped by Ctrl-C or --fail-fast. What was being written happened as a whole or not at all: "
    "run again."
)


class SessionHandle(SparkConnectionWrapper):
    """What dbt holds as a connection: one Spark session, used by one thread at a time."""

    def __init__(
        self,
        session: SparkSession,
        release: Callable[[], None] = lambda: None,
        at_hand: AtHand = lambda _: None,
    ) -> None:
        """Take over `session`, which nobody else may use.

        Args:
            session: of a Spark in this process, or of Spark Connect.
            release: gives the session back when the connection is closed; a session in this
                process goes with the last reference to it.
            at_hand: spares a question for what a statement's answer held already.
        """
        self.session = session
        self.at_hand = at_hand
        self._release = release
        self._cursor: Cursor | None = None
        self._running = threading.Event()
        self._cancelled = threading.Event()

    def run(self, work: Callable[[SparkSession], T]) -> T:
        """Do something in this session such that it can be cancelled.

        Raises:
            DbtDatabaseError: Spark's message, without Java's trace, which goes to dbt's debug log;
                also if the connection was cancelled.
        """
        self._running.set()  # before the question, or a cancel in between would stop nothing
        try:
            if self._cancelled.is_set():
                raise DbtDatabaseError(_CANCELLED)
            return work(self.session)
        except Exception as error:
            trace = errors.trace_of(error)
            if trace:
                logger.debug(f"Spark's stack trace:\n{trace}")
            if self._cancelled.is_set():
                raise DbtDatabaseError(_CANCELLED) from None
            raise errors.as_dbt_error(error) from None
        finally:
            self._running.clear()

    def cancel(self) -> None:
        """Stop the running statement, and refuse further ones; called from another thread.

        A statement such as MERGE runs several Spark jobs one after the other, and between two of
        them there is nothing to interrupt: so this is repeated until the statement has ended.
        """
        self._cancelled.set()

        def interrupt() -> None:
            while self._running.is_set():
                _interrupt(self.session)
                time.sleep(_CANCEL_EVERY)

        threading.Thread(target=interrupt, name="cancel-spark-jobs", daemon=True).start()

    def cursor(self) -> SessionHandle:
        """A place for the next statement; dbt-spark has connection and cursor in one object."""
        self._cursor = Cursor(self)
        return self

    def close(self) -> None:
        """Let go of the last result and of the session."""
        if self._cursor:
            self._cursor.close()
        self._release()

    def rollback(self, *args: Any, **kwargs: Any) -> None:
        """Spark has no transactions."""

    def execute(self, sql: str, bindings: Sequence[Any] | None = None) -> None:
        """Run a statement: see `Cursor.execute`."""
        self._current.execute(sql, bindings)

    def fetchall(self) -> list[Row]:
        """The rows that were not fetched yet."""
        return self._current.fetchall()

    def fetchmany(self, size: int = 1) -> list[Row]:
        """The next `size` rows."""
        return self._current.fetchmany(size)

    def fetchone(self) -> Row | None:
        """The next row, or None at the end."""
        return self._current.fetchone()

    def fetch_tuples(self) -> ArrowRows | list[tuple[Any, ...]]:
        """All rows as plain tuples: see `Cursor.fetch_tuples`."""
        return self._current.fetch_tuples()

    @property
    def description(self) -> Description:
        """The columns of the last statement's result."""
        return self._current.description

    @property
    def _current(self) -> Cursor:
        if self._cursor is None:
            raise DbtRuntimeError("No statement was run on this connection yet.")
        return self._cursor


def _interrupt(session: SparkSession) -> None:
    """Stop what runs in a session; on Spark 3.5, which cannot tell, what runs in the process.

    dbt cancels all of its connections at once.
    """
    try:
        session.interruptAll()
    except RuntimeError:
        session.sparkContext.cancelAllJobs()


def bind(sql: str, values: Iterable[Any]) -> str:
    """Put values into a statement, as the loading of seeds wants it.

    Args:
        sql: with `%s` for a value and `%%` for a percent sign.
        values: one for each `%s`.

    Returns:
        The statement, each value as a literal of Spark SQL.

    Raises:
        DbtRuntimeError: there are more or fewer values than places.
    """
    remaining = list(values)
    places = sum(match[0] == "%s" for match in _PLACEHOLDER.finditer(sql))
    if places != len(remaining):
        raise DbtRuntimeError(f"The statement has {places} bindings, given are {len(remaining)}.")
    literals = iter(remaining)
    return _PLACEHOLDER.sub(lambda m: "%" if m[0] == "%%" else literal(next(literals)), sql)


def literal(value: Any) -> str:
    """A Python value as a literal of Spark SQL."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Decimal) and value.is_finite():
        return format(value, "f")
    if isinstance(value, int):
        return str(value)
    if isinstance(value, dt.datetime):
        value = value.isoformat(sep=" ")
    text = str(value).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{text}'"


class SessionOfThread:
    """The session of the thread that asks, which is opened at its first question.

    Args:
        opened: Gives the thread's session.
    """

    def __init__(self, opened: Callable[[], SessionHandle]) -> None:
        """Take how to come by it."""
        self._opened = opened

    def run(self, work: Callable[[Any], T]) -> T:
        """What a function gives of the session; see :meth:`SessionHandle.run`."""
        return self._opened().run(work)


AnySession = SessionHandle | SessionOfThread
