"""What refreshes and rebuilds would take at a size that was never run, from two that were; pure.

A straight line through the processor times at both scales tells what one takes at any: a part that
is fixed, and one that grows with the tables. The former runs in the driver, one step after the
other; the latter is shared by all cores. Shuffles over a network, skew and waiting for executors
are left out, which favours rebuilds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.figures import (
    Sample,
    chosen,
    in_order,
    markdown,
    of_the_same_run,
    processor,
    seconds,
)

SCALE = 1000.0
APART = 9.0
"""Between the two scale factors that were run, 1 and 10."""
EXECUTORS, CORES = 100, 4
REQUESTS = 4.0
"""Seconds for some 130 requests of an object store, 30 ms each, which both ways wait for."""


@dataclass(frozen=True)
class Line:
    """What one way takes by the scale factor.

    Attributes:
        fixed: processor seconds that do not grow.
        growing: processor seconds for each unit of scale.
        driver: seconds by the wall that do not grow.
    """

    fixed: float
    growing: float
    driver: float

    def processor(self, scale: float) -> float:
        """Processor seconds."""
        return self.fixed + self.growing * scale

    def wall(self, scale: float, cores: int) -> float:
        """Seconds on so many cores."""
        return self.driver + REQUESTS + self.growing * scale / cores


def line(least: Sequence[Sample], most: Sequence[Sample], apart: float) -> Line | None:
    """The line through one way's samples at two scales; None if one has none.

    Args:
        least: those at scale factor 1.
        most: those at a larger one.
        apart: by how much it is larger.
    """
    if not least or not most:
        return None
    low, high = (median(map(processor, samples)) for samples in (least, most))
    growing = max(0.0, (high - low) / apart)
    fixed = max(0.0, low - growing)
    return Line(fixed, growing, median(map(seconds, least)) * fixed / low)


TITLE = f"""# On paper: scale factor {SCALE:,.0f} on {EXECUTORS} executors

Nobody ran this. It is what the figures of [scale factor 1](queries-sf1.md) and
[10](queries-sf10.md) tell of {6 * SCALE:,.0f} million lines on {EXECUTORS} executors of {CORES}
cores, with tables on an object store.

A straight line through the processor times at both scales has a fixed part and one that grows with
the tables. The fixed part is the driver's: it plans, looks into logs and commits, one step after
the other. What grows is shared by all cores. Both ways wait {REQUESTS:g} s for the object store,
some 130 requests of 30 ms: a refresh of one source asks 70, one of ten 190
([counted](../s3.md#requests)). Shuffles over a network, skew and waiting for executors are left
out, which favours the rebuilds. Where the two scales were measured on days of different speed, a
small slope is noise: Q1 reads the same 45 rows at both.

So many cores make a rebuild short. What a refresh saves is not so much time as work: after a line
of Q9 a thousandth of the processor time is paid for, in a third of the seconds. Where the ratio is
about 1 or less, a change reaches far, or by keys that a large table is not laid out by, at any
size.

"""


def large_page(small: Sequence[Sample], large: Sequence[Sample]) -> str:
    """Refreshes and rebuilds of each query on paper, from scale factors 1 and 10."""
    rows: list[list[object]] = []
    cores, both = EXECUTORS * CORES, (small, large)
    for query, change in in_order(large, "query", "change"):
        here = {"query": query, "change": change, "way": "refresh"}
        refresh = line(*(chosen(samples, **here) for samples in both), APART)
        rebuild = line(*(of_the_same_run(s, query, change, "table") for s in both), APART)
        if refresh is None or rebuild is None:
            continue
        cpu = refresh.processor(SCALE), rebuild.processor(SCALE)
        wall = refresh.wall(SCALE, cores), rebuild.wall(SCALE, cores)
        rows.append([f"{query}, {change}", *cpu, cpu[1] / cpu[0], *wall, wall[1] / wall[0]])
    head = ["query, changed rows", "refresh: processor s", "rebuild: processor s"]
    head += ["rebuild ÷ refresh", "refresh: s", "rebuild: s", "rebuild ÷ refresh"]
    return TITLE + markdown(head, rows)
