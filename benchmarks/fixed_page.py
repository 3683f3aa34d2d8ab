"""The page of what a refresh takes at least; pure."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from benchmarks.figures import Sample, chosen, figure_of, in_order, markdown, ratio

PARTS = ("dbt", "planning", "metadata", "settings", "merge")
_LEAST = ("`MERGE` of one row", "empty `MERGE`")
_WITHIN = 1.3
"""How many times the former a refresh of one row shall take at most."""


def fixed_page(samples: Sequence[Sample]) -> str:
    """Refreshes after one order, and with nothing to do, beside what stops them."""
    rows, noops, within, followed = [], [], 0, 0
    for (query,) in in_order(samples, "query"):
        ways = ("refresh", "one row", "empty", "noop")
        by = {way: figure_of(samples, query=query, way=way) for way in ways}
        refreshes = chosen(samples, query=query, way="refresh")
        strategy = refreshes[-1]["strategy"]
        refresh, one_row = by["refresh"], by["one row"]
        assert refresh is not None and one_row is not None
        if strategy == "incremental":
            followed += 1
            within += refresh.median <= _WITHIN * one_row.median
        least = [one_row, by["empty"], ratio(refresh, one_row), ratio(refresh, by["empty"])]
        rows.append([query, strategy, refresh, *least, *_parts(refreshes)])
        noop = chosen(samples, query=query, way="noop")
        noops.append([query, by["noop"], *_parts(noop)[:-1]])
    alone = figure_of(samples, way="dbt alone")
    every = figure_of(samples, way="noop")
    return "\n".join(
        [
            f"After one order {followed} queries followed it, {within} of these in at most "
            f"{_WITHIN} times a `MERGE` by hand of one row into the same state in the same minute. "
            f"With nothing to do a refresh took {every} s, and dbt alone {alone} s for a model "
            "that does nothing.\n",
            "The empty `MERGE` finds no row of its source, so that Spark joins nothing, and Delta "
            "writes nothing.\n",
            "## After one order\n",
            "Seconds as medians (and spread), then milliseconds of the refresh's parts.\n",
            markdown(
                ["query", "strategy", "refresh", *_LEAST, *(f"÷ {m}" for m in _LEAST), *PARTS], rows
            ),
            "## With nothing to do\n",
            "The same units.\n",
            markdown(["query", "seconds", *PARTS[:-1]], noops),
        ]
    )


def _parts(samples: Sequence[Sample]) -> list[str]:
    return [f"{1000 * median(s['parts'][part] for s in samples):.0f}" for part in PARTS]
