"""The page of what another layout of a table gains; pure."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.figures import Sample, chosen, figure_of, in_order, markdown, ratio

_MIB = 2**20


def layout_page(samples: Sequence[Sample]) -> str:
    """Refreshes and rebuilds before and after a table was clustered as `ivm_explain` advises."""
    rows = []
    layouts = [layout for (layout,) in in_order(samples, "layout")]
    for query, change in in_order(samples, "query", "change"):
        here = chosen(samples, query=query, change=change)
        refreshes = [figure_of(here, layout=layout, way="refresh") for layout in layouts]
        read = [figure_of(here, _mib_read, layout=layout, way="refresh") for layout in layouts]
        rebuilds = [figure_of(here, layout=layout, way="table") for layout in layouts]
        gain = ratio(refreshes[0], refreshes[-1])
        rows.append([f"{query}, {change}", *refreshes, gain, *read, *rebuilds])
    head = ["query, changed rows"]
    for what in ("refresh, s", "MiB of the files read", "rebuild, s"):
        head += [f"{what}: {layout}" for layout in layouts]
        head += ["as loaded ÷ clustered"] if what.startswith("refresh") else []
    return "Medians (and spread).\n\n" + markdown(head, rows)


def _mib_read(sample: Sample) -> float:
    return float(sample["work"]["bytes_read"]) / _MIB
