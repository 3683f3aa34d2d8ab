"""Spark's own Thrift server, from the installed PySpark.

`python -m integration_tests.servers.thrift FOLDER` runs one until Ctrl-C, with warehouse and
metastore in that folder, and says what to write into a profile.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pyspark.find_spark_home import _find_spark_home

from dbt.adapters.sparkivm.connection.packages import ivy_folder, not_downloaded
from dbt.adapters.sparkivm.connection.settings import PACKAGES, prepare, start_settings

_CLASS = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"
_CLASS_PATH = "spark.driver.extraClassPath"
_NEEDS = {"io.delta": ("delta-storage",)}
"""Artifacts of the same version that those of a group need."""
_HOST = "127.0.0.1"
_PATIENCE = 300.0  # seconds; a first start downloads Delta's JAR
_POLL = 0.2


@contextmanager
def running(folder: Path, settings: Mapping[str, str]) -> Generator[int]:
    """Run a Thrift server.

    Args:
        folder: for warehouse, metastore and log; made if missing.
        settings: of Spark, beside those that `method: session` gives it.

    Yields:
        The port on this machine's loopback where it listens.

    Raises:
        RuntimeError: it does not start; with the end of its log.
    """
    prepare(folder)
    port = _free_port()
    log = folder / "thrift.log"
    options = start_settings(settings.get("spark.master", "local[2]"), settings, folder)
    path = [options.get(_CLASS_PATH), *jars(options.pop(PACKAGES), options)]
    options[_CLASS_PATH] = ":".join(filter(None, path))
    with log.open("ab") as output:
        server = subprocess.Popen(
            [
                _submit(),
                *(part for key, value in options.items() for part in ("--conf", f"{key}={value}")),
                *("--class", _CLASS, "spark-internal"),
                *("--hiveconf", f"hive.server2.thrift.port={port}"),
                *("--hiveconf", f"hive.server2.thrift.bind.host={_HOST}"),
            ],
            cwd=folder,
            env={**os.environ, "PYSPARK_PYTHON": sys.executable},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    try:
        _await_port(server, port, log)
        yield port
    finally:
        server.terminate()
        server.wait()


def _submit() -> str:
    return str(Path(_find_spark_home()) / "bin" / "spark-submit")


def jars(packages: str, options: Mapping[str, str]) -> list[str]:
    """The JARs of Delta and of other packages, for the class path.

    The server closes the loader of `spark.jars.packages` with the first session that it closes.
    """
    if not_downloaded(options | {PACKAGES: packages}):
        # Spark downloads them before it finds that there is no such class.
        nothing = ["--packages", packages, "--class", "no.such.Class", "spark-internal"]
        subprocess.run([_submit(), *nothing], check=False, capture_output=True)
    ivy = ivy_folder(options) / "jars"
    found: list[str] = []
    for group, artifact, version in (package.split(":") for package in packages.split(",")):
        needed = (artifact, *_NEEDS.get(group, ()))
        found += [str(ivy / f"{group}_{name}-{version}.jar") for name in needed]
    return found


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((_HOST, 0))
        return int(probe.getsockname()[1])


def _await_port(server: subprocess.Popen[bytes], port: int, log: Path) -> None:
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end and server.poll() is None:
        try:
            socket.create_connection((_HOST, port), timeout=_POLL).close()
            return
        except OSError:
            time.sleep(_POLL)
    raise RuntimeError(f"The Thrift server does not start: {log.read_text()[-2000:]}")


if __name__ == "__main__":
    with running(Path(sys.argv[1]).resolve(), {}) as listens:
        print(f"method: thrift, host: {_HOST}, port: {listens}, user: dbt")
        try:
            while True:
                time.sleep(3600)
        except KeyboardInterrupt:
            pass
