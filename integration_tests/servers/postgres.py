"""A PostgreSQL for Hive's metastore tables, so that several Sparks share one catalog.

`python -m integration_tests.servers.postgres` runs one until Ctrl-C, and says what to write into a
profile. It takes the programs on the PATH, or those of Debian's package postgresql.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pyspark.find_spark_home import _find_spark_home

from integration_tests.servers.programs import HOST, await_start, free_port, stay
from integration_tests.servers.thrift import jars

DRIVER = "org.postgresql:postgresql:42.7.4"
_JDO = "spark.hadoop.javax.jdo.option."
_NAMING = {
    "javax.jdo.PersistenceManagerFactoryClass": (
        "org.datanucleus.api.jdo.JDOPersistenceManagerFactory"
    ),
    "datanucleus.identifierFactory": "datanucleus1",
    "datanucleus.rdbms.useLegacyNativeValueStrategy": "true",
    "datanucleus.plugin.pluginRegistryBundleCheck": "LOG",
}
"""How Hive has its tables and columns named."""
_USER = "postgres"
_PATIENCE = 60.0  # seconds


class MissingPostgres(RuntimeError):
    """There is no PostgreSQL here."""


@contextmanager
def running() -> Generator[dict[str, str]]:
    """Run a PostgreSQL server with an empty database for the metastore, gone when it ends.

    Yields:
        Spark's settings, with which its catalog is there.

    Raises:
        MissingPostgres: no PostgreSQL is installed.
        RuntimeError: it does not start; with the end of its log.
    """
    with tempfile.TemporaryDirectory(prefix="postgres-") as made:
        yield from _running(Path(made))


def _running(folder: Path) -> Generator[dict[str, str]]:
    data, log = folder / "data", folder / "postgres.log"
    as_user = _unprivileged(folder)
    begin = [_program("initdb"), "--auth=trust", f"--username={_USER}", f"--pgdata={data}"]
    subprocess.run([*as_user, *begin], check=True, capture_output=True)
    port = free_port()
    options = ("-c", f"listen_addresses={HOST}", "-c", "unix_socket_directories=")
    with log.open("ab") as output:
        server = subprocess.Popen(
            [*as_user, _program("postgres"), "-D", str(data), "-p", str(port), *options],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
    try:
        await_start("PostgreSQL", server, log, lambda: _answers(port), _PATIENCE)
        _make_tables(folder, settings(port))
        yield settings(port)
    finally:
        server.terminate()
        server.wait()


def settings(port: int) -> dict[str, str]:
    """Spark's settings for a metastore in the database of this port."""
    return {
        f"{_JDO}ConnectionURL": f"jdbc:postgresql://{HOST}:{port}/postgres",
        f"{_JDO}ConnectionDriverName": "org.postgresql.Driver",
        f"{_JDO}ConnectionUserName": _USER,
        f"{_JDO}ConnectionPassword": "unused",
        # Who made the tables wrote no version of them down.
        "spark.hadoop.hive.metastore.schema.verification": "false",
        # Hive's client does not see what `spark.jars.packages` brings.
        "spark.driver.extraClassPath": ":".join(jars(DRIVER, {})),
    }


def _make_tables(folder: Path, told: Mapping[str, str]) -> None:
    """Make Hive's tables, as its package has them declared.

    Hive can make each at the first need, but waits for itself then: one of its connections alters a
    table into which the other has just written. In production its `schematool` makes them.
    """
    spark = Path(_find_spark_home()) / "jars"
    (declared,) = spark.glob("hive-metastore-*.jar")
    with zipfile.ZipFile(declared) as archive:
        archive.extract("package.jdo", folder)
    mine = {key.removeprefix("spark.hadoop."): value for key, value in told.items()}
    properties = _NAMING | {k: v for k, v in mine.items() if k.startswith("javax.jdo.")}
    file = folder / "jdo.properties"
    file.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))
    path = ":".join([f"{spark}/*", *jars(DRIVER, {}), str(folder)])
    tool = ["java", "-cp", path, "org.datanucleus.store.schema.SchemaTool", "-create"]
    subprocess.run(
        [*tool, "-api", "JDO", "-props", str(file), str(folder / "package.jdo")],
        check=True,
        capture_output=True,
    )


def _program(name: str) -> str:
    """The path of a program of PostgreSQL; Debian keeps them off the PATH."""
    debian = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    found = shutil.which(name) or (str(debian[-1]) if debian else None)
    if found is None:
        raise MissingPostgres(f"There is no {name}: apt-get install postgresql")
    return found


def _unprivileged(folder: Path) -> list[str]:
    """What runs a command as another user than root, as which PostgreSQL does not start."""
    if os.geteuid() != 0:
        return []
    account = pwd.getpwnam(_USER)
    shutil.chown(folder, account.pw_uid, account.pw_gid)
    return ["setpriv", f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--clear-groups"]


def _answers(port: int) -> bool:
    ready = [_program("pg_isready"), "-q", "-h", HOST, "-p", str(port)]
    return subprocess.run(ready, check=False).returncode == 0


if __name__ == "__main__":
    with running() as told:
        print("server_side_parameters:", *(f"  {k}: {v}" for k, v in told.items()), sep="\n")
        stay()
