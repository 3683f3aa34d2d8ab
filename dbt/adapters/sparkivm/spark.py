"""The one Spark of this process: started at the first need, never stopped by dbt.

dbt opens and closes connections for every node, and `dbtRunner` may be called many times in one
process; a Spark takes seconds to start. So Spark lives as long as the process, and each
connection gets a session of its own from it.
"""

from __future__ import annotations

import os
import re
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.exceptions import FailedToConnectError
from pyspark import SparkContext
from pyspark.sql import SparkSession

from dbt.adapters.sparkivm import errors, launch, metastore
from dbt.adapters.sparkivm.credentials import SparkIvmCredentials
from dbt.adapters.sparkivm.settings import CATALOG, METASTORE_URL, spark_defaults, start_settings

logger = AdapterLogger("SparkIvm")


# A process can have one value of these; told to the user even where they are defaults of ours, as
# they decide which tables one sees.
_PLACES = frozenset({"spark.master", "spark.sql.warehouse.dir", METASTORE_URL})

_SECRET = re.compile(r"secret|password|token|access[.]?key", re.IGNORECASE)


@dataclass
class _Process:
    """What is known about the Spark of this process.

    Attributes:
        root: the session that others are made from; dbt runs nothing in it.
        settings: those that it was started with.
        requested: the keys of `settings` that come from the starting profile's user.
        ready: whether its metastore could be opened.
        warned: differing static settings that the user was told about.
    """

    root: SparkSession
    settings: Mapping[str, str]
    requested: frozenset[str]
    ready: bool = False
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
    user = credentials.server_side_parameters
    wanted = start_settings(credentials.master, user, folder, spark_defaults(os.environ))
    with _lock:
        if _process is None or _process.root.sparkContext._jsc is None:
            _process = _start(wanted, frozenset(user), folder)
        if not _process.ready:
            _open_metastore(_process)
        session = _process.root.newSession()
        _apply(session, _process, wanted, frozenset(user))
    return session


def project_folder(credentials: SparkIvmCredentials) -> Path:
    """Where Spark keeps what it writes for a project: `.sparkivm` in the project's folder.

    It must not depend on the folder that dbt is called from, or a project would lose sight of its
    tables. dbt tells the folder of a project to the connection manager (see there).
    """
    root = credentials.project_root or Path.cwd()
    return root.resolve() / ".sparkivm"


def _start(settings: Mapping[str, str], requested: frozenset[str], folder: Path) -> _Process:
    """Start Spark, or take the one that somebody else started in this process."""
    is_first = SparkContext._gateway is None  # else the lock may be our own JVM's
    if is_first and settings[CATALOG] == "hive":
        metastore.check_free(settings.get(METASTORE_URL, ""))
    with _interrupts_kept():
        root, is_ours = launch.root_session(settings, folder)
    if is_ours:
        return _Process(root, settings, requested)
    return _Process(root, dict(root.sparkContext.getConf().getAll()), frozenset())


def _open_metastore(process: _Process) -> None:
    """Make Spark open its metastore, which it does at the first need: better not inside a model.

    Raises:
        FailedToConnectError: it cannot, e.g. as another process has it open.
    """
    try:
        process.root.catalog.databaseExists("default")
    except Exception as error:
        trace = errors.trace_of(error)
        logger.debug(trace)
        if metastore.is_locked(trace):
            message = metastore.locked_message(process.settings.get(METASTORE_URL, ""))
        else:
            message = errors.render(errors.message_of(error))
        raise FailedToConnectError(message) from None
    process.ready = True


def _apply(
    session: SparkSession,
    process: _Process,
    wanted: Mapping[str, str],
    user: frozenset[str],
) -> None:
    """Give `session` the `wanted` settings, as far as they can differ between sessions.

    A new session begins with the settings of the start: what only the starting profile's user asked
    for is taken back. Of what can not be changed any more, the user is told once.
    """
    for key in process.requested - wanted.keys():
        if _is_per_session(key):
            _try(key, partial(session.conf.unset, key))
    ignored = []
    for key, value in wanted.items():
        if process.settings.get(key) == value:
            continue
        if _is_per_session(key) and _try(key, partial(session.conf.set, key, value)):
            continue
        if key in user | _PLACES and (key, value) not in process.warned:
            process.warned.add((key, value))
            ignored.append(_shown(key, value, process.settings.get(key, "not set")))
    if ignored:
        logger.warning(
            "Spark already runs in this process with other settings, which only a new process can "
            f"change. Without effect: {', '.join(ignored)}"
        )


def _shown(key: str, value: str, actual: str) -> str:
    """A setting that differs, for the log: without values that Spark too hides in its own."""
    if _SECRET.search(key):
        return key
    return f"{key}={value} (it is {actual})"


def _is_per_session(key: str) -> bool:
    """Whether to try a setting in a session: it accepts many in silence that nobody reads there."""
    return not key.startswith("spark.") or key.startswith(("spark.sql.", "spark.databricks."))


def _try(key: str, change: Callable[[], None]) -> bool:
    """Change a setting; False if Spark has it for the whole process only."""
    try:
        change()
    except Exception as error:
        logger.debug(f"{key} belongs to the process: {errors.message_of(error)}")
        return False
    return True


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
