"""Draws the pictures of `docs/pictures` from the figures in `docs/benchmarks` (`make pictures`)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure, chosen, figure_of, of_the_same_run
from benchmarks.plots import WAYS
from integration_tests.shop.run import Outcome
from scripts.docs.write_shop_page import outcomes

ROOT = Path(__file__).resolve().parents[1]
BENCHMARKS = ROOT / "docs" / "benchmarks"
PICTURES = ROOT / "docs" / "pictures"

QUERIES = {
    "q01": "Q1: one table",
    "q03": "Q3: join of three, LIMIT",
    "q05": "Q5: join of six",
    "q09": "Q9: join of six",
    "q18": "Q18: IN, LIMIT",
    "q21": "Q21: EXISTS, NOT EXISTS",
    "full_join": "full join of three",
}
CHANGE = "lineitem 1,000"
SIZES = {"lineitem 1": "1 row", "lineitem 1,000": "1,000 rows", "lineitem 60,000": "60,000 rows"}
SHOWN = ("table", "refresh")
Bars = Mapping[str, Mapping[str, Figure | None]]
"""The figure of each way, by what stands beside its bars."""


def headline() -> tuple[str, Bars]:
    """Title and bars of the README's picture."""
    samples = _samples("queries-sf10")
    bars: dict[str, dict[str, Figure | None]] = {}
    for query, name in QUERIES.items():
        bars[name] = {
            "table": figure_of(of_the_same_run(samples, query, CHANGE, "table")),
            "refresh": figure_of(chosen(samples, query=query, change=CHANGE, way="refresh")),
        }
    return "1,000 of 60 million rows changed: seconds until the view is right again", bars


def by_size() -> dict[str, Bars]:
    """Bars by the size of the change, for the queries that have all sizes."""
    samples = _samples("queries-sf10")
    panels: dict[str, Bars] = {}
    for query in ("q01", "q09"):
        title = f"{QUERIES[query]}; seconds by the number of changed rows, of 60 million"
        panels[title] = {
            size: {
                "table": figure_of(of_the_same_run(samples, query, change, "table")),
                "refresh": figure_of(chosen(samples, query=query, change=change, way="refresh")),
            }
            for change, size in SIZES.items()
        }
    return panels


def main() -> None:
    """Draw all pictures."""
    title, bars = headline()
    _draw({title: bars}, PICTURES / "headline.svg")
    _draw(by_size(), PICTURES / "by-size.svg")
    _draw_days(outcomes(), PICTURES / "shop.svg")


def _samples(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((BENCHMARKS / f"{name}.json").read_text())["samples"]
    return found


def _draw(panels: Mapping[str, Bars], file: Path) -> None:
    pyplot = _pyplot()
    from matplotlib import patches

    lines = [len(bars) for bars in panels.values()]
    height = 0.9 + sum(0.42 * number + 0.5 for number in lines)
    picture, grid = pyplot.subplots(
        len(panels), 1, figsize=(7.5, height), squeeze=False, height_ratios=lines, sharex=True
    )
    for axes, (title, bars) in zip(grid.flat, panels.items(), strict=True):
        _bars(axes, bars)
        axes.set_title(title, fontsize=10, loc="left")
    handles = [patches.Patch(color=WAYS[way][1], label=WAYS[way][0]) for way in SHOWN]
    picture.legend(handles=handles, loc="lower center", ncols=2, fontsize=9, frameon=False)
    picture.tight_layout(rect=(0, 0.35 / height, 1, 1))
    _saved(picture, file)


def _pyplot() -> Any:
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "dbt-sparkivm"  # the same figures, the same file
    from matplotlib import pyplot

    return pyplot


def _saved(picture: Any, file: Path) -> None:
    picture.patch.set_facecolor("white")  # pages have dark modes
    picture.savefig(file, metadata={"Date": None})
    _pyplot().close(picture)


def _draw_days(days: Sequence[Outcome], file: Path) -> None:
    """Bars of each day's refresh beside its full refresh; the first build is no refresh."""
    pyplot = _pyplot()
    picture, axes = pyplot.subplots(figsize=(7.5, 3))
    shown = days[1:]
    for place, way in enumerate(SHOWN):
        seconds = [day.rebuild if way == "table" else day.refresh for day in shown]
        at = [day.day + (place - 0.5) * 0.4 for day in shown]
        axes.bar(at, seconds, 0.38, color=WAYS[way][1], label=WAYS[way][0])
    axes.set_title("seconds of all models, day by day", fontsize=10, loc="left")
    axes.set_xticks([1, *range(5, len(days), 5)])
    axes.tick_params(labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=8, frameon=False, ncols=2, loc="upper right")
    axes.margins(y=0.2)
    _saved(picture, file)


def _bars(axes: Any, bars: Bars) -> None:
    names: Sequence[str] = list(bars)
    for place, way in enumerate(SHOWN):
        for number, name in enumerate(names):
            found = bars[name][way]
            if found:
                at = number + (place - 0.5) * 0.38
                axes.barh(at, found.median, 0.36, color=WAYS[way][1])
                axes.text(found.median + 0.6, at, f"{found.median:.1f} s", va="center", fontsize=8)
    axes.set_yticks(range(len(names)), names, fontsize=9)
    axes.invert_yaxis()
    axes.margins(x=0.1)
    axes.tick_params(axis="x", labelsize=8)
    axes.spines[["top", "right"]].set_visible(False)


if __name__ == "__main__":
    main()
