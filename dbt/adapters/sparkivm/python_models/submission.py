"""The adapter's part of Python models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dbt.adapters.base import PythonJobHelper

from dbt.adapters.sparkivm.credentials import Method
from dbt.adapters.sparkivm.python_models.job import SessionJob, Unsupported

_SESSION = "session"


class PythonModelsMixin:
    """Which jobs there are for Python models, by dbt's config `submission_method`."""

    @property
    def default_python_submission_method(self) -> str:
        """By the profile's method: in its session, or as dbt-spark has Databricks run them."""
        credentials = self.config.credentials  # type: ignore[attr-defined]
        if credentials.in_session:
            return _SESSION
        if credentials.method == Method.THRIFT:
            return str(Method.THRIFT)
        return str(super().default_python_submission_method)  # type: ignore[misc]

    @property
    def python_submission_helpers(self) -> Mapping[str, Callable[..., PythonJobHelper]]:
        """dbt-spark's jobs, and those of a session; each is made of a node and credentials."""
        helpers = dict(super().python_submission_helpers)  # type: ignore[misc]
        credentials = self.config.credentials  # type: ignore[attr-defined]
        helpers[Method.THRIFT] = Unsupported
        helpers[_SESSION] = self._session_job if credentials.in_session else Unsupported
        return helpers

    def _session_job(self, model: Mapping[str, Any], credentials: Any) -> SessionJob:
        connection = self.connections.get_thread_connection()  # type: ignore[attr-defined]
        return SessionJob(connection.handle, credentials.project_root, model)
