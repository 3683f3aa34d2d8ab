"""From samples to figures and tables; pure."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

Sample = Mapping[str, Any]


@dataclass(frozen=True)
class Figure:
    """A measured time.

    Attributes:
        median: in seconds.
        least: the shortest.
        greatest: the longest.
        count: of measurements.
    """

    median: float
    least: float
    greatest: float
    count: int

    def __str__(self) -> str:
        """The median, and the spread in brackets."""
        return f"{self.median:.2f} ({self.least:.2f}-{self.greatest:.2f})"


def figure(values: Sequence[float]) -> Figure:
    """Median and spread of at least one value."""
    return Figure(statistics.median(values), min(values), max(values), len(values))


def chosen(samples: Sequence[Sample], **wanted: Any) -> list[Sample]:
    """The samples with these values."""
    return [s for s in samples if all(s[key] == value for key, value in wanted.items())]


def seconds(sample: Sample) -> float:
    """By the wall."""
    return float(sample["seconds"])


def processor(sample: Sample) -> float:
    """Of the JVM's processor time: on a shared machine less noisy than the wall's."""
    return float(sample["work"]["cpu_seconds"])


def figure_of(
    samples: Sequence[Sample], what: Callable[[Sample], float] = seconds, **wanted: Any
) -> Figure | None:
    """The figure of the samples with these values; None if there are none."""
    values = [what(sample) for sample in chosen(samples, **wanted)]
    return figure(values) if values else None


def of_the_same_run(samples: Sequence[Sample], query: str, change: str, way: str) -> list[Sample]:
    """The samples of a way that does not depend on the change, of the run that measured a change.

    On another day the machine is faster or slower. What was measured of the query under other
    changes counts as well, if it was measured then.
    """
    runs = {s.get("run") for s in chosen(samples, query=query, change=change)}
    return [s for s in chosen(samples, query=query, way=way) if s.get("run") in runs]


def ratio(one: Figure | None, other: Figure | None) -> float | None:
    """How many times the second the first is; None if one is missing."""
    return one.median / other.median if one and other else None


def shown(value: object) -> str:
    """A table's cell: ratios with one decimal place, or two where they are below 10."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.2f}" if value < 10 else f"{value:.0f}"
    return str(value)


def markdown(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table; the first column is text, the others are numbers."""
    rule = "|" + "|".join(["---", *["--:"] * (len(head) - 1)]) + "|"
    lines = ["| " + " | ".join(shown(cell) for cell in row) + " |" for row in (head, *rows)]
    return "\n".join([lines[0], rule, *lines[1:]]) + "\n"


def in_order(samples: Sequence[Sample], *keys: str) -> list[tuple[Any, ...]]:
    """The different values of some keys, in the order in which they come."""
    return list(dict.fromkeys(tuple(sample[key] for key in keys) for sample in samples))


def beside(
    kept: Sequence[Sample], found: Sequence[Sample], order: Sequence[tuple[str, str]]
) -> list[Sample]:
    """The samples of one measurement and of earlier ones of other queries and changes.

    Args:
        kept: the earlier ones; those of a query and change that was measured again are left out,
            and those of one that there is no more.
        found: the new ones.
        order: in which queries and changes are told.
    """
    places = {both: place for place, both in enumerate(order)}
    again = {_both(sample) for sample in found}
    others = [s for s in kept if _both(s) in places and _both(s) not in again]
    return sorted([*others, *found], key=lambda s: places[_both(s)])


def each_under_each(queries: Iterable[str], changes: Iterable[str]) -> list[tuple[str, str]]:
    """Each query under each change, one change after the other."""
    return [(query, change) for change, query in product(changes, queries)]


def _both(sample: Sample) -> tuple[str, str]:
    return sample["query"], sample["change"]
