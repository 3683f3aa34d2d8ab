"""Which statements a dbt run gives to Spark, and how long each takes."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from dbt.adapters.sparkivm import refresher
from dbt.adapters.sparkivm.conf import SessionConf
from dbt.adapters.sparkivm.deltalog import DeltaLogs
from dbt.adapters.sparkivm.ivm import IvmMixin
from dbt.adapters.sparkivm.session import SessionHandle
from dbt.adapters.sparkivm.warehouse import Logs, SparkWarehouse
from python_ivm.refresh.request import Request
from python_ivm.refresh.statements import Refresh
from python_ivm.refresh.strategy import plan_refresh

KINDS = {"MERGE": "write", "CREATE": "write", "INSERT": "write", "SET": "setting"}


@dataclass
class Statement:
    """One statement, or one look into a table's log.

    Attributes:
        sql: its text; of a look `LOG` and the table.
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


@contextmanager
def traced() -> Iterator[Trace]:
    """Trace what dbt does in this process, as long as it uses one thread."""
    trace = Trace()
    kept = {name: SessionHandle.__dict__[name] for name in ("execute", "fetchall", "description")}
    settings = {name: getattr(SessionConf, name) for name in ("get", "set", "reset")}
    looks = {name: getattr(DeltaLogs, name) for name in ("history", "detail")}
    calls = {name: getattr(IvmMixin, name) for name in ("ivm_request", "ivm_refresh")}

    def execute(handle: SessionHandle, sql: str, bindings: Any = None) -> None:
        trace.statements.append(Statement(sql, time.time()))
        _timed(trace, lambda: kept["execute"](handle, sql, bindings))

    def inside(call: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(call)  # with dbt's mark of what Jinja may call
        def timed(*arguments: Any, **options: Any) -> Any:
            first = len(trace.statements)
            try:
                return call(*arguments, **options)
            finally:
                trace.inside += trace.statements[first:]

        return timed

    def plan(request: Request, warehouse: SparkWarehouse, *forced: Any) -> Refresh:
        query, logs, began = warehouse._query, warehouse._logs, time.perf_counter()
        asking = 0.0

        def asked(ask: Callable[..., Any]) -> Callable[..., Any]:
            def timed(*question: Any) -> Any:
                nonlocal asking
                put = time.perf_counter()
                try:
                    return ask(*question)
                finally:
                    asking += time.perf_counter() - put

            return timed

        warehouse._query = asked(query)
        warehouse._logs = logs and _Asked(asked(logs.history), asked(logs.detail))
        try:
            return plan_refresh(request, warehouse, *forced)
        finally:
            warehouse._query, warehouse._logs = query, logs
            trace.planning += time.perf_counter() - began - asking

    def log(name: str) -> Callable[..., Any]:
        def timed(logs: DeltaLogs, parts: tuple[str, ...], *limit: int) -> Any:
            trace.statements.append(Statement(f"LOG {'.'.join(parts)}", time.time()))
            return _timed(trace, lambda: looks[name](logs, parts, *limit))

        return timed

    def setting(name: str) -> Callable[..., Any]:
        def timed(conf: SessionConf, key: str, *value: str) -> Any:
            trace.statements.append(Statement(f"SET {key}", time.time()))
            return _timed(trace, lambda: settings[name](conf, key, *value))

        return timed

    replaced = {
        "execute": execute,
        "fetchall": lambda handle: _timed(trace, lambda: kept["fetchall"](handle)),
        "description": property(
            lambda handle: _timed(trace, lambda: kept["description"].fget(handle))
        ),
    }
    try:
        for name, method in replaced.items():
            setattr(SessionHandle, name, method)
        for name in settings:
            setattr(SessionConf, name, setting(name))
        for name in looks:
            setattr(DeltaLogs, name, log(name))
        for name, call in calls.items():
            setattr(IvmMixin, name, inside(call))
        refresher.plan_refresh = plan
        yield trace
    finally:
        refresher.plan_refresh = plan_refresh
        for name, method in kept.items():
            setattr(SessionHandle, name, method)
        for name, method in settings.items():
            setattr(SessionConf, name, method)
        for name, method in looks.items():
            setattr(DeltaLogs, name, method)
        for name, call in calls.items():
            setattr(IvmMixin, name, call)


@dataclass
class _Asked(Logs):
    """Logs whose answers are timed."""

    history: Callable[..., Any]  # type: ignore[assignment]
    detail: Callable[..., Any]  # type: ignore[assignment]


def _timed(trace: Trace, work: Callable[[], Any]) -> Any:
    began = time.perf_counter()
    try:
        return work()
    finally:
        trace.statements[-1].seconds += time.perf_counter() - began
