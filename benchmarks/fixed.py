"""What a refresh takes at least: beside a `MERGE` that changes nothing, and a model without work.

After one order each query of TPC-H is refreshed. Right after that two `MERGE`s run on a shallow
clone of its state: an empty one, and one by hand that updates one row. Then the query is refreshed
with nothing to do, and dbt runs a model that does nothing at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.catalog import OrdersChange
from benchmarks.least_merges import LeastMerges
from benchmarks.orders import OrdersChanges
from benchmarks.ratios import in_turn
from benchmarks.workspace import Workspace

CHANGE = OrdersChange("mixed", 0.0)
IDLE = "idle"
"""The model that does nothing."""
_WARM_UP = 3


def run(
    workspace: Workspace, models: Sequence[str], orders: OrdersChanges, rounds: int
) -> Iterator[list[dict[str, Any]]]:
    """Measure.

    Args:
        workspace: where.
        models: which, by the names of their models.
        orders: changes what they read.
        rounds: how often, after a few that are not counted.

    Yields:
        All samples so far, after each round.

    Raises:
        SystemExit: a model had something to do where nothing had changed.
    """
    workspace.run("refresh", "--full-refresh", "--select", *models)
    samples: list[dict[str, Any]] = []
    least = LeastMerges(workspace)
    ways = ("idle", "change")
    for number in range(_WARM_UP + rounds):
        orders.apply(CHANGE)
        found = [
            sample
            for turn, name in enumerate(models, number)
            for way in in_turn(turn, ways)
            for sample in (
                _idle(workspace, name) if way == "idle" else _change(workspace, least, name)
            )
        ]
        if number >= _WARM_UP:
            samples += found
            print(f"round {number - _WARM_UP + 1}", flush=True)
            yield samples


def _idle(workspace: Workspace, name: str) -> list[dict[str, Any]]:
    return [_sample(name, "dbt alone", workspace.model("table", IDLE).seconds)]


def _change(workspace: Workspace, least: LeastMerges, name: str) -> list[dict[str, Any]]:
    refresh = workspace.model("refresh", name)
    empty, one_row = least.empty(name), least.one_row(name)
    noop = workspace.model("refresh", name)
    assert refresh.run is not None and noop.run is not None
    if noop.run.models[name].strategy != "noop":
        raise SystemExit(f"{name} had something to do: {noop.run.models[name].message}")
    of_refresh = {"strategy": refresh.run.models[name].strategy, "parts": refresh.parts(name)}
    return [
        {**_sample(name, "refresh", refresh.seconds), **of_refresh},
        _sample(name, "empty", empty.seconds),
        _sample(name, "one row", one_row.seconds),
        {**_sample(name, "noop", noop.seconds), "parts": noop.parts(name)},
    ]


def _sample(name: str, way: str, seconds: float) -> dict[str, Any]:
    return {"query": name.partition("_")[2], "change": CHANGE.name, "way": way, "seconds": seconds}
