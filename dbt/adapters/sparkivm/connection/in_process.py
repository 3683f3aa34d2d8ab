"""The one Spark of this process: started at the first need, never stopped by dbt.

dbt opens and closes connections for every node, and `dbtRunner` may be called many times in one
process; a Spark takes seconds to start. So Spark lives as long as the process, and each
connection gets a session of its own from it.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.exceptions import FailedToConnectError
from pyspark import SparkContext
from pyspark.sql import SparkSession

from dbt.adapters.sparkivm.connection import launch, metastore, resident
from dbt.adapters.sparkivm.connection.session import SessionHandle
from dbt.adapters.sparkivm.connection.session_settings import Started, apply
from dbt.adapters.sparkivm.connection.settings import (
    CATALOG,
    METASTORE_URL,
    project_folder,
    spark_defaults,
    start_settings,
)
from dbt.adapters.sparkivm.credentials import SparkIvmCredentials
from dbt.adapters.sparkivm.diagnostics import errors
from dbt.adapters.sparkivm.log import waiting

logger = AdapterLogger("SparkIvm")


_ADVICE = (
    "Spark already runs in this process with other settings, which only a new process can change."
)


@dataclass
class _Process:
    """What is known about the Spark of this process.

    Attributes:
        root: the session that others are made from; dbt runs nothing in it.
        started: with which settings.
        ready: whether its metastore could be opened.
    """

    root: SparkSession
    started: Started
    ready: bool = False


_lock = threading.Lock()
_process: _Process | None = None


def new_handle(credentials: SparkIvmCredentials) -> SessionHandle:
    """A dbt connection: see `new_session`."""
    return SessionHandle(new_session(credentials))


def new_session(credentials: SparkIvmCredentials) -> SparkSession:
    """A new session of this process's Spark, with the settings of one profile.

    Settings and temporary views are the session's own; catalog, tables and cached data are
    shared with all others.

    Raises:
        FailedToConnectError: Spark does not start, or another process holds the metastore.
    """
    global _process
    folder = project_folder(credentials.project_root)
    user = credentials.server_side_parameters
    wanted = start_settings(credentials.master, user, folder, spark_defaults(os.environ))
    with _lock:
        if _process is None or _process.root.sparkContext._jsc is None:
            _process = _start(wanted, frozenset(user), folder)
        if not _process.ready:
            _open_metastore(_process, folder)
        session = _process.root.newSession()
        apply(session, _process.started, wanted, user, _ADVICE)
    return session


def _start(settings: Mapping[str, str], requested: frozenset[str], folder: Path) -> _Process:
    """Start Spark, or take the one that somebody else started in this process."""
    is_first = SparkContext._gateway is None  # else the lock may be our own JVM's
    if is_first and settings[CATALOG] == "hive":
        metastore.check_free(settings.get(METASTORE_URL, ""), resident.holder(folder))
    with _interrupts_kept():
        root, is_ours = launch.root_session(settings, folder)
    if is_ours:
        return _Process(root, Started(settings, requested))
    return _Process(root, Started(dict(root.sparkContext.getConf().getAll())))


def _open_metastore(process: _Process, folder: Path) -> None:
    """Make Spark open its metastore, which it does at the first need: better not inside a model.

    Raises:
        FailedToConnectError: it cannot, e.g. as another process has it open.
    """
    url = process.started.settings.get(METASTORE_URL, "")
    try:
        with waiting(metastore.waiting_message(process.started.settings)):
            process.root.catalog.databaseExists("default")
    except Exception as error:
        trace = errors.trace_of(error)
        logger.debug(trace)
        if metastore.is_locked(trace):
            message = metastore.locked_message(url, resident.holder(folder))
        else:
            message = errors.explained(error)
        raise FailedToConnectError(message) from None
    process.ready = True


@contextmanager
def _interrupts_kept() -> Iterator[None]:
    """Keep dbt's way with Ctrl-C, which is to cancel connections: PySpark installs its own."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handler = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
