"""How long a refresh takes, against a full rebuild of the same model: `make bench`.

A number of rows of lineitem is updated, then dbt refreshes the models one after the other in this
one process; after the last round each model is rebuilt by ``--full-refresh`` as often. Times are
dbt's own execution times of a model, in a warm session. Ratios compare; seconds depend on the
machine. Written to ``benchmarks/results/`` as JSON and as a Markdown table.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections import defaultdict
from pathlib import Path

from demo.commands import Dbt
from integration_tests.tpch import load

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
TARGET = "bench"
SOURCES = "tpch_bench_sources"
MODELS = ("q01", "q03", "q05", "q09")


def main() -> None:
    """Run the benchmark as asked for on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="TPC-H's scale factor")
    parser.add_argument("--rounds", type=int, default=5, help="measurements of each figure")
    parser.add_argument("--rows", type=int, nargs="+", default=[1, 1_000, 60_000])
    given = parser.parse_args()
    session = load.session_of_profile(target=TARGET)
    folder = HERE / "data"
    load.generate(given.scale, folder)
    load.load(load.sql_of(session), folder, SOURCES)
    dbt = Dbt(load.PROJECT, TARGET, lambda model: None)
    chosen = ("--select", *MODELS)
    dbt.run("--full-refresh", *chosen)
    seconds: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for rows in given.rows:
        # One round more: the first one warms the code up and is not counted.
        for number in range(given.rounds + 1):
            changed = _update(session, rows, number)
            for model in dbt.run(*chosen).models.values():
                if model.strategy != "incremental":
                    raise SystemExit(f"{model.name} was not refreshed: {model.message}")
                if number:
                    seconds[model.name][f"{changed} rows"].append(model.seconds)
    for number in range(given.rounds + 1):
        for model in dbt.run("--full-refresh", *chosen).models.values():
            if number:
                seconds[model.name]["full"].append(model.seconds)
    _write(given.scale, seconds)


def _update(session: object, rows: int, number: int) -> int:
    """Update about so many rows of lineitem, whole orders at a time.

    Returns:
        How many rows were updated.
    """
    sql = load.sql_of(session)
    first = f"select l_orderkey from {SOURCES}.lineitem order by l_orderkey limit {rows}"
    last = sql(f"select max(l_orderkey) from ({first})")[0][0]
    condition = f"l_orderkey <= {last}" if rows > 1 else f"l_orderkey = {last} and l_linenumber = 1"
    (found,) = sql(
        f"update {SOURCES}.lineitem set l_quantity = l_quantity + {1 if number % 2 else -1}, "
        f"l_extendedprice = l_extendedprice + {1 if number % 2 else -1} where {condition}"
    )
    return int(found[0])


def _write(scale: float, seconds: dict[str, dict[str, list[float]]]) -> None:
    RESULTS.mkdir(exist_ok=True)
    measured = {"scale": scale, "seconds": {m: dict(times) for m, times in seconds.items()}}
    (RESULTS / f"refresh-sf{scale:g}.json").write_text(json.dumps(measured, indent=2) + "\n")
    changes = [name for name in next(iter(seconds.values())) if name != "full"]
    lines = [
        f"Medians (and spread) in seconds at scale factor {scale:g}; full ÷ refresh in brackets.",
        "",
        "| model | full | " + " | ".join(changes) + " |",
        "|---" * (len(changes) + 2) + "|",
    ]
    for model, times in seconds.items():
        full = statistics.median(times["full"])
        cells = [
            f"{_shown(times[name])} [{full / statistics.median(times[name]):.1f}]"
            for name in changes
        ]
        lines.append(f"| {model} | {_shown(times['full'])} | " + " | ".join(cells) + " |")
    text = "\n".join(lines) + "\n"
    (RESULTS / f"refresh-sf{scale:g}.md").write_text(text)
    print(text)


def _shown(times: list[float]) -> str:
    return f"{statistics.median(times):.2f} ({min(times):.2f}-{max(times):.2f})"


if __name__ == "__main__":
    main()
