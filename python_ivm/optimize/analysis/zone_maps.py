"""Which part of a table is read where few values of its columns are asked.

Delta leaves out files by the lowest and the highest value of each, Parquet row groups and pages.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from python_ivm.optimize.analysis.bounds import Bound
from python_ivm.optimize.analysis.reads import Read
from python_ivm.sources.history import DataFile

_APART = 1.5
"""A table is laid out by a column if each value lies in at most this many files, on average."""
_PAGE = 20_000
"""Rows of a column that Parquet reads or leaves out together."""

Ends = tuple[float, float]
"""The lowest and the highest of some values."""


def share(read: Read, files: Callable[[str], Sequence[DataFile] | None], unknown: float) -> float:
    """Which part of a table is read to find the values of its keys, from 0 to 1.

    Where it is laid out by one of them, as much as lies in their intervals, a page at least for
    each, and of few values no more than a page for each, as pages of files are left out, too; else
    the files in which they may be. Where its files cannot be told, it is taken for laid out by few
    values that it is joined by.

    Args:
        read: The read.
        files: Gives a table's files; None if they cannot be told.
        unknown: The part where they cannot, and the values are many, or of a group or partition
            above.
    """
    known = files(read.source)
    if known is None:
        return 0.0 if any(b.joined and b.is_few for b in read.keys.values()) else unknown
    layouts = {key: ColumnLayout.of(known, key) for key in read.keys}
    parts = [layout.part(read.keys[key]) for key, layout in layouts.items() if layout is not None]
    return min(parts, default=1.0)


@dataclass(frozen=True)
class ColumnLayout:
    """How the values of a column lie in a table's files.

    Attributes:
        ends: The lowest and the highest value of each file.
        pages: How many pages the files have; None if it is not known.
    """

    ends: Sequence[Ends]
    pages: float | None

    @classmethod
    def of(cls, files: Sequence[DataFile], key: str) -> ColumnLayout | None:
        """The layout by a column; None if it cannot be told, or there is but one file or value."""
        ends = [(_ordinal(f.lowest.get(key)), _ordinal(f.highest.get(key))) for f in files]
        known = [(low, high) for low, high in ends if low is not None and high is not None]
        rows = [file.rows for file in files if file.rows is not None]
        pages = sum(rows) / _PAGE if len(rows) == len(files) else None
        layout = cls(known, pages)
        return layout if len(known) == len(files) > 1 and layout.width else None

    @cached_property
    def lowest(self) -> float:
        """The lowest value."""
        return min(low for low, _ in self.ends)

    @cached_property
    def highest(self) -> float:
        """The highest one."""
        return max(high for _, high in self.ends)

    @property
    def width(self) -> float:
        """From the lowest to the highest value."""
        return self.highest - self.lowest

    @cached_property
    def holding(self) -> float:
        """In how many files a value lies, on average."""
        return sum(high - low for low, high in self.ends) / self.width

    @property
    def is_by_key(self) -> bool:
        """Whether the table is laid out by the column."""
        return self.holding <= _APART

    def part(self, bound: Bound) -> float:
        """Which part of the table is read where a bound holds."""
        if self.is_by_key:
            each = max(1 / self.pages, 1 / (self.width + 1)) if self.pages else 1.0
            whole = self._between((bound.intervals[0][0], bound.intervals[-1][1]))
            among = [i for i in bound.intervals if i[0] <= self.highest and self.lowest <= i[1]]
            between = min(whole, sum(max(self._between(i), each) for i in among))
        else:
            between = sum(bound.reaches(*ends) for ends in self.ends) / len(self.ends)
            each = self.holding / len(self.ends)
        return min(between, bound.values * each) if bound.is_few else between

    def _between(self, interval: Ends) -> float:
        """Which part of the column's range lies in an interval."""
        low, high = interval
        return max(0.0, min(high, self.highest) - max(low, self.lowest)) / self.width


def _ordinal(value: object) -> float | None:
    """A number or a day as a number."""
    if isinstance(value, str):
        try:
            return float(dt.date.fromisoformat(value).toordinal())
        except ValueError:
            return None
    return float(value) if isinstance(value, (int, float)) else None
