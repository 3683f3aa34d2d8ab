"""Starting the JVM, without its chatter on dbt's terminal."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, MutableMapping
from importlib.metadata import version
from pathlib import Path

from dbt.adapters.exceptions import FailedToConnectError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from dbt.adapters.sparkivm.connection import packages
from dbt.adapters.sparkivm.connection.settings import is_local, prepare
from dbt.adapters.sparkivm.diagnostics import errors
from dbt.adapters.sparkivm.diagnostics.java import check_java
from dbt.adapters.sparkivm.log import say

_PYTHON = "PYSPARK_PYTHON"
_LOG_LIMIT = 5_000_000  # bytes, after which a start begins the log anew


def root_session(settings: Mapping[str, str], folder: Path) -> tuple[SparkSession, bool]:
    """The first session of this process.

    Args:
        settings: all settings, also those of the JVM such as its memory.
        folder: for Spark's log; made if missing.

    Returns:
        The session, and whether its Spark was started here; one that is already there (say, a
        notebook's) is used as it is.

    Raises:
        FailedToConnectError: no suitable Java, or Spark does not start; with its reason.
    """
    errors.silence_pyspark()
    if SparkContext._active_spark_context is not None:
        return SparkSession.builder.getOrCreate(), False
    conf = SparkConf().setAll(list(settings.items()))
    if SparkContext._gateway is not None:
        # A JVM whose Spark was stopped: its memory and options cannot change any more.
        return SparkSession.builder.config(conf=conf).getOrCreate(), True
    check_java()
    say_starting(settings)
    name_python(settings, os.environ)
    prepare(folder)
    log = log_file(folder / "spark.log")
    start = log.stat().st_size if log.exists() else 0
    try:
        # Ivy writes dozens of lines about its downloads, and Java its warnings, before any log
        # level of Spark counts: they go to a file.
        with packages.one_at_a_time(settings), log.open("ab") as file:
            gateway = launch_gateway(conf, popen_kwargs={"stdout": file, "stderr": file})
        SparkContext(conf=conf, gateway=gateway)
        return SparkSession.builder.getOrCreate(), True
    except PySparkRuntimeError as error:
        condition = getattr(error, "getCondition", error.getErrorClass)()  # so named since Spark 4
        if condition != "JAVA_GATEWAY_EXITED":
            raise
        raise FailedToConnectError(start_failure(log, start)) from None
    except Exception as error:
        message = errors.explained(error)
        raise FailedToConnectError(f"Spark does not start: {message}\nIts log: {log}") from None


def say_starting(settings: Mapping[str, str], what: str = "Spark") -> None:
    """Tell the user that Spark is being started, which takes a while.

    Args:
        settings: with which it is started.
        what: how to call it.
    """
    say(f"Starting {what} {version('pyspark')} ({settings.get('spark.master', 'local[*]')}) ...")


def name_python(settings: Mapping[str, str], environ: MutableMapping[str, str]) -> None:
    """Let the Python workers of a Spark on this machine be the Python that dbt runs in.

    It has the packages that Python models import; Spark would take any `python3` of the PATH.

    Args:
        settings: with which Spark is started.
        environ: its environment variables, of which one is set unless the user did.
    """
    if is_local(settings.get("spark.master", "local[*]")):
        environ.setdefault(_PYTHON, settings.get("spark.pyspark.python", sys.executable))


def log_file(path: Path) -> Path:
    """Begin a log anew if it has become long.

    Returns:
        `path`.
    """
    if path.exists() and path.stat().st_size > _LOG_LIMIT:
        path.write_bytes(b"")
    return path


def start_failure(log: Path, start: int) -> str:
    """Why the JVM ended, from what it wrote since `start` (bytes)."""
    text = log.read_bytes()[start:].decode(errors="replace")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    reason = next((line for line in lines if line.startswith("Exception in thread")), None)
    if reason is None:
        reason = next((line for line in lines if "rror" in line), lines[-1] if lines else "")
    reason = re.sub(r'^Exception in thread "main" [\w.$]*: ', "", reason)
    advice = ""
    if "unresolved dependency" in reason or "download failed" in reason:
        advice = (
            " Spark downloads its packages, such as Delta, when it first needs them: that takes a "
            "network, or the JARs named in server_side_parameters: spark.jars."
        )
    return f"Spark does not start: {reason}{advice}\nIts log: {log}"
