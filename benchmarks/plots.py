"""Plots of the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import nan
from pathlib import Path
from typing import Any

from benchmarks.catalog import KINDS, share
from benchmarks.figures import Figure, Sample, chosen, figure_of, in_order, of_the_same_run
from benchmarks.ratios_page import cell, pairs

WAYS = {
    "table": ("full rebuild as table", "#b8b8b8"),
    "stock": ("stock dbt incremental", "#d98032"),
    "refresh": ("refresh by incremental_ivm", "#1b7f5c"),
    "noop": ("incremental_ivm with nothing to do", "#8cc5ae"),
    "resident: first run": ("a day's first run: it starts a resident Spark", "#3f2a63"),
    "resident: second run": ("a day's second run", "#5c4287"),
    "resident: noop after it": ("nothing to do after that one", "#d9cfe8"),
    "resident: refresh": ("refresh on a resident Spark", "#7a5ba8"),
    "resident: noop": ("nothing to do, on a resident Spark", "#b9a6d6"),
    "empty project": ("dbt's run of a project without models", "#e3d9a3"),
    "one row": ("a MERGE of one row into each state that was written", "#8fb3de"),
    "floor": ("floor: the smallest hand-written MERGE", "#3b6fb6"),
}
"""Legend and color of each way, in the order of their bars."""

_COLORS = 8.0
"""The ratio, and one divided by it, at which the colors of a heat map are full."""

Panel = Mapping[str, Mapping[str, Figure | None]]
"""The figure of each way, by change."""


_QUERIES = 34
"""The most queries of a heat map, one below the other."""


def queries(samples: Sequence[Sample], file: Path, title: str) -> None:
    """A panel for each query, a group of bars for each change."""
    panels: dict[str, dict[str, dict[str, Figure | None]]] = {}
    for query, change in in_order(samples, "query", "change"):
        found = {way: chosen(samples, query=query, change=change, way=way) for way in WAYS}
        found["table"] = of_the_same_run(samples, query, change, "table")
        del found["noop"]  # told in a table
        panels.setdefault(query, {})[change.replace(" ", "\n")] = {
            way: figure_of(measured) for way, measured in found.items()
        }
    _draw(panels, file, title, columns=3)


def ways(samples: Sequence[Sample], file: Path, title: str) -> None:
    """One panel, a group of bars for each change."""
    panel = {
        change: {way: figure_of(samples, change=change, way=way) for way in WAYS}
        for (change,) in in_order(samples, "change")
    }
    _draw({"": panel}, file, title, columns=1)


def heat_maps(samples: Sequence[Sample], file: Path, title: str) -> None:
    """A map for each kind of change: queries by ratios, green where a refresh is faster.

    Many queries are drawn in blocks beside each other.
    """
    pyplot = _pyplot()
    from matplotlib import colors

    found = pairs(samples)
    names = sorted({pair.query for pair in found})
    blocks = [names[start : start + _QUERIES] for start in range(0, len(names), _QUERIES)]
    kinds = [kind for kind in KINDS if any(pair.kind == kind for pair in found)]
    ratios = sorted({pair.ratio for pair in found})
    norm = colors.LogNorm(1 / _COLORS, _COLORS)
    maps = [(queries, kind) for queries in blocks for kind in kinds]
    size = (2.2 + len(maps) * max(0.75 * len(ratios), 1.4), 1.6 + 0.24 * len(blocks[0]))
    picture, grid = pyplot.subplots(1, len(maps), figsize=size, squeeze=False)
    for axes, (queries, kind) in zip(grid.flat, maps, strict=True):
        by = {(p.query, p.ratio): p for p in found if p.kind == kind}
        values = [[nan] * len(ratios) for _ in queries]  # not all of them may be measured yet
        for (query, ratio), pair in by.items():
            if query in queries:
                x, y = ratios.index(ratio), queries.index(query)
                values[y][x] = pair.times
                axes.text(x, y, cell(pair), ha="center", va="center", fontsize=6.5)
        axes.imshow(values, cmap="PiYG_r", norm=norm, aspect="auto")
        axes.set_xticks(range(len(ratios)), [share(r).replace(" ", "\n", 1) for r in ratios])
        axes.set_yticks(range(len(queries)), queries if kind == kinds[0] else [""] * len(queries))
        axes.tick_params(labelsize=7, length=0)
        axes.spines[:].set_visible(False)
        axes.set_title(kind, fontsize=9)
    picture.suptitle(title.replace(", by ", ",\nby "), fontsize=10)
    about = "r: computed anew; n: the query sees nothing of the change"
    picture.text(0.5, 0.005, about, ha="center", fontsize=7)
    picture.tight_layout(rect=(0, 0.02, 1, 1))
    picture.savefig(file, metadata={"Date": None})
    pyplot.close(picture)


def _pyplot() -> Any:
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "dbt-sparkivm"  # the same figures, the same file
    from matplotlib import pyplot

    return pyplot


def _draw(panels: Mapping[str, Panel], file: Path, title: str, columns: int) -> None:
    pyplot = _pyplot()
    from matplotlib import patches

    columns = min(columns, len(panels))
    lines = -(-len(panels) // columns)
    size = (max(6.0, 3.6 * columns), 1.2 + 2.1 * lines if columns > 1 else 3.6)
    picture, grid = pyplot.subplots(lines, columns, figsize=size, squeeze=False)
    for axes in grid.flat[len(panels) :]:
        axes.set_visible(False)
    for axes, (name, panel) in zip(grid.flat, panels.items(), strict=False):
        _bars(axes, panel)
        axes.set_title(name, fontsize=9)
    shown = [
        way for way in WAYS if any(g.get(way) for panel in panels.values() for g in panel.values())
    ]
    handles = [patches.Patch(color=WAYS[way][1], label=WAYS[way][0]) for way in shown]
    picture.suptitle(f"{title}: seconds, median and spread", fontsize=11)
    picture.legend(handles=handles, loc="lower center", ncols=2, fontsize=8, frameon=False)
    picture.tight_layout(rect=(0, 0.5 / size[1], 1, 1))
    picture.savefig(file, metadata={"Date": None} if file.suffix == ".svg" else None)
    pyplot.close(picture)


def _bars(axes: Any, panel: Panel) -> None:
    shown = [way for way in WAYS if any(group.get(way) for group in panel.values())]
    width = 0.8 / len(shown)
    for place, way in enumerate(shown):
        at = (place - (len(shown) - 1) / 2) * width
        for number, group in enumerate(panel.values()):
            if found := group.get(way):
                spread = [[found.median - found.least], [found.greatest - found.median]]
                bar = {"color": WAYS[way][1], "error_kw": {"lw": 0.7, "ecolor": "#333333"}}
                axes.bar(number + at, found.median, width, yerr=spread, **bar)
    axes.set_xticks(range(len(panel)), list(panel), fontsize=7 if len(panel) < 6 else 5.5)
    axes.tick_params(axis="y", labelsize=7)
    axes.set_ylim(bottom=0)
    axes.spines[["top", "right"]].set_visible(False)
