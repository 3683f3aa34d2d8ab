"""Spark's standalone cluster on loopback, from the installed PySpark: a master and workers.

`python -m integration_tests.servers.cluster FOLDER` runs one until Ctrl-C, and says what to write
into a profile.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.find_spark_home import _find_spark_home

from integration_tests.servers.programs import HOST, await_start, free_port, stay

_MASTER = "org.apache.spark.deploy.master.Master"
_WORKER = "org.apache.spark.deploy.worker.Worker"
_PATIENCE = 120.0  # seconds


@dataclass
class Cluster:
    """A running cluster.

    Attributes:
        master: its URL, for a profile.
        workers: their processes; one may be killed.
    """

    master: str
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def kill_a_worker(self) -> None:
        """End a worker with its executors, as a machine that goes down."""
        worker = self.workers.pop()
        for executor in _children(worker.pid):
            os.kill(executor, 9)
        worker.kill()
        worker.wait()


@contextmanager
def running(folder: Path, workers: int = 2, memory: str = "1g") -> Generator[Cluster]:
    """Run a master and workers of one core each.

    Args:
        folder: for logs and what workers write; made if missing.
        workers: how many.
        memory: what executors may take of each worker, as `1g`.

    Raises:
        RuntimeError: one does not start; with the end of its log.
    """
    folder.mkdir(parents=True, exist_ok=True)
    port = free_port()
    started = [_start(folder, "master", _MASTER, "--port", str(port))]
    cluster = Cluster(f"spark://{HOST}:{port}")
    try:
        _await(folder / "master.log", "I have been elected leader", started[0])
        for number in range(workers):
            name, work = f"worker_{number}", folder / f"work_{number}"
            sizes = ("--cores", "1", "--memory", memory, "--work-dir", str(work))
            worker = _start(folder, name, _WORKER, *sizes, cluster.master)
            started.append(worker)
            cluster.workers.append(worker)
        for number, worker in enumerate(cluster.workers):
            _await(folder / f"worker_{number}.log", "Successfully registered with master", worker)
        yield cluster
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait()


def _start(folder: Path, name: str, java_class: str, *arguments: str) -> subprocess.Popen[bytes]:
    program = Path(_find_spark_home()) / "bin" / "spark-class"
    where = ("--host", HOST, "--webui-port", "0")
    with (folder / f"{name}.log").open("wb") as output:
        return subprocess.Popen(
            [str(program), java_class, *where, *arguments],
            cwd=folder,
            env={**os.environ, "SPARK_DAEMON_MEMORY": "256m", "PYSPARK_PYTHON": sys.executable},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )


def _await(log: Path, sign: str, process: subprocess.Popen[bytes]) -> None:
    await_start(log.stem, process, log, lambda: sign in log.read_text(), _PATIENCE)


def _children(pid: int) -> list[int]:
    """The processes that a process started, on Linux."""
    threads = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for file in threads for child in file.read_text().split()]


if __name__ == "__main__":
    with running(Path(sys.argv[1]).resolve()) as cluster:
        print(f"method: session, master: {cluster.master}")
        stay()
