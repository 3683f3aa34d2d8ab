"""A state about as large as its source: what a refresh reads of it, by how it is laid out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from functools import partial
from typing import Any

from benchmarks.changes import SOURCES
from benchmarks.workspace import Data, Workspace
from integration_tests.tpch import load

LINES = Data(SOURCES, partial(load.generate, tables=("lineitem",)))
"""The only table."""
MODELS = ("order_parts", "order_parts_clustered")
_LINEITEM = f"{SOURCES}.lineitem"
_KEYS = 100


def run(workspace: Workspace, rounds: int) -> Iterator[list[dict[str, Any]]]:
    """Measure refreshes of a hundred groups, near ones and ones from everywhere.

    Args:
        workspace: where, with :data:`LINES`.
        rounds: how often; one round more comes first and is not counted.

    Yields:
        All samples so far, after each change.

    Raises:
        SystemExit: a view is wrong afterwards.
    """
    sql = workspace.sql
    # Else each change, which is not measured, would copy the whole table.
    sql(f"alter table {_LINEITEM} set tblproperties (delta.enableDeletionVectors = true)")
    samples = [_built(workspace, model) for model in MODELS]
    samples.append(_rebuilt(workspace))
    yield samples
    for change, condition in _changes(workspace).items():
        for number in range(rounds + 1):
            sign = "-" if number % 2 else "+"
            updated = f"update {_LINEITEM} set l_quantity = l_quantity {sign} 1 where {condition}"
            (found,) = sql(updated)
            for model in MODELS if number % 2 else reversed(MODELS):
                measured = workspace.model("refresh", model)
                (commit,) = sql(f"describe history bench_ivm.{model}__ivm_state limit 1")
                sample = {
                    "query": model,
                    "change": change,
                    "rows": int(found[0]),
                    "way": "refresh",
                    "seconds": measured.seconds,
                    "work": asdict(measured.work),
                    "scan": int(commit["operationMetrics"].get("scanTimeMs", 0)) / 1000,
                }
                samples += [sample] if number else []
        print(change, flush=True)
        yield samples
    samples.append(_rebuilt(workspace))
    for model in MODELS:
        one, other = f"bench_table.{MODELS[0]}", f"bench_ivm.{model}"
        if workspace.differ(f"select * from {one}", f"select * from {other}"):
            raise SystemExit(f"{model} is wrong")
    yield samples


def _built(workspace: Workspace, model: str) -> dict[str, Any]:
    measured = workspace.model("refresh", model, "--full-refresh")
    state = f"bench_ivm.{model}__ivm_state"
    (detail,) = workspace.sql(f"describe detail {state}")
    (rows,) = workspace.sql(f"select count(*) from {state}")
    print(f"{model}: built", flush=True)
    return {
        "query": model,
        "way": "build",
        "seconds": measured.seconds,
        "state": {
            "rows": rows[0],
            "files": detail["numFiles"],
            "bytes": detail["sizeInBytes"],
        },
    }


def _rebuilt(workspace: Workspace) -> dict[str, Any]:
    seconds = workspace.model("table", MODELS[0]).seconds
    return {"query": MODELS[0], "way": "table", "seconds": seconds}


def _changes(workspace: Workspace) -> dict[str, str]:
    """Conditions on the lines of some hundred groups."""
    newest = workspace.sql(
        f"select min(l_orderkey) from (select l_orderkey from {_LINEITEM} order by 1 desc "
        f"limit {_KEYS})"
    )[0][0]
    every = workspace.sql(f"select max(l_orderkey) from {_LINEITEM}")[0][0] // (32 * _KEYS)
    # Of 32 keys in a row TPC-H uses the first eight.
    spread = ", ".join(str(1 + 32 * every * number) for number in range(_KEYS))
    return {
        "the newest orders": f"l_orderkey >= {newest}",
        "orders from everywhere": f"l_orderkey in ({spread}) and l_linenumber = 1",
    }
