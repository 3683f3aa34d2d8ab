"""Which statements a dbt run gives to Spark, and how long each takes."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

from dbt.adapters.sparkivm.bridge import refresher
from dbt.adapters.sparkivm.bridge.conf import SessionConf
from dbt.adapters.sparkivm.bridge.delta_log import DeltaLogs
from dbt.adapters.sparkivm.bridge.shortcuts import SessionShortcuts
from dbt.adapters.sparkivm.connection.session import SessionHandle
from dbt.adapters.sparkivm.methods import IvmMixin
from python_ivm.refresh.metadata.warehouse import Warehouse
from python_ivm.refresh.plan import Refresh
from python_ivm.refresh.request import Request

KINDS = {"MERGE": "write", "CREATE": "write", "INSERT": "write", "SET": "setting"}


@dataclass
class Statement:
    """One statement, or one look into a table's log.

    Attributes:
        sql: its text; of a look without a statement, `LOOK` and the table.
        began: when, in seconds since the epoch.
        seconds: in Spark and on the way there, with the fetching of its rows.
    """

    sql: str
    began: float
    seconds: float = 0.0

    @property
    def kind(self) -> str:
        """`write`, `setting` or `metadata`."""
        text = self.sql
        while text.lstrip().startswith("/*"):  # dbt's remark on who asks
            text = text.split("*/", 1)[1]
        word = text.split(None, 1)[0].upper()
        return KINDS.get("SET" if word == "RESET" else word, "metadata")


@dataclass
class Trace:
    """What was traced.

    Attributes:
        statements: all statements of dbt, in order; `inside` those of a model's refresh.
        planning: seconds in the planner, without its questions.
    """

    statements: list[Statement] = field(default_factory=list)
    inside: list[Statement] = field(default_factory=list)
    planning: float = 0.0

    def seconds(self, kind: str) -> float:
        """The time of a refresh's statements of one kind."""
        return sum(s.seconds for s in self.inside if s.kind == kind)


class _Asked:
    """A warehouse, and the seconds that its answers took."""

    def __init__(self, warehouse: Warehouse) -> None:
        self._warehouse = warehouse
        self.seconds = 0.0

    def __getattr__(self, question: str) -> Any:
        answer = getattr(self._warehouse, question)
        if not callable(answer):
            return answer

        def timed(*arguments: Any) -> Any:
            began = time.perf_counter()
            try:
                return answer(*arguments)
            finally:
                self.seconds += time.perf_counter() - began

        return timed


@contextmanager
def traced() -> Iterator[Trace]:
    """Trace what dbt does in this process, as long as it uses one thread."""
    trace = Trace()

    def added(tell: Callable[..., str]) -> Callable[[Any], Any]:
        """Calls that are statements of their own; `tell` gives the text."""

        def around(call: Callable[..., Any]) -> Callable[..., Any]:
            def timed(owner: Any, *arguments: Any) -> Any:
                trace.statements.append(Statement(tell(*arguments), time.time()))
                with _timed(trace):
                    return call(owner, *arguments)

            return timed

        return around

    def continued(call: Callable[..., Any]) -> Callable[..., Any]:
        """Calls that are part of the last statement."""

        def timed(owner: Any) -> Any:
            with _timed(trace):
                return call(owner)

        return timed

    def inside(call: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(call)  # with dbt's mark of what Jinja may call
        def kept(*arguments: Any, **options: Any) -> Any:
            first = len(trace.statements)
            try:
                return call(*arguments, **options)
            finally:
                trace.inside += trace.statements[first:]

        return kept

    def plan(call: Callable[..., Refresh]) -> Callable[..., Refresh]:
        def timed(request: Request, warehouse: Warehouse, *given: Any, **more: Any) -> Refresh:
            asked, began = _Asked(warehouse), time.perf_counter()
            try:
                return call(request, cast(Warehouse, asked), *given, **more)
            finally:
                trace.planning += time.perf_counter() - began - asked.seconds

        return timed

    replaced: list[tuple[Any, str, Callable[[Any], Any]]] = [
        (SessionHandle, "execute", added(lambda sql, *bindings: sql)),
        (SessionHandle, "fetchall", continued),
        (SessionHandle, "description", lambda told: property(continued(told.fget))),
        *((SessionConf, name, added(_of_setting)) for name in ("get", "set", "reset")),
        *((DeltaLogs, name, added(_of_look)) for name in ("history", "detail")),
        (SessionShortcuts, "columns", added(_of_look)),
        *((IvmMixin, name, inside) for name in ("ivm_request", "ivm_refresh")),
        (refresher, "plan_refresh", plan),
    ]
    with ExitStack() as afterwards:
        for owner, name, around in replaced:
            before = vars(owner)[name]
            afterwards.callback(setattr, owner, name, before)
            setattr(owner, name, around(before))
        yield trace


def _of_setting(key: str, *value: str) -> str:
    return f"SET {key}"


def _of_look(parts: tuple[str, ...], *limit: int | None) -> str:
    return f"LOOK {'.'.join(parts)}"


@contextmanager
def _timed(trace: Trace) -> Iterator[None]:
    began = time.perf_counter()
    try:
        yield
    finally:
        trace.statements[-1].seconds += time.perf_counter() - began
