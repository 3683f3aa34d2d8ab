"""The page of a large state's refreshes; pure."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from benchmarks.figures import Sample, chosen, figure, figure_of, in_order, markdown, seconds


def state_page(samples: Sequence[Sample]) -> str:
    """What refreshes read and take."""
    states, rows = [], []
    rebuild = figure_of(samples, way="table")
    for build in chosen(samples, way="build"):
        state = build["state"]
        size = f"{state['bytes'] / 2**20:,.0f}"
        told = [build["query"], f"{state['rows']:,}", f"{state['files']:,}", size]
        states.append([*told, f"{build['seconds']:.0f}"])
    for change, model in in_order(chosen(samples, way="refresh"), "change", "query"):
        found = chosen(samples, way="refresh", query=model, change=change)
        scan = median(sample["scan"] for sample in found)
        work = {
            name: median(sample["work"][name] for sample in found)
            for name in ("rows_read", "files_read", "bytes_read")
        }
        rows.append(
            [
                f"{found[0]['rows']:,} lines of {change}",
                model,
                figure([seconds(sample) for sample in found]),
                f"{scan:.2f}",
                f"{work['rows_read']:,.0f}",
                f"{work['files_read']:,.0f}",
                f"{work['bytes_read'] / 2**20:,.1f}",
            ]
        )
    head = ["changed", "model", "refresh, s", "scan, s", "rows read", "files read", "MiB of these"]
    return "\n".join(
        [
            "Both models are one query, with a group for nearly each line. The state of the second "
            "one is clustered by the order, so that its build gives each file a range of them "
            "([0075](../decisions/0075-clustered-builds.md)).\n",
            markdown(["state", "rows", "files", "MiB", "build, s"], states),
            f"Rebuilt as `table`, before and after: {rebuild} s.\n",
            "Refreshes, as medians (and spread). Rows are those that Spark read after it left out "
            "files and pages; files are those of the source and of logs, too. Both are of a whole "
            "refresh. The scan is the MERGE's, which finds the state's files.\n",
            markdown(head, rows),
        ]
    )
