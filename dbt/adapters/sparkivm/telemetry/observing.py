"""Tells those that the profile names of each refresh; nothing that goes wrong there fails a run."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from importlib import import_module
from threading import Lock
from typing import Any

from dbt.adapters.events.logging import AdapterLogger
from dbt_common.invocation import get_invocation_id

from dbt.adapters.sparkivm.bridge.response import RefreshResponse
from dbt.adapters.sparkivm.telemetry.told import Asked, Done, Observation, Observer, Read
from python_ivm.errors import IvmError
from python_ivm.parse.parser import table_key
from python_ivm.refresh.request import Request
from python_ivm.refresh.statement import StatementKind

logger = AdapterLogger("SparkIvm")

MODULES = {
    "otel": "dbt.adapters.sparkivm.telemetry.otel",
    "openlineage": "dbt.adapters.sparkivm.telemetry.openlineage",
}
"""The words of the profile's `telemetry`, and the modules that are imported for them alone."""

_lock = Lock()
_observers: dict[str, Observer] = {}


class Refreshing:
    """A refresh that is told of.

    Attributes:
        response: What it did, once it is known.
    """

    def __init__(self, observations: Sequence[Observation]) -> None:
        """Take those that are told."""
        self.response: RefreshResponse | None = None
        self._observations = observations

    def statement(self, kind: StatementKind) -> AbstractContextManager[object]:
        """A statement of it, while it runs."""
        if not self._observations:
            return nullcontext()
        stack = ExitStack()
        for one in self._observations:
            _quietly(lambda one=one: stack.enter_context(one.statement(kind)))  # type: ignore[misc]
        return stack


@contextmanager
def observed(
    names: Sequence[str], request: Request, server: str
) -> Generator[Refreshing, None, None]:
    """A refresh, and how long it took; those that are named are told of it.

    Args:
        names: Of :data:`MODULES`.
        request: The model.
        server: Where Spark is.
    """
    began = time.perf_counter()
    observations: list[Observation] = []
    if names:
        asked = _asked(request, server)
        for name in names:
            _quietly(lambda name=name: observations.append(_observer(name).begin(asked)))  # type: ignore[misc]
    refreshing = Refreshing(observations)
    try:
        yield refreshing
    except BaseException as error:
        code = error.code if isinstance(error, IvmError) else type(error).__name__
        for one in observations:
            _quietly(lambda one=one: one.failed(code))  # type: ignore[misc]
        raise
    response = refreshing.response
    if response is None:
        return
    response.seconds = round(time.perf_counter() - began, 3)
    for one in observations:
        _quietly(lambda one=one: one.done(_done(response)))  # type: ignore[misc]


def _observer(name: str) -> Observer:
    with _lock:
        if name not in _observers:
            _observers[name] = import_module(MODULES[name]).observer()
        return _observers[name]


def _quietly(tell: Callable[[], Any]) -> None:
    try:
        tell()
    except Exception as error:
        logger.debug(f"telemetry: {type(error).__name__}: {error}")


def _asked(request: Request, server: str) -> Asked:
    return Asked(
        request.project,
        request.model,
        table_key(request.view),
        table_key(request.state),
        _without_secrets(server),
        get_invocation_id(),
    )


def _without_secrets(server: str) -> str:
    """A host without parameters, user and password."""
    return re.sub(r"//[^/@]*@", "//", server.partition(";")[0].partition("?")[0]).rstrip("/")


def _done(response: RefreshResponse) -> Done:
    return Done(
        response.strategy,
        response.reason,
        response.fallback,
        response.seconds or 0.0,
        response.rows_inserted,
        response.rows_updated,
        response.rows_deleted,
        response.rows_affected,
        tuple(Read(**read) for read in response.reads),  # type: ignore[arg-type]
    )
