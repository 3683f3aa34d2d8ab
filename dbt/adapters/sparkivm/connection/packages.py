"""Spark's packages, such as Delta: one process at a time downloads them.

Spark has Ivy download what `spark.jars.packages` names when it starts. Ivy takes no lock on its
cache: of two processes that start on a new machine at once, both fail over half-written files.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import IO

from dbt.adapters.events.logging import AdapterLogger

from dbt.adapters.sparkivm.connection.settings import PACKAGES, items
from dbt.adapters.sparkivm.log import say, waiting

logger = AdapterLogger("SparkIvm")

IVY = "spark.jars.ivy"
IVY_DEFAULT = "~/.ivy2.5.2"
IVY_OF_SPARK_3 = "~/.ivy2"


@contextmanager
def one_at_a_time(settings: Mapping[str, str]) -> Iterator[None]:
    """Hold the lock on Ivy's folder, after waiting for another process that holds it.

    The user is told of both a wait and a download.

    Args:
        settings: with which Spark starts: its packages, and Ivy's folder if not the usual one.
    """
    file = _lock_file(settings) if settings.get(PACKAGES) else None
    if file is None:
        _say_what_is_missing(settings)
        yield
        return
    import fcntl

    with file:  # closing it gives the lock back
        with waiting("Waiting for another process that downloads Spark's packages ..."):
            fcntl.flock(file, fcntl.LOCK_EX)
        _say_what_is_missing(settings)
        yield


def not_downloaded(settings: Mapping[str, str]) -> list[str]:
    """Those of the packages that Ivy has not put among its JARs yet."""
    jars = ivy_folder(settings) / "jars"
    return [
        package
        for package in items(settings.get(PACKAGES))
        if package.count(":") == 2 and not (jars / _jar(package)).exists()
    ]


def _say_what_is_missing(settings: Mapping[str, str]) -> None:
    missing = not_downloaded(settings)
    if missing:
        say(f"Downloading Spark's packages, this once: {', '.join(missing)} ...")


def _jar(package: str) -> str:
    """The name that Spark gives to the JAR of a package `group:artifact:version`."""
    group, artifact, version = package.split(":")
    return f"{group}_{artifact}-{version}.jar"


def ivy_folder(settings: Mapping[str, str]) -> Path:
    """Ivy's folder."""
    usual = IVY_OF_SPARK_3 if version("pyspark").startswith("3.") else IVY_DEFAULT
    return Path(settings.get(IVY) or usual).expanduser()


def _lock_file(settings: Mapping[str, str]) -> IO[bytes] | None:
    """The open file to lock; None where that cannot be done, and Ivy has to do without."""
    if sys.platform == "win32":
        return None
    folder = ivy_folder(settings)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return (folder / "dbt-sparkivm.lock").open("ab")
    except OSError as error:
        logger.debug(f"Ivy's folder is not locked: {error}")
        return None
