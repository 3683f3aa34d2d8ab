"""Whole runs: `dbt run` in a fresh process, with a Spark of its own or a resident one."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.catalog import PROJECT, Change
from benchmarks.workspace import TARGETS, Workspace, target_path

MODEL = "q09"
CHANGE = Change("lineitem", 1)
RESIDENT = "resident"
"""The dbt target that maintains the models on a resident Spark."""
_DAYS = 3
"""How often a resident Spark is started, as at the first run of a day."""
_COLD_ROUNDS = 2
"""After a day's first two runs, in which more code is compiled; they are not counted."""


def run(folder: Path, scale: float, rounds: int) -> list[dict[str, Any]]:
    """Measure whole processes.

    Args:
        folder: a workspace's folder; no other process may use it.
        scale: TPC-H's scale factor.
        rounds: how often.

    Returns:
        The samples: a refresh, the same again with nothing to do, and a rebuild; the former two
        also on a resident Spark, by a day's first and second run and when its code is warm, beside
        a run of a project without models.
    """
    _child(folder, scale)
    for way in ("refresh", "table"):
        _dbt(folder, TARGETS[way], "--full-refresh")
    samples = []

    def measured(way: str, seconds: float) -> None:
        samples.append({"query": MODEL, "change": CHANGE.name, "way": way, "seconds": seconds})

    for number in range(rounds):
        _child(folder, scale)
        for way, target in (("refresh", "ivm"), ("noop", "ivm"), ("table", "table")):
            measured(way, _dbt(folder, target))
        print(f"cold round {number + 1}", flush=True)
    empty = _empty_project(folder / "empty")
    try:
        for number in range(_DAYS):
            _server(folder, "stop")
            _child(folder, scale)
            measured("resident: first run", _dbt(folder, RESIDENT))
            _change_by_the_resident(folder)
            measured("resident: second run", _dbt(folder, RESIDENT))
            measured("resident: noop after it", _dbt(folder, RESIDENT))
            print(f"resident day {number + 1}", flush=True)
        for number in range(_COLD_ROUNDS + rounds):
            _change_by_the_resident(folder)
            refresh, noop = _dbt(folder, RESIDENT), _dbt(folder, RESIDENT)
            if number >= _COLD_ROUNDS:
                measured("resident: refresh", refresh)
                measured("resident: noop", noop)
                measured("empty project", _run_dbt(empty, "run", "--target", RESIDENT))
            print(f"resident round {number + 1}", flush=True)
    finally:
        _server(folder, "stop")
    return samples


def change(folder: Path, scale: float) -> None:
    """Make the workspace if it is not there, and change it; keep which line was changed."""
    from benchmarks.changes import Changes

    changes = Changes(Workspace(folder, scale).sql)
    changes.apply(CHANGE)
    (folder / "line.json").write_text(json.dumps(changes.line))


def _child(folder: Path, scale: float) -> None:
    """`change` in a process of its own, for the metastore admits one at a time."""
    module = ["-m", "benchmarks", "--part", "change", "--scales", str(scale)]
    subprocess.run([sys.executable, *module, "--folder", str(folder)], check=True)


def _change_by_the_resident(folder: Path) -> None:
    """The same change by the resident Spark, which has the metastore: it costs it one `UPDATE`."""
    line = (folder / "line.json").read_text()
    operation = ("run-operation", "change_one_line", "--args", line, "--target", RESIDENT)
    _run_dbt(folder / "project", *operation)


def _dbt(folder: Path, target: str, *options: str) -> float:
    places = ["--target", target, "--target-path", target_path(target)]
    return _run_dbt(folder / "project", "run", *places, "--select", MODEL, *options)


def _run_dbt(project: Path, *arguments: str) -> float:
    """The seconds of a command of dbt."""
    places = ["--project-dir", str(project), "--profiles-dir", str(project)]
    began = time.perf_counter()
    subprocess.run([_command("dbt"), *arguments, *places], check=True, capture_output=True)
    return time.perf_counter() - began


def _server(folder: Path, action: str, *options: str) -> None:
    place = ["--project-dir", str(folder / "project")]
    command = [_command("dbt-sparkivm"), "server", action, *place, *options]
    subprocess.run(command, check=True, capture_output=True)


def _command(name: str) -> str:
    return str(Path(sys.executable).with_name(name))


def _empty_project(folder: Path) -> Path:
    """A project without models: what dbt itself needs for a run."""
    folder.mkdir(exist_ok=True)
    for file in ("dbt_project.yml", "profiles.yml"):
        shutil.copy(PROJECT / file, folder)
    return folder
