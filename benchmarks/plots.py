"""Plots of the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure, Sample, chosen, figure_of, in_order, of_the_same_run

WAYS = {
    "table": ("full rebuild as table", "#b8b8b8"),
    "stock": ("stock dbt incremental", "#d98032"),
    "refresh": ("refresh by incremental_ivm", "#1b7f5c"),
    "noop": ("incremental_ivm with nothing to do", "#8cc5ae"),
    "resident: refresh": ("refresh on a resident Spark", "#7a5ba8"),
    "resident: noop": ("nothing to do, on a resident Spark", "#b9a6d6"),
    "empty project": ("dbt's run of a project without models", "#e3d9a3"),
    "floor": ("floor: the smallest hand-written MERGE", "#3b6fb6"),
}
"""Legend and color of each way, in the order of their bars."""

Panel = Mapping[str, Mapping[str, Figure | None]]
"""The figure of each way, by change."""


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


def _draw(panels: Mapping[str, Panel], file: Path, title: str, columns: int) -> None:
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "dbt-sparkivm"  # the same figures, the same file
    from matplotlib import patches, pyplot

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
