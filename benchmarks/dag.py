"""The second benchmark: a whole `dbt run` of twenty models, stacked four deep."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from benchmarks.catalog import PROJECT, Change
from benchmarks.changes import SOURCES, Changes
from benchmarks.least_merges import LeastMerges
from benchmarks.workspace import TARGETS, Workspace

MODELS = sorted(path.stem for path in (PROJECT / "models" / "dag").glob("*.sql"))


def run(
    workspace: Workspace, rounds: int, threads: int, shares: Sequence[float], stock: bool
) -> Iterator[list[dict[str, Any]]]:
    """Measure whole warm runs after changes of a share of lineitem.

    Args:
        workspace: where.
        rounds: how often; one round more comes first and is not counted.
        threads: dbt's threads.
        shares: what is changed of lineitem; 1 is all of it.
        stock: whether dbt's own ``incremental`` is measured, too.

    Yields:
        All samples so far, after each share.

    Raises:
        SystemExit: a model is wrong afterwards.
    """
    changes = Changes(workspace.sql)
    samples: list[dict[str, Any]] = []
    dag = ("--select", "dag", "--threads", str(threads))
    lines = workspace.sql(f"select count(*) from {SOURCES}.lineitem")[0][0]
    ways = ["refresh", "stock", "table"] if stock else ["refresh", "table"]
    least = LeastMerges(workspace)
    written: list[str] = []
    for way in ways:
        workspace.dbt(way, "--full-refresh", *dag)
    for share in shares:
        change = Change("lineitem", max(2, round(lines * share)))
        for number in range(rounds + 1):
            applied = changes.apply(change)
            turn = number % len(ways)
            for way in ways[turn:] + ways[:turn]:
                measured = workspace.dbt(way, *dag)
                assert measured.run is not None
                if way == "refresh":
                    written = [
                        model.name
                        for model in measured.run.models.values()
                        if model.strategy in ("incremental", "recompute")
                    ]
                if number:
                    samples.append(
                        {
                            "change": f"{share:.2%} of lineitem",
                            "rows": applied.rows,
                            "way": way,
                            "seconds": measured.seconds,
                            "work": asdict(measured.work),
                            "models": {m.name: m.seconds for m in measured.run.models.values()},
                            "strategies": sorted({m.strategy for m in measured.run.models.values()})
                            if way == "refresh"
                            else [],
                        }
                    )
            if number:
                samples.append(
                    {
                        "change": f"{share:.2%} of lineitem",
                        "rows": applied.rows,
                        **_one_row_merges(least, written),
                    }
                )
        _check(workspace, [way for way in ways if way != "table"])
        print(f"{share:.2%} of lineitem: {len(MODELS)} models", flush=True)
        yield samples


def _one_row_merges(least: LeastMerges, models: Sequence[str]) -> dict[str, Any]:
    """What a run would take at least: a `MERGE` by hand of one row into each state."""
    measured = {model: least.one_row(model) for model in models}
    return {
        "way": "one row",
        "seconds": sum(each.seconds for each in measured.values()),
        "work": {"cpu_seconds": sum(each.work.cpu_seconds for each in measured.values())},
        "models": {model: each.seconds for model, each in measured.items()},
    }


def _check(workspace: Workspace, ways: Sequence[str]) -> None:
    for model in MODELS:
        truth = f"select * from bench_table.{model}"
        for way in ways:
            if workspace.differ(truth, f"select * from bench_{TARGETS[way]}.{model}"):
                raise SystemExit(f"{model} by {way} is wrong")
