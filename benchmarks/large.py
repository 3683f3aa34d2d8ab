"""What refreshes and rebuilds would take at a size that was never run, from two that were; pure.

A straight line through the processor times at both scales tells what one takes at any: a part that
is fixed, and one that grows with the tables. The former runs in the driver, one step after the
other; the latter is shared by all cores. Shuffles over a network, skew and waiting for executors
are left out, which favours rebuilds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.figures import Sample, figure_of, in_order, markdown, processor

SCALE = 1000.0
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


def line(by_scale: Mapping[float, Sequence[Sample]], **wanted: str) -> Line | None:
    """The line through the smallest and the largest scale; None if one was not measured."""
    least, most = min(by_scale), max(by_scale)
    times = [figure_of(by_scale[scale], processor, **wanted) for scale in (least, most)]
    wall = figure_of(by_scale[least], **wanted)
    if times[0] is None or times[1] is None or wall is None:
        return None
    growing = max(0.0, (times[1].median - times[0].median) / (most - least))
    fixed = max(0.0, times[0].median - growing * least)
    return Line(fixed, growing, wall.median * fixed / times[0].median)


TITLE = f"""# On paper: scale factor {SCALE:,.0f} on {EXECUTORS} executors

Nobody ran this. It is what the figures of [scale factor 1](queries-sf1.md) and
[10](queries-sf10.md) tell of {6 * SCALE:,.0f} million lines on {EXECUTORS} executors of {CORES}
cores, with tables on an object store.

A straight line through the processor times at both scales has a fixed part and one that grows with
the tables. The fixed part is the driver's: it plans, looks into logs and commits, one step after
the other. What grows is shared by all cores. Both ways wait {REQUESTS:g} s for the object store,
some 130 requests of 30 ms ([counted](../s3.md#requests)). Shuffles over a network, skew and waiting
for executors are left out, which favours the rebuilds. Where the two scales were measured on days
of different speed, a small slope is noise: Q1 reads the same 45 rows at both.

So many cores make a rebuild short. What a refresh saves is not so much time as work: after a line
of Q9 a thousandth of the processor time is paid for, in a third of the seconds. What a table is not
laid out by (a nation's suppliers), or what reaches far (60,000 orders of Q13 and Q22), saves
nothing at any size.

"""


def large_page(by_scale: Mapping[float, Sequence[Sample]]) -> str:
    """Refreshes and rebuilds of each query on paper."""
    rows: list[list[object]] = []
    for query, change in in_order(by_scale[max(by_scale)], "query", "change"):
        refresh = line(by_scale, query=query, change=change, way="refresh")
        rebuild = line(by_scale, query=query, way="table")
        if refresh is None or rebuild is None:
            continue
        cores = EXECUTORS * CORES
        cpu = refresh.processor(SCALE), rebuild.processor(SCALE)
        wall = refresh.wall(SCALE, cores), rebuild.wall(SCALE, cores)
        rows.append([f"{query}, {change}", *cpu, cpu[1] / cpu[0], *wall, wall[1] / wall[0]])
    head = ["query, changed rows", "refresh: processor s", "rebuild: processor s", "÷"]
    return TITLE + markdown([*head, "refresh: s", "rebuild: s", "÷"], rows)
