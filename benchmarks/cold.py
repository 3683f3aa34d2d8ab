"""Cold runs: `dbt run` of one model in a fresh process, Spark's start and all."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.catalog import Change
from benchmarks.workspace import TARGETS, Workspace, target_path

MODEL = "q09"
CHANGE = Change("lineitem", 1)


def run(folder: Path, scale: float, rounds: int) -> list[dict[str, Any]]:
    """Measure whole processes.

    Args:
        folder: a workspace's folder; no other process may use it.
        scale: TPC-H's scale factor.
        rounds: how often.

    Returns:
        The samples: a refresh, the same again with nothing to do, and a rebuild.
    """
    _child(folder, scale)
    for way in ("refresh", "table"):
        _dbt(folder, TARGETS[way], "--full-refresh")
    samples = []
    for number in range(rounds):
        _child(folder, scale)
        for way, target in (("refresh", "ivm"), ("noop", "ivm"), ("table", "table")):
            seconds = _dbt(folder, target)
            samples.append({"query": MODEL, "change": CHANGE.name, "way": way, "seconds": seconds})
        print(f"cold round {number + 1}", flush=True)
    return samples


def change(folder: Path, scale: float) -> None:
    """Make the workspace if it is not there, and change it."""
    from benchmarks.changes import Changes

    Changes(Workspace(folder, scale).sql).apply(CHANGE)


def _child(folder: Path, scale: float) -> None:
    """`change` in a process of its own, for the metastore admits one at a time."""
    module = ["-m", "benchmarks", "--part", "change", "--scales", str(scale)]
    subprocess.run([sys.executable, *module, "--folder", str(folder)], check=True)


def _dbt(folder: Path, target: str, *options: str) -> float:
    project = str(folder / "project")
    command = [str(Path(sys.executable).with_name("dbt")), "run", "--target", target]
    places = ["--project-dir", project, "--profiles-dir", project]
    places += ["--target-path", target_path(target)]
    began = time.perf_counter()
    subprocess.run(
        [*command, *places, "--select", MODEL, *options], check=True, capture_output=True
    )
    return time.perf_counter() - began
