"""Where `thrift` measures: dbt reaches the Spark of this process by a Thrift server in it.

The benchmark's own statements use the session as ever, so that the way there is all that differs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from benchmarks.workspace import Workspace
from dbt.adapters.sparkivm.connection.settings import PACKAGES, start_settings
from integration_tests.servers.programs import HOST, free_port
from integration_tests.servers.thrift import CLASS_PATH, jars

_PORT = "hive.server2.thrift.port"


def settings(folder: Path) -> dict[str, str]:
    """What Spark's session is to be started with.

    A server's session that ends closes the loader of `spark.jars.packages`: Delta has to lie on the
    class path.
    """
    options = start_settings("local[2]", {}, folder)
    return {
        CLASS_PATH: ":".join(jars(options[PACKAGES], options)),
        f"spark.hadoop.{_PORT}": str(free_port()),
        "spark.hadoop.hive.server2.thrift.bind.host": HOST,
    }


@contextmanager
def served(workspace: Workspace) -> Iterator[None]:
    """Serve a workspace's session of these settings; all targets of its profile reach it so."""
    context = workspace.session.sparkContext
    server = context._jvm.org.apache.spark.sql.hive.thriftserver.HiveThriftServer2
    started = server.startWithSparkSession(workspace.session._jsparkSession, False)
    place = {"host": HOST, "port": context._jsc.hadoopConfiguration().getInt(_PORT, 0)}
    profiles = workspace.project / "profiles.yml"
    read = yaml.safe_load(profiles.read_text())
    for target in read["benchmark"]["outputs"].values():
        target.pop("server_side_parameters", None)
        target |= {"method": "thrift", "user": "dbt", **place}
    profiles.write_text(yaml.safe_dump(read, sort_keys=False))
    try:
        yield
    finally:
        started.stop()
