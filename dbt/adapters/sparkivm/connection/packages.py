"""Spark's packages, such as Delta: one process at a time downloads them.

Spark has Ivy download what `spark.jars.packages` names when it starts. Ivy takes no lock on its
cache: of two processes that start on a new machine at once, both fail over half-written files.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from dbt.adapters.events.logging import AdapterLogger

from dbt.adapters.sparkivm.connection.settings import PACKAGES

logger = AdapterLogger("SparkIvm")

IVY = "spark.jars.ivy"
_IVY_DEFAULT = "~/.ivy2.5.2"


@contextmanager
def one_at_a_time(settings: Mapping[str, str]) -> Iterator[None]:
    """Hold the lock on Ivy's folder, after waiting for another process that holds it.

    Args:
        settings: with which Spark starts: its packages, and Ivy's folder if not the usual one.
    """
    file = _lock_file(settings) if settings.get(PACKAGES) else None
    if file is None:
        yield
        return
    import fcntl

    with file:  # closing it gives the lock back
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _lock_file(settings: Mapping[str, str]) -> IO[bytes] | None:
    """The open file to lock; None where that cannot be done, and Ivy has to do without."""
    if sys.platform == "win32":
        return None
    folder = Path(settings.get(IVY) or _IVY_DEFAULT).expanduser()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return (folder / "dbt-sparkivm.lock").open("ab")
    except OSError as error:
        logger.debug(f"Ivy's folder is not locked: {error}")
        return None
