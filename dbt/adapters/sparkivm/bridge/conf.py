"""A session's settings while dbt runs: read, set for a while, and taken back."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, Protocol

from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.sparkivm.connection.session import AnySession, is_of_connect
from python_ivm.optimize.cost import (
    CLUSTERED_FILE_BYTES,
    CLUSTERED_FILE_ROWS,
    FILE_BYTES,
    Execution,
)


class Conf(Protocol):
    """The settings of a connection's session."""

    def get(self, key: str) -> str:
        """The value of one of Spark's own settings: its default, if nobody set it."""

    def given(self, key: str) -> str | None:
        """The value that somebody gave a setting, which Spark itself need not know."""

    def every_given(self) -> dict[str, str]:
        """Each setting that somebody gave a value, with it."""

    def set(self, key: str, value: str) -> None:
        """Set it."""

    def reset(self, key: str) -> None:
        """Take it back to what the Spark was started with."""


class SessionConf:
    """Settings of a session in this process or of Spark Connect: no statement is parsed."""

    def __init__(self, handle: AnySession) -> None:
        """Take the session."""
        self._handle = handle

    def get(self, key: str) -> str:
        """A setting's value."""
        return str(self._handle.run(lambda session: session.conf.get(key)))

    def given(self, key: str) -> str | None:
        """A value that was set. With a default Spark raises nothing of what it does not know."""
        return self._handle.run(lambda session: session.conf.get(key, None))

    def every_given(self) -> dict[str, str]:
        """What was set, in a few calls of the JVM or in one of the server."""

        def read(session: Any) -> dict[str, str]:
            if not is_of_connect(session):
                return _every_given(session)
            known = getattr(session.conf, "getAll", None)  # since PySpark 4.0
            if known is not None:
                return dict(known)
            return {row["key"]: row["value"] for row in session.sql("SET").collect()}

        return self._handle.run(read)

    def set(self, key: str, value: str) -> None:
        """Set it."""
        self._handle.run(lambda session: session.conf.set(key, value))

    def reset(self, key: str) -> None:
        """Take it back."""
        self._handle.run(lambda session: session.conf.unset(key))


def _every_given(session: Any) -> dict[str, str]:
    """What was set in a session of this process.

    A text of more than 8 KiB takes 44 ms on its way from the JVM: the second half is held back
    until the first one is acknowledged. So it comes in pieces.
    """
    builder = session._jvm.scala.collection.mutable.StringBuilder()
    session._jsparkSession.conf().getAll().addString(builder, _NEXT)
    every = session._jvm.java.lang.StringBuilder(builder)
    pieces, start, left = [], 0, every.codePointCount(0, every.length())
    while left > 0:
        end = every.offsetByCodePoints(start, min(_PIECE, left))
        pieces.append(every.substring(start, end))
        start, left = end, left - _PIECE
    pairs = [pair for pair in "".join(pieces).split(_NEXT) if _ARROW in pair]
    return dict(pair.split(_ARROW, 1) for pair in pairs)


class StatementConf:
    """Settings by SQL, which every server understands."""

    def __init__(self, query: Callable[[str], list[dict[str, Any]]]) -> None:
        """Take what runs statements and gives their rows."""
        self._query = query

    def get(self, key: str) -> str:
        """A setting's value."""
        (row,) = self._query(f"SET {key}")
        return str(row["value"])

    def given(self, key: str) -> str | None:
        """A value that was set."""
        value = self.get(key)
        return None if value == _UNDEFINED else value

    def every_given(self) -> dict[str, str]:
        """What was set: ``SET`` tells of all of them."""
        return {row["key"]: str(row["value"]) for row in self._query("SET")}

    def set(self, key: str, value: str) -> None:
        """Set it; between backquotes Spark takes any text."""
        quoted = value.replace("`", "``")
        self._query(f"SET {key}=`{quoted}`")

    def reset(self, key: str) -> None:
        """Take it back."""
        self._query(f"RESET {key}")


USER_METADATA = "spark.databricks.delta.commitInfo.userMetadata"
"""What Delta keeps with a commit that is made while this is set."""

_NEXT, _ARROW = "\u0001\u0002", " -> "
"""What stands between a Scala map's pairs, if it is asked for, and between key and value."""

_PIECE = 4096
"""Characters of a text that comes from the JVM; nearly all of a setting have one byte."""

_UNDEFINED = "<undefined>"
"""What ``SET`` tells of a setting that is not known."""

_WITHOUT_CODE = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
_OPTIMIZE = "spark.databricks.delta.optimize.{}FileSize"
_FILES = {
    "spark.sql.files.maxRecordsPerFile": "0",
    _OPTIMIZE.format("min"): str(2**30),
    _OPTIMIZE.format("max"): str(2**30),
}
"""The defaults of what says how large files are. Another value is the user's, and stays."""


def _optimized(size: int) -> Mapping[str, str]:
    """OPTIMIZE makes files of this size, and leaves those alone that have half of it."""
    return {_OPTIMIZE.format("min"): str(size // 2), _OPTIMIZE.format("max"): str(size)}


EXECUTIONS: Mapping[Execution, Mapping[str, str]] = {
    Execution.USUAL: {},
    Execution.INTERPRETED: _WITHOUT_CODE,
    Execution.PLANNED_ONCE: {**_WITHOUT_CODE, "spark.sql.adaptive.enabled": "false"},
    Execution.LAID_OUT: {"spark.sql.files.maxRecordsPerFile": str(CLUSTERED_FILE_ROWS)},
    Execution.COMPACTING: _optimized(FILE_BYTES),
    Execution.CLUSTERING: _optimized(CLUSTERED_FILE_BYTES),
}
"""What Spark is told for a statement that is to be executed so."""


@contextmanager
def only_now(conf: Conf, values: Mapping[str, str]) -> Generator[None, None, None]:
    """Set what nobody else sets; it is taken back whatever happens."""
    with ExitStack() as afterwards:
        for key, value in values.items():
            afterwards.callback(conf.reset, key)
            conf.set(key, value)
        yield


@contextmanager
def changed(
    conf: Conf, values: Mapping[str, str], *, foreign: bool = False
) -> Generator[None, None, None]:
    """Change settings that have another value; their values are set again whatever happens.

    Args:
        conf: The session's settings.
        values: The new values.
        foreign: Whether they are others' than Spark's own, which have no value until they are set
            and are taken back then; else one that this Spark does not know is left alone.
    """
    with ExitStack() as afterwards:
        for key, value in values.items():
            before = conf.given(key) if foreign else known(conf, key)
            if before == value or (before is None and not foreign):
                continue
            if before is None:
                afterwards.callback(conf.reset, key)
            else:
                afterwards.callback(conf.set, key, before)
            conf.set(key, value)
        yield


@contextmanager
def restored(conf: Conf, key: str) -> Generator[None, None, None]:
    """Give a setting its present value again, whatever is set meanwhile."""
    before = known(conf, key)
    try:
        yield
    finally:
        if before is None:
            conf.reset(key)
        else:
            conf.set(key, before)


def known(conf: Conf, key: str) -> str | None:
    """A setting's value; None if it has none, and this Spark knows no default."""
    try:
        value = conf.get(key)
    except DbtRuntimeError:
        return None
    return None if value == _UNDEFINED else value


def executed(conf: Conf, execution: Execution) -> AbstractContextManager[None]:
    """Let Spark run a statement so (docs/decisions/0021, 0075)."""
    settings = EXECUTIONS[execution]
    users = {key for key in settings if key in _FILES and known(conf, key) != _FILES[key]}
    return changed(conf, {key: value for key, value in settings.items() if key not in users})


_EXACT = {
    # Delta refuses old versions whose files it would be allowed to delete; most are still there.
    "spark.databricks.delta.vacuum.enforceTimeTravelWithinDeletedFileRetentionDuration": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.files.ignoreCorruptFiles": "false",
}


def exact(conf: Conf) -> AbstractContextManager[None]:
    """Let a statement read old versions as long as all of their files are there, and fail else."""
    return changed(conf, _EXACT)


LISTED = {"spark.sql.parquet.pushdown.inFilterThreshold": "1000"}
"""How many listed keys Parquet is told one by one, so that it skips the pages that have none of
them. Of a longer list it is told the lowest and the highest key. The default is ten.
"""


DICTIONARIES = {"parquet.filter.dictionary.enabled": "false"}
"""Else Parquet decodes a column's dictionary anew for each listed key that it does not have."""


@contextmanager
def by_listed_keys(conf: Conf) -> Generator[None, None, None]:
    """Let a statement read the pages of tables that hold listed keys (docs/decisions/0020)."""
    with changed(conf, LISTED), changed(conf, DICTIONARIES, foreign=True):
        yield
