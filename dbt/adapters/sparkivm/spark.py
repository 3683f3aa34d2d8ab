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
from dataclasses import dataclass, field
from pathlib import Path

from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.exceptions import FailedToConnectError
from dbt.adapters.sparkivm import errors, launch, metastore
from dbt.adapters.sparkivm.credentials import SparkIvmCredentials
from dbt.adapters.sparkivm.settings import CATALOG, METASTORE_URL, spark_defaults, start_settings
from pyspark.sql import SparkSession

logger = AdapterLogger("SparkIvm")


@dataclass
class _Process:
    """What is known about the Spark of this process.

    Attributes:
        root: the session that others are made from; dbt runs nothing in it.
        settings: those that this module started it with; empty if someone else started it.
        requested: those of `settings` that come from the starting profile's user.
        warned: differing static settings that the user was told about.
    """

    root: SparkSession
    settings: dict[str, str]
    requested: Mapping[str, str]
    warned: set[tuple[str, str]] = field(default_factory=set)


_lock = threading.Lock()
_process: _Process | None = None


def new_session(credentials: SparkIvmCredentials) -> SparkSession:
    """A new session of this process's Spark, with the settings of one profile.

    Settings and temporary views are the session's own; catalog, tables and cached data are
    shared with all others.

    Raises:
        FailedToConnectError: Spark does not start, or another process holds the metastore.
    """
    global _process
    folder = project_folder(credentials)
    wanted = start_settings(
        credentials.master,
        credentials.server_side_parameters,
        folder,
        spark_defaults(os.environ),
    )
    with _lock:
        if _process is None or _process.root.sparkContext._jsc is None:
            _process = _start(wanted, credentials.server_side_parameters, folder)
        process = _process
        session = process.root.newSession()
        _apply(session, process, wanted)
    return session


def project_folder(credentials: SparkIvmCredentials) -> Path:
    """Where Spark keeps what it writes for a project: `.sparkivm` in the project's folder.

    It must not depend on the folder that dbt is called from, or a project would lose sight of its
    tables. dbt tells the folder of a project to the connection manager (see there).
    """
    root = credentials.project_root or Path.cwd()
    return root.resolve() / ".sparkivm"


def _start(settings: dict[str, str], requested: Mapping[str, str], folder: Path) -> _Process:
    url = settings.get(METASTORE_URL, "") if settings.get(CATALOG) == "hive" else ""
    metastore.check_free(url)
    with _interrupts_kept():
        root, is_ours = launch.root_session(settings, folder)
    try:
        # Opens the metastore, which Spark does lazily: better here than inside of a model.
        root.catalog.databaseExists("default")
    except Exception as error:
        logger.debug(errors.trace_of(error))
        if metastore.is_locked(errors.trace_of(error)):
            raise FailedToConnectError(metastore.locked_message(url)) from None
        raise FailedToConnectError(errors.render(errors.message_of(error))) from None
    return _Process(root, settings if is_ours else {}, dict(requested))


def _apply(session: SparkSession, process: _Process, wanted: Mapping[str, str]) -> None:
    """Give `session` the `wanted` settings, as far as they can differ between sessions.

    A new session starts with all settings of the start: those that only the starting profile asked
    for are taken back.
    """
    for key in process.requested.keys() - wanted.keys():
        if session.conf.isModifiable(key) or not _is_static(key):
            session.conf.unset(key)
    for key, value in wanted.items():
        if process.settings.get(key) == value:
            continue
        if not _is_static(key) and _set(session, key, value):
            continue
        if (key, value) not in process.warned:
            process.warned.add((key, value))
            logger.warning(
                f"{key}={value} has no effect: this process already runs a Spark with "
                f"{process.settings.get(key, 'another value')}. Only a new process can change it."
            )


def _set(session: SparkSession, key: str, value: str) -> bool:
    """Set a setting for one session; False if Spark has it for the whole process only."""
    try:
        session.conf.set(key, value)
    except Exception as error:
        logger.debug(f"{key} is not set: {errors.message_of(error)}")
        return False
    return True


def _is_static(key: str) -> bool:
    """Settings that a session accepts in silence and nobody reads there."""
    return not key.startswith(("spark.sql.", "spark.databricks."))


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
