"""A session's settings while dbt runs: read, set for a while, and taken back."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any, Protocol

from dbt.adapters.sparkivm.session import SessionHandle


class Conf(Protocol):
    """The settings of a connection's session."""

    def get(self, key: str) -> str:
        """The value of one of Spark's own settings: its default, if nobody set it."""

    def set(self, key: str, value: str) -> None:
        """Set it."""

    def reset(self, key: str) -> None:
        """Take it back to what the Spark was started with."""


class SessionConf:
    """Settings of a session in this process or of Spark Connect: no statement is parsed."""

    def __init__(self, handle: SessionHandle) -> None:
        """Take the session."""
        self._handle = handle

    def get(self, key: str) -> str:
        """A setting's value."""
        return str(self._handle.run(lambda session: session.conf.get(key)))

    def set(self, key: str, value: str) -> None:
        """Set it."""
        self._handle.run(lambda session: session.conf.set(key, value))

    def reset(self, key: str) -> None:
        """Take it back."""
        self._handle.run(lambda session: session.conf.unset(key))


class StatementConf:
    """Settings by SQL, which every server understands."""

    def __init__(self, query: Callable[[str], list[dict[str, Any]]]) -> None:
        """Take what runs statements and gives their rows."""
        self._query = query

    def get(self, key: str) -> str:
        """A setting's value."""
        (row,) = self._query(f"SET {key}")
        return str(row["value"])

    def set(self, key: str, value: str) -> None:
        """Set it; between backquotes Spark takes any text."""
        quoted = value.replace("`", "``")
        self._query(f"SET {key}=`{quoted}`")

    def reset(self, key: str) -> None:
        """Take it back."""
        self._query(f"RESET {key}")


INTERPRETED = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""How Spark runs what reads little: it is planned once, and no code is generated for it."""


@contextmanager
def only_now(conf: Conf, values: Mapping[str, str]) -> Generator[None, None, None]:
    """Set what nobody else sets; it is taken back whatever happens."""
    with ExitStack() as afterwards:
        for key, value in values.items():
            afterwards.callback(conf.reset, key)
            conf.set(key, value)
        yield


@contextmanager
def changed(conf: Conf, values: Mapping[str, str]) -> Generator[None, None, None]:
    """Change Spark's own settings; their values are set again whatever happens."""
    with ExitStack() as afterwards:
        for key, value in values.items():
            afterwards.callback(conf.set, key, conf.get(key))
            conf.set(key, value)
        yield


def interpreted(conf: Conf) -> AbstractContextManager[None]:
    """Let Spark run a statement that reads little so (docs/decisions/0021)."""
    return changed(conf, INTERPRETED)
