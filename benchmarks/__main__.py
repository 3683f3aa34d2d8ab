"""The benchmarks' command: `make bench ARGS='--scales 1 --only q09'`.

Each benchmark of each scale runs in a process of its own, in a folder outside the project that is
removed afterwards. What is measured, and how: `docs/benchmarks/README.md`.
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks import report
from benchmarks.catalog import (
    CHANGES,
    KINDS,
    QUERIES,
    RATIOS,
    SHARES,
    Change,
    Query,
    orders_changes,
)
from benchmarks.figures import beside, each_under_each
from benchmarks.large import large_page
from benchmarks.models import ALL_OF_TPCDS, ALL_OF_TPCH
from dbt.adapters.sparkivm.connection.delta_jar import delta_package

Found = dict[str, Any]
Samples = Sequence[Mapping[str, Any]]

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "benchmarks"
PARTS = (
    *("queries", "dag", "cold", "state", "fixed", "layout"),
    *("ratios", "cluster", "thrift", "tpcds"),
)
"""The last four are ratios, of other data or on another Spark."""

_OWN_DATA = ("cluster", "layout", "state", "thrift", "tpcds")
"""Parts with other data than the rest, or that change how it lies or which Spark has it."""


def main() -> None:
    """Measure what is asked for on the command line, and write the results."""
    given = _arguments()
    if given.part:
        _measure(given, given.part, given.scales[0])
        return
    if given.temporary is not None:
        given.temporary.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="sparkivm-bench-", dir=given.temporary) as place:
        for scale in given.scales:
            for part in given.parts:
                data = part if part in _OWN_DATA else "tpch"
                _child(given, part, scale, Path(place) / f"{data}-sf{scale:g}")
    _compare_scales(given.results)


def _compare_scales(results: Path) -> None:
    """Compare the results of all scales that were measured, now or before."""
    found = report.read_all(results, "queries")
    if len(found) > 1:
        samples = {result["scale"]: result["samples"] for result in found}
        (results / "scales.md").write_text(report.scales_page(samples))
    both = [report.read(results, "queries", scale) for scale in (1, 10)]
    if all(both):
        small, large = (found["samples"] for found in both)
        (results / "large.md").write_text(large_page(small, large))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchmarks", description=__doc__)
    measured = {query.name for query in QUERIES}
    names = sorted(measured.union(ALL_OF_TPCH, ALL_OF_TPCDS))
    changes = [change.option for change in CHANGES]
    add = parser.add_argument
    add("parts", nargs="*", metavar="PART", default=["queries"], help=f"of {', '.join(PARTS)}")
    add("--scales", nargs="+", type=float, default=[1.0], help="scale factors")
    add("--rounds", type=int, default=5, help="measurements of each figure")
    add("--only", nargs="+", choices=names, default=names, metavar="QUERY", help="these queries")
    add("--changes", nargs="+", choices=changes, default=changes, metavar="CHANGE")
    add(
        "--add",
        action="store_true",
        help="keep the results of other queries and changes; in `queries` and the ratios",
    )
    add("--results", type=Path, default=RESULTS, help="where the results go")
    add("--shares", nargs="+", type=float, default=SHARES, help="of lineitem, changed in `dag`")
    add(
        "--ratios",
        nargs="+",
        type=float,
        default=RATIOS,
        help="of orders, changed in the ratios: `ratios`, `cluster`, `thrift`, `tpcds`",
    )
    add("--kinds", nargs="+", choices=KINDS, default=KINDS, help="of the changes of orders")
    add("--threads", type=int, default=1, help="dbt's threads in `dag`")
    add("--without-stock", action="store_true", help="without dbt's incremental")
    add(
        "--without-following",
        action="store_true",
        help="in the ratios: only as a refresh chooses, and the rebuild",
    )
    add(
        "--without-first",
        action="store_true",
        help="in the same: the first time of each change counts, as it does at large scales",
    )
    add(
        "--noise",
        action="store_true",
        help="in the same: the rebuild twice, which tells how much of a difference is noise",
    )
    add("--temporary", type=Path, help="where the temporary folder goes")
    add("--folder", type=Path, help=argparse.SUPPRESS)
    add("--part", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if find_spec("matplotlib") is None:  # or the first plot, after an hour, would tell
        parser.error("what measures and plots is missing: run `make bench`, which installs it")
    if unknown := set(given.parts) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    if not given.part and "queries" in given.parts and not measured.intersection(given.only):
        parser.error(f"`queries` has none of these; it has {', '.join(sorted(measured))}")
    return given


def _child(given: argparse.Namespace, part: str, scale: float, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "benchmarks", *sys.argv[1:], "--scales", str(scale)]
    command += ["--part", part, "--folder", str(folder), "--results", str(given.results.resolve())]
    subprocess.run(command, check=True, cwd=ROOT)


def _measure(given: argparse.Namespace, part: str, scale: float) -> None:
    if part == "change":
        from benchmarks import cold

        cold.change(given.folder, scale)
        return
    found: dict[str, Any] = {"machine": _machine(), "scale": scale, "rounds": given.rounds}
    if part == "dag":
        found["machine"]["threads of dbt"] = given.threads
    for samples in _MEASURES.get(part, _ratios)(given, part, scale, found):
        found["samples"] = samples  # hours at large scales: what is measured is kept
        report.write(given.results, part, scale, found)


def _cold(given: argparse.Namespace, part: str, scale: float, found: Found) -> Iterator[Samples]:
    from benchmarks import cold

    yield cold.run(given.folder, scale, given.rounds)


def _state(given: argparse.Namespace, part: str, scale: float, found: Found) -> Iterator[Samples]:
    from benchmarks import large_state
    from benchmarks.workspace import Workspace

    yield from large_state.run(Workspace(given.folder, scale, large_state.LINES), given.rounds)


def _fixed(given: argparse.Namespace, part: str, scale: float, found: Found) -> Iterator[Samples]:
    from benchmarks import fixed, models, orders
    from benchmarks.workspace import Workspace

    place = Workspace(given.folder, scale)
    names = [name for name in models.write_all_of_tpch(place.project) if _is_asked(given, name)]
    changing = orders.OrdersChanges(place.sql, place.schema, orders.OF_TPCH)
    yield from fixed.run(place, names, changing, given.rounds)


def _dag(given: argparse.Namespace, part: str, scale: float, found: Found) -> Iterator[Samples]:
    from benchmarks import dag
    from benchmarks.workspace import Workspace

    place, stock = Workspace(given.folder, scale), not given.without_stock
    yield from dag.run(place, given.rounds, given.threads, given.shares, stock)


def _layout(given: argparse.Namespace, part: str, scale: float, found: Found) -> Iterator[Samples]:
    from benchmarks import layout
    from benchmarks.workspace import Workspace

    place = Workspace(given.folder, scale)
    yield from layout.run(place, *_queries_and_changes(given), given.rounds)


def _ratios(given: argparse.Namespace, part: str, scale: float, found: Found) -> Iterator[Samples]:
    from benchmarks import cluster, models, orders, thrift
    from benchmarks.ratios import AGAIN, SETTINGS, WAYS, Ratios
    from benchmarks.workspace import TPCH, Data, Workspace
    from integration_tests.tpcds.load import generate

    tpcds = part == "tpcds"
    data = Data("bench_tpcds", generate) if tpcds else TPCH
    write = models.write_all_of_tpcds if tpcds else models.write_all_of_tpch
    ways = ["refresh", "table"] if given.without_following else [*WAYS]
    ways += [AGAIN] if given.noise else []
    known = orders_changes(sorted({*RATIOS, *given.ratios}))
    order = each_under_each(ALL_OF_TPCDS if tpcds else ALL_OF_TPCH, [c.name for c in known])
    kept = _kept(given.results, part, scale, found) if given.add else []
    changes = orders_changes(given.ratios, given.kinds)
    with ExitStack() as running:
        settings = SETTINGS
        if part == "cluster":
            settings = SETTINGS | running.enter_context(cluster.started(given.folder))
        elif part == "thrift":
            settings = SETTINGS | thrift.settings(given.folder)
        place = Workspace(given.folder, scale, data, settings)
        if part == "thrift":
            running.enter_context(thrift.served(place))
        names = [name for name in write(place.project) if _is_asked(given, name)]
        tables = orders.OF_TPCDS if tpcds else orders.OF_TPCH
        changing = orders.OrdersChanges(place.sql, data.schema, tables)
        first = not given.without_first
        measuring = Ratios(place, names, changing, changes, given.rounds, ways, first)
        for change in measuring.run():
            print(change.name, flush=True)
            yield beside(kept, measuring.samples, order)


def _is_asked(given: argparse.Namespace, model: str) -> bool:
    return model.partition("_")[2] in given.only


def _queries(given: argparse.Namespace, part: str, scale: float, found: Found) -> Iterator[Samples]:
    from benchmarks.queries import Queries
    from benchmarks.workspace import Workspace

    chosen, changes = _queries_and_changes(given)
    order = each_under_each([q.name for q in QUERIES], [change.name for change in CHANGES])
    kept = _kept(given.results, part, scale, found) if given.add else []
    place, stock = Workspace(given.folder, scale), not given.without_stock
    queries = Queries(place, chosen, changes, given.rounds, stock)
    for _ in queries.run():
        yield beside(kept, queries.samples, order)


def _queries_and_changes(given: argparse.Namespace) -> tuple[list[Query], list[Change]]:
    return (
        [query for query in QUERIES if query.name in given.only],
        [change for change in CHANGES if change.option in given.changes],
    )


_MEASURES: Mapping[str, Callable[[argparse.Namespace, str, float, Found], Iterator[Samples]]] = {
    "cold": _cold,
    "dag": _dag,
    "fixed": _fixed,
    "layout": _layout,
    "queries": _queries,
    "state": _state,
}
"""What measures a part, and gives all samples so far; the other parts are ratios."""


def _kept(results: Path, part: str, scale: float, found: dict[str, Any]) -> list[Any]:
    """The samples of earlier measurements on the same machine.

    Raises:
        SystemExit: they were measured with other versions, and must not stand beside new ones.
    """
    earlier = report.read(results, part, scale)
    if earlier and earlier["machine"] != found["machine"]:
        raise SystemExit(f"--add: the results there were measured with {earlier['machine']}")
    return earlier["samples"] if earlier else []


def _machine() -> dict[str, object]:
    return {
        "processors": os.cpu_count(),
        "architecture": platform.machine(),
        "Python": platform.python_version(),
        "PySpark": version("pyspark"),
        "Delta": delta_package().rsplit(":", 1)[1],
        "dbt-core": version("dbt-core"),
        "dbt-sparkivm": version("dbt-sparkivm"),
    }


if __name__ == "__main__":
    main()
