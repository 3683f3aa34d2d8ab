"""Where `cluster` measures: a standalone cluster of two workers on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dbt.adapters.sparkivm.connection.settings import start_settings
from integration_tests.servers.cluster import running

_EXECUTOR, _WORKER = "2g", "3g"


@contextmanager
def started(folder: Path) -> Iterator[dict[str, str]]:
    """Run a cluster.

    Args:
        folder: for what it writes, and for metastore and tables.

    Yields:
        The settings of a Spark whose executors are on it. The others are those that the adapter
        gives a Spark on one machine, so that the executors are all that differs.
    """
    with running(folder / "cluster", memory=_WORKER) as cluster:
        settings = start_settings("local[2]", {"spark.executor.memory": _EXECUTOR}, folder)
        yield {**settings, "spark.master": cluster.master, "spark.driver.host": "127.0.0.1"}
