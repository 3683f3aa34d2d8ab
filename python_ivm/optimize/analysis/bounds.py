"""Bounds: conditions that a column has one of a change's keys, and how many values they leave."""

from __future__ import annotations

import datetime as dt
import itertools
import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import itemgetter

from sqlglot import exp

from python_ivm.algebra.nodes import Filter, Join, LeftJoin, Node, SemiJoin
from python_ivm.optimize.analysis.provenance import DATE, WHOLE_NUMBERS

BOUNDS = "bounds"
"""The mark of an added condition: the :class:`Bound` it states. The first part of its OR has it."""
_FEW = 1_000
"""Up to this many values are few, if they are not listed."""
_MOST_NODES = 50
"""Up to this many listed values are nodes of the expression; more are one text."""
_MOST_INTERVALS = 16
"""The most intervals into which a range is cut."""
_NARROW = 0.01
"""If there are more values than that, a gap of up to this part of the whole range is not cut."""
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d")

Value = int | str
"""A whole number, or a date as text, year first."""
Interval = tuple[Value, Value]
"""The lowest and the highest of its values."""
Ordinals = tuple[int, int]
"""The same as whole numbers: of a day its ordinal."""


@dataclass(frozen=True)
class Bound:
    """That a column is one of some literals, or lies in one of some intervals.

    Attributes:
        intervals: The intervals in which its values lie, in order; no two overlap.
        listed: How many values are listed; None if each value in the intervals may be there.
        joined: Whether right there, to keys of what changed: there is neither a group nor a
            partition nor a union between these and the table, nor another table.
    """

    intervals: tuple[Ordinals, ...]
    listed: int | None = None
    joined: bool = True

    def __deepcopy__(self, memo: object) -> Bound:
        """Itself: each copy of a condition copies its marks, and this one does not change."""
        return self

    @property
    def values(self) -> int:
        """How many values are left."""
        if self.listed is not None:
            return self.listed
        return sum(high - low + 1 for low, high in self.intervals)

    def reaches(self, low: float, high: float) -> bool:
        """Whether a value may lie between two, these among them."""
        before = bisect_right(self.intervals, high, key=itemgetter(0))
        return before > 0 and self.intervals[before - 1][1] >= low

    @property
    def is_few(self) -> bool:
        """Whether few are left."""
        return self.listed is not None or self.values <= _FEW


@dataclass(frozen=True)
class Range:
    """The values of a key but NULL: from where to where, and each of them if they are few.

    Attributes:
        kind: Their Spark type.
        lowest: The lowest one.
        highest: The highest one.
        each: All of them, sorted; None if they are many.
    """

    kind: str
    lowest: Value
    highest: Value
    each: tuple[Value, ...] | None = None

    @staticmethod
    def of(kind: str | None, texts: Iterable[str | None], every: bool) -> Range | None:
        """The range of values given as text; None where there are none, or one has no literal.

        Args:
            kind: Their Spark type.
            texts: The values.
            every: Whether they are all that there are; else the lowest and the highest are.
        """
        given = [text for text in texts if text is not None]
        if kind is None or not given:
            return None
        values: set[Value]
        if kind in WHOLE_NUMBERS:
            values = {int(text) for text in given}
        elif kind == DATE and all(map(_is_date, given)):
            values = set(given)
        else:
            return None
        ordered = tuple(sorted(values))
        return Range(kind, ordered[0], ordered[-1], ordered if every else None)

    @staticmethod
    def empty(kind: str) -> Range:
        """No value but NULL."""
        return Range(kind, 0, 0, ())

    def __or__(self, other: Range) -> Range:
        """The values of both."""
        ends = {self.lowest, self.highest, other.lowest, other.highest}
        each = None
        if self.each is not None and other.each is not None:
            each = tuple(sorted({*self.each, *other.each}))
        return Range(self.kind, min(ends), max(ends), each)

    def holds(self, column: exp.Expr, or_null: bool, *, of_change: bool = True) -> list[exp.Expr]:
        """Conditions that a column has one of the values.

        Args:
            column: The column.
            or_null: Whether it may be NULL, too, as an equality may take that for a key.
            of_change: Whether the values are keys of a change themselves.
        """
        if self.each == ():
            return [_is_null(column) if or_null else exp.false()]
        choices = [[self._within(column, *interval) for interval in self.intervals]]
        if self.each is not None and sum(map(_width, self.intervals)) > len(self.each):
            choices.append([exp.In(this=column.copy(), expressions=self._listed(self.each))])
        bound = self.bound(of_change)
        for first, *_ in choices:
            first.meta[BOUNDS] = bound
        if or_null:
            choices = [[*choice, _is_null(column)] for choice in choices]
        return [exp.or_(*choice, copy=False) for choice in choices]

    @cached_property
    def intervals(self) -> list[Interval]:
        """The intervals in which the values lie: the whole range, cut at its widest gaps.

        Delta leaves out files by the lowest and the highest value of a list, but looks at each
        interval by itself.
        """
        whole = (self.lowest, self.highest)
        if self.each is None:
            return [whole]
        narrow = _width(whole) * _NARROW if len(self.each) > _MOST_INTERVALS else 0
        gaps = [gap for gap in itertools.pairwise(self.each) if _width(gap) > max(2, narrow)]
        widest = sorted(sorted(gaps, key=_width)[1 - _MOST_INTERVALS :])
        starts = [self.lowest, *(after for _, after in widest)]
        ends = [*(before for before, _ in widest), self.highest]
        return list(zip(starts, ends, strict=True))

    def bound(self, of_change: bool) -> Bound:
        """What the conditions state.

        Args:
            of_change: Whether the values are keys of a change themselves.
        """
        listed = None if self.each is None else len(self.each)
        return Bound(tuple(map(_ordinals, self.intervals)), listed, of_change)

    def _within(self, column: exp.Expr, low: Value, high: Value) -> exp.Expr:
        if low == high:
            return exp.EQ(this=column.copy(), expression=self._literal(low))
        return exp.Between(this=column.copy(), low=self._literal(low), high=self._literal(high))

    def _listed(self, values: Sequence[Value]) -> list[exp.Expr]:
        """Values as literals; of many one text, as each plan and its SQL copies them many times."""
        if len(values) <= _MOST_NODES:
            return [self._literal(value) for value in values]
        shape = "{}" if isinstance(values[0], int) else "CAST('{}' AS DATE)"
        return [exp.var(", ".join(map(shape.format, values)))]

    def _literal(self, value: Value) -> exp.Expr:
        if isinstance(value, int):
            return exp.convert(value)
        return exp.cast(exp.Literal.string(value), DATE)


def _is_null(column: exp.Expr) -> exp.Expr:
    return exp.Is(this=column.copy(), expression=exp.Null())


def _ordinals(interval: Interval) -> Ordinals:
    low, high = (
        value if isinstance(value, int) else dt.date.fromisoformat(value).toordinal()
        for value in interval
    )
    return low, high


def _width(interval: Interval) -> int:
    """How many values an interval has."""
    low, high = _ordinals(interval)
    return high - low + 1


def _is_date(text: str) -> bool:
    """Whether Python has that day, too: Spark's years go from below 0 to beyond 9999."""
    if not _ISO_DATE.fullmatch(text):
        return False
    try:
        dt.date.fromisoformat(text)
    except ValueError:
        return False
    return True


def either(bounds: Sequence[Bound]) -> Bound:
    """A bound that holds where any of several does."""
    intervals: list[Ordinals] = []
    for low, high in sorted(interval for bound in bounds for interval in bound.intervals):
        if intervals and low <= intervals[-1][1]:
            low, high = intervals[-1][0], max(high, intervals.pop()[1])
        intervals.append((low, high))
    listed = [bound.values for bound in bounds if bound.is_few]
    few = sum(listed) if len(listed) == len(bounds) else None
    return Bound(tuple(intervals), few, joined=False)


def bound_of(condition: exp.Expr) -> Bound | None:
    """What a condition states that :meth:`Range.holds` gave; None of another one."""
    found = (part.meta[BOUNDS] for part in condition.walk() if BOUNDS in part.meta)
    return next(found, None)


def is_bound(condition: exp.Expr) -> bool:
    """Whether a condition is one that :meth:`Range.holds` gave."""
    return bound_of(condition) is not None


def with_conditions(node: Node, conditions: list[exp.Expr], *, stays_left: bool) -> Node:
    """A join with further conditions, of a semijoin's left side if they are of its column."""
    assert isinstance(node, (Join, LeftJoin, SemiJoin))
    if isinstance(node, SemiJoin) and stays_left:
        return replace(node, left=Filter(node.left, exp.and_(*conditions)))
    return replace(node, conditions=(*node.conditions, *conditions))
