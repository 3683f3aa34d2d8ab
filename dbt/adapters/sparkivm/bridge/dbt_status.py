"""Maintained models that were warned of, in dbt's summary: `PASS=7 WARN=1 ERROR=0 ...`.

dbt counts results by their status. It knows the status `warn`, and gives it to tests alone: a model
that ran is a success, whatever its adapter says. So the method of dbt's that makes a model's result
is wrapped, once and at the first warning of a process. Where dbt has no such method, the warning
is in the log and in run_results.json all the same, and only the count misses it. Schedulers that
know no such status of a model get `success` by the profile's ``count_warnings: false``.
"""

from __future__ import annotations

import sys
from functools import wraps
from threading import Lock
from typing import Any

from dbt.adapters.sparkivm.bridge.response import RefreshResponse

_METHOD = "_build_run_model_result"
_lock = Lock()
_wrapped: set[type] = set()


def count_warnings() -> None:
    """Let dbt count maintained models as warnings whose response has one."""
    # What runs this model; not imported here, as something else than dbt-core might.
    runner = getattr(sys.modules.get("dbt.task.run"), "ModelRunner", None)
    with _lock:
        if runner is None or not hasattr(runner, _METHOD) or runner in _wrapped:
            return
        _wrapped.add(runner)
        _wrap(runner)


def _wrap(runner: type) -> None:
    from dbt.artifacts.schemas.results import TestStatus

    build = getattr(runner, _METHOD)

    @wraps(build)
    def built(self: Any, model: Any, context: Any, *args: Any, **kwargs: Any) -> Any:
        result = build(self, model, context, *args, **kwargs)
        response = context["load_result"]("main").response
        counted = getattr(self.adapter.config.credentials, "count_warnings", True)
        if counted and isinstance(response, RefreshResponse) and response.warning:
            result.status = TestStatus.Warn
        return result

    setattr(runner, _METHOD, built)
