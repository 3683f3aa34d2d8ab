"""Python models as jobs of dbt: run in this thread's session."""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from dbt.adapters.base import PythonJobHelper
from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import DbtRuntimeError
from packaging.requirements import InvalidRequirement, Requirement

from dbt.adapters.sparkivm.connection.session import SessionHandle, is_of_connect
from dbt.adapters.sparkivm.diagnostics import errors
from dbt.adapters.sparkivm.python_models.code import ModelCode

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

logger = AdapterLogger("SparkIvm")

_CONNECT_MODE = "SPARK_CONNECT_MODE_ENABLED"


class SessionJob(PythonJobHelper):
    """Runs a Python model in a session, of a Spark in this process or of Spark Connect."""

    def __init__(self, handle: SessionHandle, root: Path | None, model: Mapping[str, Any]) -> None:
        """Take what there is to run.

        Args:
            handle: This thread's session.
            root: The project's folder.
            model: The node, as dbt gives it to Jinja.

        Raises:
            DbtRuntimeError: A package that the model asks for is not there.
        """
        _check_packages(model["config"].get("packages") or [])
        self._handle = handle
        self._root = root or Path.cwd()
        self._model = model

    def submit(self, compiled_code: str) -> None:
        """Run the model, and write what it returns.

        Raises:
            DbtRuntimeError: What the model raised, with its file and line; also Spark's errors.
        """
        code = ModelCode.of(self._model, compiled_code, self._root)
        name = re.sub(r"\W", "_", str(self._model["unique_id"]))

        def run(session: SparkSession) -> None:
            try:
                with _active(session), _module(f"dbt_{name}", code.file) as module:
                    module.__dict__["spark"] = session
                    exec(code.compiled(), module.__dict__)
            except Exception as error:
                trace = errors.trace_of(error)
                if trace:
                    logger.debug(f"Spark's stack trace:\n{trace}")
                raise code.error(error) from error

        self._handle.run(run)


class Unsupported(PythonJobHelper):
    """What stands for a job where there is no way to run one."""

    def __init__(self, model: Mapping[str, Any], credentials: Any) -> None:
        """Refuse.

        Raises:
            DbtRuntimeError: With the methods that can.
        """
        raise DbtRuntimeError(
            f"method: {credentials.method} takes SQL only, so it cannot run Python models: use "
            "method: session or connect, or http or odbc of Databricks."
        )


def _check_packages(packages: Iterable[str]) -> None:
    """Refuse a model whose packages (dbt's config) are not beside dbt, where it runs."""
    for package in packages:
        try:
            required = Requirement(str(package))
        except InvalidRequirement as error:
            raise DbtRuntimeError(f"Config packages has {package!r}: {error}") from None
        try:
            found = distribution(required.name).version
        except PackageNotFoundError:
            found = None
        if found is None or not required.specifier.contains(found, prereleases=True):
            there = "is not installed" if found is None else f"is installed as {found}"
            raise DbtRuntimeError(
                f"The model asks for the package {required}, which {there}: install it beside dbt, "
                f"by pip install '{required}'."
            )


@contextmanager
def _module(name: str, file: Path) -> Generator[ModuleType, None, None]:
    """A module for a model's code, whose functions Spark sends to its workers as they are.

    Dataclasses look for their module; a function of a module that can be found would be sent by its
    name, of which a worker knows nothing.
    """
    from pyspark import cloudpickle

    module = ModuleType(name)
    module.__file__ = str(file)
    sys.modules[name] = module
    cloudpickle.register_pickle_by_value(module)
    try:
        yield module
    finally:
        cloudpickle.unregister_pickle_by_value(module)
        del sys.modules[name]


@contextmanager
def _active(session: SparkSession) -> Generator[None, None, None]:
    """Make a session the one that PySpark's functions and pandas on Spark find in this thread."""
    if is_of_connect(session):
        local = type(session)._active_session  # type: ignore[attr-defined]
        before = getattr(local, "session", None)
        local.session = session
        try:
            with _connect_mode:
                yield
        finally:
            local.session = before
    else:
        session.createDataFrame([], "nothing int")  # which makes it the active one
        yield


class _ConnectMode:
    """While it is entered, PySpark's functions make columns of Spark Connect.

    They ask an environment variable of the process, and else want a Spark in it. So all models that
    run at once share it, and the last one takes it back.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._before: str | None = None

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._before = os.environ.get(_CONNECT_MODE)
                os.environ[_CONNECT_MODE] = "1"
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                if self._before is None:
                    os.environ.pop(_CONNECT_MODE, None)
                else:
                    os.environ[_CONNECT_MODE] = self._before


_connect_mode = _ConnectMode()
