"""The resident Spark that dbt starts by itself (`resident: true`), and that ends by itself."""

from __future__ import annotations

import threading
import time
from pathlib import Path

from dbt.adapters.exceptions import FailedToConnectError

from dbt.adapters.sparkivm.connection import resident
from dbt.adapters.sparkivm.connection.resident import Resident, Use
from dbt.adapters.sparkivm.connection.settings import prepare, project_folder
from dbt.adapters.sparkivm.credentials import SparkIvmCredentials
from dbt.adapters.sparkivm.log import say
from dbt.adapters.sparkivm.server import idle, lifecycle

_POLL = 0.2  # seconds
_PATIENCE = 300.0

_lock = threading.Lock()


def ensure(credentials: SparkIvmCredentials) -> None:
    """Make sure that the project's resident Spark runs, and stays while this process needs it.

    One that started by itself with other settings or versions is restarted, unless another process
    uses it: then it is taken as it is, and the session says which settings have no effect. So is
    one that the user started.

    Raises:
        FailedToConnectError: it does not start; with what to do.
    """
    folder = project_folder(credentials.project_root)
    prepare(folder)
    with _lock:
        use = resident.used(folder)
        server, wanted = _found(folder), lifecycle.fingerprint(credentials)
        if server is not None and server.idle_minutes is not None and server.fingerprint != wanted:
            server = _replaced(use, folder, server)
        if server is None:
            minutes = credentials.resident_idle_minutes
            say(
                "A resident Spark serves this run and the next ones. It ends after "
                f"{minutes:g} minutes without use, or by `dbt-sparkivm server stop`."
            )
            try:
                lifecycle.start(credentials, idle_minutes=minutes)
            except lifecycle.RunsAlready:
                _found(folder)  # another process was faster
        elif server.idle_minutes is not None and not idle.is_watched(folder):
            idle.watch(folder, server.idle_minutes)


def leave_none(folder: Path) -> None:
    """Stop a resident Spark that started by itself, and that a profile does not ask for any more.

    It holds the local metastore, and memory. One that another process uses stays, and one that the
    user started.

    Raises:
        FailedToConnectError: it does not end.
    """
    server = resident.find(folder)
    if server is None or server.idle_minutes is None:
        return
    use = Use(folder)
    with use.alone() as alone:
        if alone:
            say("Stopping the resident Spark, which the profile does not ask for any more ...")
            lifecycle.stop(folder)
    use.close()


def _found(folder: Path) -> Resident | None:
    """The server that runs, also one that another process is just starting."""
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        server = resident.find(folder)
        if server is not None and server.ready:
            return server
        if not resident.is_locked(folder):
            return None
        time.sleep(_POLL)
    raise FailedToConnectError(
        f"Another process is starting the resident Spark for {_PATIENCE:.0f} seconds now.\n"
        f"Its log: {folder / 'server.log'}"
    )


def _replaced(use: Use, folder: Path, server: Resident) -> Resident | None:
    """None after stopping a server that nobody else uses; else the server itself."""
    with use.alone() as alone:
        if not alone:
            return server
        say("Restarting the resident Spark, as its settings or versions changed ...")
        lifecycle.stop(folder)
        return None
