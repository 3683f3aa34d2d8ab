"""What the advice on a table's layout gains: refreshes before and after it was taken.

`ivm_explain` says by which column a large table would best be clustered, and gives the statements.
They are run as they stand there, and the same queries are measured again after the same changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from benchmarks.catalog import Change, Query
from benchmarks.queries import Queries
from benchmarks.workspace import TARGETS, Workspace
from integration_tests.commands import run_dbt

LAYOUTS = ("as loaded", "clustered")


def run(
    workspace: Workspace, queries: Sequence[Query], changes: Sequence[Change], rounds: int
) -> Iterator[list[dict[str, Any]]]:
    """Measure.

    Args:
        workspace: where.
        queries: which.
        changes: under which changes, of those that the queries have.
        rounds: how often; one round more comes first and is not counted.

    Yields:
        All samples so far, after each change.

    Raises:
        SystemExit: a result is wrong, or there is no advice.
    """
    plain = [replace(query, floor={}) for query in queries]
    samples: list[dict[str, Any]] = []
    for layout in LAYOUTS:
        if layout != LAYOUTS[0]:
            for statement in _advice(workspace, plain):
                print(statement, flush=True)
                workspace.sql(statement)
        measuring = Queries(workspace, plain, changes, rounds, stock=False)
        for _ in measuring.run():
            yield samples + [sample | {"layout": layout} for sample in measuring.samples]
        samples += [sample | {"layout": layout} for sample in measuring.samples]


def _advice(workspace: Workspace, queries: Sequence[Query]) -> list[str]:
    """The statements that `ivm_explain` of these models advises, each table's once."""
    lines: list[str] = []

    def told(event: Any) -> None:
        if event.info.name == "PrintEvent":
            lines.extend(line.strip() for line in event.data.msg.splitlines())

    for query in queries:
        what = ["ivm_explain", "--args", f"{{model: {query.name}}}"]
        run_dbt(workspace.project, ["run-operation", *what, "--target", TARGETS["refresh"]], told)
    advised = dict.fromkeys(line for line in lines if " CLUSTER BY " in line)
    if not advised:
        raise SystemExit("No table of these queries would gain by another layout")
    return [statement for line in advised for statement in line.split("; ")]
