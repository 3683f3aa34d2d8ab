"""Runs dbt's commands in this process, so that Spark starts once and times compare."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from dbt.cli.main import dbtRunner


class DbtFailed(RuntimeError):
    """A command failed; its text has the errors of the nodes, or dbt's own."""


def run_dbt(
    project: Path,
    arguments: Sequence[str],
    told: Callable[[Any], None] = lambda event: None,
) -> list[Any]:
    """Run a command, and give the results of its nodes; dbt itself prints nothing.

    Args:
        project: The project's folder, with its `profiles.yml`.
        arguments: The command and its options.
        told: Is told each of dbt's events.

    Raises:
        DbtFailed: It failed.
    """
    folder = str(project)
    places = ["--project-dir", folder, "--profiles-dir", folder]
    quiet = ["--log-level", "none", "--log-path", str(project / "logs")]
    outcome = dbtRunner(callbacks=[told]).invoke([*quiet, *arguments, *places])
    results = list(outcome.result.results) if hasattr(outcome.result, "results") else []
    if not outcome.success:
        failed = [f"{r.node.name}: {r.message}" for r in results if r.status in ("error", "fail")]
        raise DbtFailed("\n".join(failed) or str(outcome.exception))
    return results
