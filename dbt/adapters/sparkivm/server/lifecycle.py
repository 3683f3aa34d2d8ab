"""Starting and stopping a project's resident Spark: a Spark Connect server on this machine.

It is Spark as `method: session` would start it, with the same warehouse and metastore, in a process
that stays.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from dbt.adapters.exceptions import FailedToConnectError
from pyspark.find_spark_home import _find_spark_home

from dbt.adapters.sparkivm.connection import connect, launch, metastore, packages, resident
from dbt.adapters.sparkivm.connection.resident import Resident
from dbt.adapters.sparkivm.connection.settings import (
    CATALOG,
    METASTORE_URL,
    TOKEN,
    is_of_the_whole,
    prepare,
    project_folder,
    spark_defaults,
    start_settings,
)
from dbt.adapters.sparkivm.credentials import Method, SparkIvmCredentials
from dbt.adapters.sparkivm.diagnostics import errors
from dbt.adapters.sparkivm.diagnostics.java import check_java
from dbt.adapters.sparkivm.log import waiting

_LOOPBACK = "127.0.0.1"
_CLASS = "org.apache.spark.sql.connect.service.SparkConnectServer"
_POLL = 0.2  # seconds
# A first start downloads Delta's JAR.
_START_TIMEOUT = 300.0
# They would make a client of the server's own Spark, or name another token.
_FOREIGN = ("SPARK_REMOTE", "SPARK_CONNECT_MODE", "SPARK_API_MODE")
_TOKEN_VARIABLE = "SPARK_CONNECT_AUTHENTICATE_TOKEN"


class RunsAlready(FailedToConnectError):  # type: ignore[misc]
    """The resident Spark of the project runs or starts already."""


def start(
    credentials: SparkIvmCredentials,
    port: int | None = None,
    *,
    idle_minutes: float | None = None,
) -> Resident:
    """Start a project's resident Spark, and wait until it has opened its metastore.

    Args:
        credentials: of a target of the project, for its `master` and `server_side_parameters`.
        port: where to listen; without, the port of the profile's `host`, else any free one.
        idle_minutes: after how long without use it ends; without, it stays until it is stopped.

    Raises:
        RunsAlready: it runs, or another process starts it.
        FailedToConnectError: the port is taken, there is no suitable Java,
            another process has the metastore, or Spark does not start; with what to do.
    """
    if sys.platform == "win32":
        raise FailedToConnectError("A resident Spark needs Linux or macOS; on Windows use WSL.")
    folder = project_folder(credentials.project_root)
    prepare(folder)
    try:
        with resident.locked(folder) as state:
            port = port or _port_of(credentials)
            server = _start(credentials, port, folder, state, idle_minutes)
    except resident.AlreadyLocked:
        name = resident.holder(folder) or "The resident Spark"
        raise RunsAlready(f"{name} of this project runs or starts already.") from None
    if idle_minutes is not None:
        from dbt.adapters.sparkivm.server import idle  # not on Windows

        idle.watch(folder, idle_minutes)
    return server


def stop(folder: Path) -> bool:
    """Stop a project's resident Spark, and wait until it has ended.

    Args:
        folder: `.sparkivm` of the project.

    Returns:
        Whether there was one.
    """
    server = resident.find(folder)
    if server is None:
        if resident.is_locked(folder):
            raise FailedToConnectError("The resident Spark is just starting: try again.")
        return False
    from dbt.adapters.sparkivm.server import idle  # not on Windows

    # While the lock is held, the number is the server's own and nobody else's.
    if not idle.end_process(server.pid, lambda: resident.is_locked(folder)):
        raise FailedToConnectError(
            f"The resident Spark (process {server.pid}) goes on running though it was killed. "
            "End it by hand, or restart the machine."
        )
    resident.state_file(folder).unlink(missing_ok=True)
    return True


def fingerprint(credentials: SparkIvmCredentials) -> str:
    """What of a resident Spark only a restart can change, as a short text.

    Settings that each session sets for itself are none of it.
    """
    folder = project_folder(credentials.project_root)
    user = credentials.server_side_parameters
    settings = start_settings(credentials.master, user, folder, spark_defaults(os.environ))
    fixed = {key: value for key, value in settings.items() if is_of_the_whole(key)}
    what = (fixed, version("pyspark"), sys.executable, os.environ.get("JAVA_HOME"))
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:16]


def _start(
    credentials: SparkIvmCredentials,
    port: int | None,
    folder: Path,
    state: IO[bytes],
    idle_minutes: float | None,
) -> Resident:
    check_java()
    port = _listenable(port)
    user = credentials.server_side_parameters
    settings = start_settings(credentials.master, user, folder, spark_defaults(os.environ))
    if settings[CATALOG] == "hive":
        metastore.check_free(settings.get(METASTORE_URL, ""))
    launch.say_starting(settings, "a resident Spark")
    settings["spark.connect.grpc.binding.address"] = _LOOPBACK
    settings["spark.connect.grpc.binding.port"] = str(port)
    log = launch.log_file(folder / "server.log")
    begin = log.stat().st_size if log.exists() else 0
    token = settings.pop(TOKEN, None) or secrets.token_urlsafe(32)
    # In a file, as everybody on this machine can read a process's arguments.
    properties = folder / "server.conf"
    properties.unlink(missing_ok=True)
    with os.fdopen(os.open(properties, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(_java_properties(settings))
    try:
        with packages.one_at_a_time(settings):
            environment = _environment(settings, token)
            process = _launch(properties, environment, log, state)
            server = Resident(
                process.pid,
                port,
                token,
                tuple(user),
                fingerprint=fingerprint(credentials),
                idle_minutes=idle_minutes,
            )
            resident.write(state, server)
            try:
                _await_port(process, port, log, begin)
                with waiting(metastore.waiting_message(settings)):
                    _open_metastore(credentials, server)
                server = dataclasses.replace(server, ready=True)
                resident.write(state, server)
            except BaseException:
                process.terminate()
                process.wait()
                state.truncate(0)
                raise
    finally:
        properties.unlink(missing_ok=True)
    return server


def _environment(settings: Mapping[str, str], token: str) -> dict[str, str]:
    """The server's environment variables."""
    environment = {key: value for key, value in os.environ.items() if key not in _FOREIGN}
    environment[_TOKEN_VARIABLE] = token
    launch.name_python(settings, environment)
    return environment


def _launch(
    properties: Path, environment: Mapping[str, str], log: Path, state: IO[bytes]
) -> subprocess.Popen[bytes]:
    """Start the server's process, which inherits the lock on `state`."""
    submit = str(Path(_find_spark_home()) / "bin" / "spark-submit")
    with log.open("ab") as output:
        return subprocess.Popen(
            [submit, "--properties-file", str(properties), "--class", _CLASS, "spark-internal"],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            pass_fds=[state.fileno()],
            start_new_session=True,  # a Ctrl-C in this terminal is not for the server
        )


def _await_port(process: subprocess.Popen[bytes], port: int, log: Path, begin: int) -> None:
    """Wait until the server listens."""
    end = time.monotonic() + _START_TIMEOUT
    while time.monotonic() < end:
        if process.poll() is not None:
            raise FailedToConnectError(launch.start_failure(log, begin))
        try:
            socket.create_connection((_LOOPBACK, port), timeout=_POLL).close()
            return
        except OSError:
            time.sleep(_POLL)
    raise FailedToConnectError(
        f"The server does not answer after {_START_TIMEOUT:.0f} seconds.\nIts log: {log}"
    )


def _open_metastore(credentials: SparkIvmCredentials, server: Resident) -> None:
    """Make the server open its metastore now, not inside the first model."""
    client = dataclasses.replace(
        credentials, method=Method.CONNECT, host=server.url, token=server.token, resident=False
    )
    client.project_root = credentials.project_root
    session = connect.new_session(client)
    try:
        session.catalog.databaseExists("default")
    except Exception as error:
        raise FailedToConnectError(errors.explained(error)) from None
    finally:
        session.stop()


def _listenable(port: int | None) -> int:
    """A port of the loopback that nobody listens on: this one, or any."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_LOOPBACK, port or 0))
        except OSError as error:
            raise FailedToConnectError(
                f"Port {port} is taken ({error.strerror}): choose another by --port, or leave "
                "it and `host` in the profile out for any free one."
            ) from None
        return int(probe.getsockname()[1])


def _port_of(credentials: SparkIvmCredentials) -> int | None:
    """The port where the profile expects a server of this machine; None if it names none."""
    if not credentials.is_connect or credentials.host is None:
        return None
    host = urlsplit(credentials.host)
    if host.hostname not in connect.THIS_MACHINE:
        raise FailedToConnectError(
            f"The profile's host is {host.hostname}: a resident Spark runs on this machine. Leave "
            "`host` out, or make it sc://localhost:15002."
        )
    return host.port or connect.DEFAULT_PORT


def _java_properties(settings: Mapping[str, str]) -> str:
    """Settings as the text of a Java properties file (java.util.Properties.load)."""
    return "".join(
        f"{_escaped(key, key=True)}={_escaped(value)}\n" for key, value in settings.items()
    )


def _escaped(text: str, *, key: bool = False) -> str:
    for plain, escaped in (("\\", "\\\\"), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t")):
        text = text.replace(plain, escaped)
    if key:
        for special in " :=#!":
            text = text.replace(special, f"\\{special}")
    # Of a value only the beginning is special: blanks there would be skipped.
    return f"\\{text}" if text.startswith(" ") and not key else text
