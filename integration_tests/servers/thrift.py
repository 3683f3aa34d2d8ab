"""Spark's own Thrift server, from the installed PySpark.

`python -m integration_tests.servers.thrift FOLDER` runs one until Ctrl-C, with warehouse and
metastore in that folder, and says what to write into a profile.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pyspark.find_spark_home import _find_spark_home

from dbt.adapters.sparkivm.connection.packages import ivy_folder, not_downloaded
from dbt.adapters.sparkivm.connection.settings import PACKAGES, prepare, start_settings
from integration_tests.servers.programs import HOST, await_start, free_port, stay

_CLASS = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"
CLASS_PATH = "spark.driver.extraClassPath"
_NEEDS = {"io.delta": ("delta-storage",)}
"""Artifacts of the same version that those of a group need."""
_PATIENCE = 300.0  # seconds; a first start downloads Delta's JAR


@contextmanager
def running(
    folder: Path, settings: Mapping[str, str], http_path: str | None = None
) -> Generator[int]:
    """Run a Thrift server.

    Args:
        folder: for warehouse, metastore and log; made if missing.
        settings: of Spark, beside those that `method: session` gives it.
        http_path: where it speaks HTTP; without, it speaks Thrift's own protocol.

    Yields:
        The port on this machine's loopback where it listens.

    Raises:
        RuntimeError: it does not start; with the end of its log.
    """
    prepare(folder)
    port = free_port()
    log = folder / "thrift.log"
    options = start_settings(settings.get("spark.master", "local[2]"), settings, folder)
    path = [options.get(CLASS_PATH), *jars(options.pop(PACKAGES), options)]
    options[CLASS_PATH] = ":".join(filter(None, path))
    with log.open("ab") as output:
        server = subprocess.Popen(
            [
                _submit(),
                *(part for key, value in options.items() for part in ("--conf", f"{key}={value}")),
                *("--class", _CLASS, "spark-internal"),
                *(part for pair in _transport(port, http_path) for part in ("--hiveconf", pair)),
            ],
            cwd=folder,
            env={**os.environ, "PYSPARK_PYTHON": sys.executable},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    try:
        await_start("The Thrift server", server, log, lambda: _listens(port), _PATIENCE)
        yield port
    finally:
        server.terminate()
        server.wait()


def _transport(port: int, http_path: str | None) -> tuple[str, ...]:
    """Hive's settings of how the server is reached."""
    host = f"hive.server2.thrift.bind.host={HOST}"
    if http_path is None:
        return host, f"hive.server2.thrift.port={port}"
    return (
        host,
        "hive.server2.transport.mode=http",
        f"hive.server2.thrift.http.port={port}",
        f"hive.server2.thrift.http.path={http_path}",
    )


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


def _listens(port: int) -> bool:
    try:
        socket.create_connection((HOST, port), timeout=1).close()
    except OSError:
        return False
    return True


if __name__ == "__main__":
    with running(Path(sys.argv[1]).resolve(), {}) as listens:
        print(f"method: thrift, host: {HOST}, port: {listens}, user: dbt")
        stay()
