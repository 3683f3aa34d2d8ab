"""The Derby metastore of a local project, which one process at a time can open."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from dbt.adapters.exceptions import FailedToConnectError

from dbt.adapters.sparkivm.connection.settings import CATALOG, METASTORE_URIS, METASTORE_URL

# Derby's error for a database that another JVM has open.
_LOCKED = re.compile(r"XSDB6|Another instance of Derby may have already booted")
# In a JDBC URL a user and a password can stand before an `@`, and after a `;` or `?`.
_LOGIN = re.compile(r"^(jdbc:(?:\w+:)+(?://)?).*@")
# Derby's next log has a megabyte from its beginning.
_ROOM = 2 * 1024 * 1024
_DATABASE = re.compile(r"^jdbc:derby:.*databaseName=([^;]+)")


def check_free(url: str, resident: str | None = None) -> None:
    """Refuse early what Spark would refuse after half a minute of retries, or never answer.

    Args:
        url: the metastore's JDBC URL; nothing is checked if it is not an embedded Derby.
        resident: how to call the project's resident Spark, if it runs.

    Raises:
        FailedToConnectError: its disk is full, or another process has the database open.
    """
    match = _DATABASE.match(url)
    if match is None:
        return
    _check_room(Path(match[1]))
    lock = Path(match[1]) / "dbex.lck"
    try:
        import fcntl  # not on Windows: there Derby itself refuses

        with lock.open("rb") as file:
            # Derby holds an exclusive lock on this file for as long as it runs; after a crash the
            # file stays, without lock. Closing the file gives the shared lock back.
            fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except (ImportError, FileNotFoundError):
        return
    except OSError:
        raise FailedToConnectError(locked_message(url, resident)) from None


def _check_room(database: Path) -> None:
    """Refuse a disk on which Derby cannot begin its next log."""
    folder = next(place for place in (database, *database.parents) if place.exists())
    room = shutil.disk_usage(folder).free
    if room < _ROOM:
        raise FailedToConnectError(
            f"The disk is full: {room // 1024} KB are left for the metastore ({database}), which "
            f"takes {_ROOM // 1024} KB to start. Make room, and run again."
        )


def place(settings: Mapping[str, str]) -> str:
    """Where a Spark with these settings keeps its catalog, for a message; never a password."""
    if settings.get(CATALOG, "hive") != "hive":
        return "in memory: tables are gone when Spark ends"
    uris = settings.get(METASTORE_URIS)
    if uris:
        return uris
    url = settings.get(METASTORE_URL, "")
    match = _DATABASE.match(url)
    if match:
        return match[1]
    shown = _LOGIN.sub(r"\1", re.split("[;?]", url)[0])
    return shown or "where Spark's hive-site.xml says"


def waiting_message(settings: Mapping[str, str]) -> str:
    """What to tell a user for whom the metastore takes long; a new one is made first."""
    match = _DATABASE.match(settings.get(METASTORE_URL, ""))
    if match and not (Path(match[1]) / "service.properties").exists():
        return f"Making a new metastore in {match[1]} ..."
    return f"Waiting for the metastore ({place(settings)}) ..."


def is_locked(trace: str) -> bool:
    """Whether Spark failed because another process has the metastore open."""
    return bool(_LOCKED.search(trace))


def locked_message(url: str, resident: str | None = None) -> str:
    """One line for the user, who most likely runs dbt twice.

    Args:
        url: the metastore's JDBC URL.
        resident: how to call the project's resident Spark, if it runs: then it has the metastore.
    """
    match = _DATABASE.match(url)
    place = f" ({match[1]})" if match else ""
    if resident:
        return (
            f"{resident} has the metastore of this project{place} open, and only one process can: "
            "use it by `method: connect` in the profile, or stop it: dbt-sparkivm server stop."
        )
    return (
        f"Another process, probably another dbt, uses the metastore of this project{place}: wait "
        "for it to end, or configure a metastore that can be shared "
        "(server_side_parameters: spark.hadoop.hive.metastore.uris)."
    )
