"""Writes results: JSON, a Markdown page and a plot for each benchmark and scale."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import plots
from benchmarks.figures import (
    Sample,
    chosen,
    figure_of,
    in_order,
    markdown,
    of_the_same_run,
    processor,
    ratio,
    shown,
)
from benchmarks.fixed_page import PARTS, fixed_page
from benchmarks.large_state_page import state_page
from benchmarks.layout_page import layout_page
from benchmarks.ratios_page import ratios_csv, ratios_page

STEPS = ("source", "scan", "rewrite")
RATIOS = ("full ÷ refresh", "refresh ÷ floor", "refresh ÷ stock")
SPARK = ("jobs", "tasks", "rows read", "files read", "KB of these", "files written", "KB written")
DAG_WAYS = ("refresh", "table", "stock", "one row")
WORK = ("write", "metadata", "settings", *SPARK)


def write(results: Path, part: str, scale: float, found: Mapping[str, Any]) -> None:
    """Write one benchmark's results.

    Args:
        results: the folder.
        part: one of those of `make bench`.
        scale: the scale factor.
        found: `samples`, and `machine` with what they were measured on.
    """
    results.mkdir(parents=True, exist_ok=True)
    name = _name(part, f"{scale:g}")
    (results / f"{name}.json").write_text(as_json(found))
    samples = found["samples"]
    page, draw = {
        "queries": (queries_page, plots.queries),
        "dag": (dag_page, plots.ways),
        "cold": (cold_page, plots.ways),
        "state": (state_page, None),
        "fixed": (fixed_page, None),
        "layout": (layout_page, None),
        "ratios": (ratios_page, plots.heat_maps),
        "cluster": (ratios_page, plots.heat_maps),
        "thrift": (ratios_page, plots.heat_maps),
        "tpcds": (ratios_page, plots.heat_maps),
    }[part]
    machine = ", ".join(f"{key} {value}" for key, value in found["machine"].items())
    title = f"# {TITLES[part]}, scale factor {scale:g}\n\nMeasured with {machine}.\n\n"
    picture = f"![plot]({name}.svg)\n\n" if draw else ""
    (results / f"{name}.md").write_text(title + picture + page(samples))
    if page is ratios_page:
        (results / f"{name}.csv").write_text(ratios_csv(samples))
    if draw:
        draw(samples, results / f"{name}.svg", f"{TITLES[part]}, SF {scale:g}")


def read(results: Path, part: str, scale: float) -> dict[str, Any]:
    """What `write` wrote before; empty if it did not."""
    file = results / f"{_name(part, f'{scale:g}')}.json"
    return json.loads(file.read_text()) if file.exists() else {}


def read_all(results: Path, part: str) -> list[dict[str, Any]]:
    """What `write` wrote before, of each scale."""
    return [json.loads(file.read_text()) for file in results.glob(f"{_name(part, '*')}.json")]


def _name(part: str, scale: str) -> str:
    return f"{part}-sf{scale}"


def as_json(found: Mapping[str, Any]) -> str:
    """As JSON, a sample a line."""
    about = {key: value for key, value in found.items() if key != "samples"}
    lines = ",\n".join(json.dumps(_rounded(sample)) for sample in found["samples"])
    head = json.dumps(about, indent=1).removesuffix("\n}")
    return f'{head},\n "samples": [\n{lines}\n]}}\n'


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items()}
    if not isinstance(value, float):
        return value
    return round(value, 3) if abs(value) >= 0.01 else float(f"{value:.3g}")


TITLES = {
    "queries": "Refresh of one model, warm",
    "dag": "`dbt run` of 20 models, warm",
    "cold": "`dbt run` of one model, in a fresh process",
    "state": "Refresh of a state as large as its source",
    "fixed": "What a refresh takes at least",
    "layout": "What clustering a table gains",
    "ratios": "Refresh ÷ rebuild of TPC-H's queries, by how many orders changed",
    "cluster": "Refresh ÷ rebuild of TPC-H's queries on a cluster of two workers",
    "thrift": "Refresh ÷ rebuild of TPC-H's queries by a Thrift server",
    "tpcds": "Refresh ÷ rebuild of TPC-DS's queries, by how many orders changed",
}


def queries_page(samples: Sequence[Sample]) -> str:
    """Times, ratios and where the time goes, for each query and change."""
    rows, ratios, parts, work = [], [], [], []
    for query, change in in_order(samples, "query", "change"):
        here = {"query": query, "change": change}
        label = f"{query}, {change}" + ("" if _is_seen(samples, query, change) else " *")
        rebuilds = of_the_same_run(samples, query, change, "table")
        full = figure_of(rebuilds)
        by = {way: figure_of(samples, way=way, **here) for way in ("refresh", "floor", "stock")}
        rows.append([label, by["refresh"], full, by["floor"], by["stock"]])
        full_cpu = figure_of(rebuilds, processor)
        cpu = {
            way: figure_of(samples, processor, way=way, **here)
            for way in ("refresh", "floor", "stock")
        }
        ratios.append(
            [
                label,
                ratio(full, by["refresh"]),
                ratio(by["refresh"], by["floor"]),
                ratio(by["refresh"], by["stock"]),
                ratio(full_cpu, cpu["refresh"]),
                ratio(cpu["refresh"], cpu["floor"]),
                ratio(cpu["refresh"], cpu["stock"]),
            ]
        )
        refreshes = chosen(samples, way="refresh", **here)
        steps = [f"{_median([s['merge'][step] for s in refreshes]):.0f}" for step in STEPS]
        parts.append([label, *(_part(refreshes, name) for name in PARTS), *steps])
        work.append([label, *_work(refreshes)])
    texts = [
        "## Ratios\n",
        "By the wall, and by the JVM's processor time, which on a shared machine is the less "
        "noisy one. *: the query sees nothing of the change, and the bookmark moves alone.\n",
        markdown(
            ["query, changed rows", *RATIOS, *(f"CPU: {name}" for name in RATIOS)],
            ratios,
        ),
        "## Seconds\n",
        "Medians (and spread).\n",
        markdown(
            ["query, changed rows", "refresh", "full, as `table`", "floor", "stock incremental"],
            rows,
        ),
        "## With nothing to do\n",
        "Refreshes after which no source changed, as medians.\n",
        markdown(["query", "seconds", "jobs"], _noops(samples)),
        "## Where a refresh's time goes\n",
        "Medians in milliseconds. Of the MERGE's time Delta counts that of computing the change "
        "(source), of finding the target's files (scan) and of writing them anew (rewrite).\n",
        markdown(["query, changed rows", *PARTS, *(f"merge: {step}" for step in STEPS)], parts),
        "Medians of what Spark did for it. Statements that write, that ask for metadata and that "
        "change a setting; rows and files with those of Delta's log.\n",
        markdown(
            ["query, changed rows", *WORK],
            work,
        ),
    ]
    return "\n".join(texts)


def _is_seen(samples: Sequence[Sample], query: str, change: str) -> bool:
    refreshes = chosen(samples, query=query, change=change, way="refresh")
    return any(sample.get("seen", True) for sample in refreshes)


def _noops(samples: Sequence[Sample]) -> list[list[object]]:
    return [
        [query, figure_of(found, way="noop"), f"{_median([s['work']['jobs'] for s in found]):.0f}"]
        for (query,) in in_order(samples, "query")
        if (found := chosen(samples, query=query, way="noop"))
    ]


def dag_page(samples: Sequence[Sample]) -> str:
    """Times and ratios of whole runs."""
    rows = []
    for (change,) in in_order(samples, "change"):
        by = {way: figure_of(samples, change=change, way=way) for way in DAG_WAYS}
        cpu = {way: figure_of(samples, processor, change=change, way=way) for way in DAG_WAYS}
        refresh = by["refresh"]
        rows.append(
            [
                change,
                refresh,
                by["table"],
                by["stock"],
                by["one row"],
                ratio(by["table"], refresh),
                ratio(refresh, by["stock"]),
                ratio(cpu["table"], cpu["refresh"]),
                ratio(cpu["refresh"], cpu["stock"]),
            ]
        )
    head = ["change", "refresh, s", "all as `table`, s", "stock incremental, s"]
    head += ["a `MERGE` of one row into each state that was written, s"]
    head += ["full ÷ refresh", "refresh ÷ stock", "CPU: full ÷ refresh", "CPU: refresh ÷ stock"]
    texts = [markdown(head, rows)]
    for (change,) in in_order(samples, "change"):
        models = sorted(chosen(samples, change=change, way="refresh")[0]["models"])
        times = [
            [model, *(_model(samples, change, way, model) for way in DAG_WAYS)] for model in models
        ]
        texts += [f"## Each model, {change}\n", "Medians in seconds.\n"]
        texts.append(markdown(["model", *DAG_WAYS], times))
    return "\n".join(texts)


def cold_page(samples: Sequence[Sample]) -> str:
    """Times of whole processes."""
    rows = []
    for query, change, way in in_order(samples, "query", "change", "way"):
        rows.append([way, figure_of(samples, query=query, change=change, way=way)])
    query, change = in_order(samples, "query", "change")[0]
    return f"{query} after a change of {change}.\n\n" + markdown(["way", "seconds"], rows)


def scales_page(by_scale: Mapping[float, Sequence[Sample]]) -> str:
    """How a refresh's time grows from the smallest to each larger scale, where both have it."""
    least, *larger = sorted(by_scale)
    rows = []
    for query, change in in_order(by_scale[least], "query", "change"):
        if not all(chosen(samples, query=query, change=change) for samples in by_scale.values()):
            continue
        here = {"query": query, "change": change, "way": "refresh"}
        base = figure_of(by_scale[least], **here)
        base_cpu = figure_of(by_scale[least], processor, **here)
        cells: list[object] = [f"{query}, {change}"]
        for scale in larger:
            cells.append(ratio(figure_of(by_scale[scale], **here), base))
            cells.append(ratio(figure_of(by_scale[scale], processor, **here), base_cpu))
        rows.append(cells)
    head = ["query, changed rows"]
    for scale in larger:
        head += [f"SF {scale:g} ÷ SF {least:g}", "CPU"]
    return "# The same change on more data: refresh ÷ refresh\n\n" + markdown(head, rows)


def _median(values: Sequence[float]) -> float:
    return statistics.median(values)


def _part(refreshes: Sequence[Sample], name: str) -> str:
    return f"{1000 * _median([s['parts'][name] for s in refreshes]):.0f}"


def _work(refreshes: Sequence[Sample]) -> list[str]:
    def of(name: str, unit: float = 1) -> str:
        return f"{_median([s['work'][name] for s in refreshes]) / unit:,.0f}"

    def statements(name: str) -> float:
        return _median([s["parts"][name] for s in refreshes])

    settings, metadata = statements("statements_settings"), statements("statements_metadata")
    counted = [statements("statements") - settings - metadata, metadata, settings]
    return [f"{count:.0f}" for count in counted] + [
        of("jobs"),
        of("tasks"),
        of("rows_read"),
        of("files_read"),
        of("bytes_read", 1024),
        f"{_median([s['merge']['files'] for s in refreshes]):.0f}",
        of("bytes_written", 1024),
    ]


def _model(samples: Sequence[Sample], change: str, way: str, model: str) -> str:
    found = chosen(samples, change=change, way=way)
    times = [sample["models"][model] for sample in found if model in sample["models"]]
    return shown(_median(times) if times else None)
