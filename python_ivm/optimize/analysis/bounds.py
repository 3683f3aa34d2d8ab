"""Bounds: conditions that a column has one of a change's keys, and how many values they leave."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from python_ivm.algebra.nodes import Filter, Join, LeftJoin, Node, SemiJoin
from python_ivm.optimize.analysis.provenance import DATE, WHOLE_NUMBERS

BOUNDS = "bounds"
"""The mark of a condition that was added: the :class:`Bound` that it states."""
_FEW = 1_000
"""So many values are few, if they are not listed."""
_MOST_NODES = 50
"""Up to so many values of a list are nodes of the expression."""
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d")


@dataclass(frozen=True)
class Bound:
    """That a column is one of some literals, or lies between two.

    Attributes:
        lowest: The lowest value that it may have; of a day its ordinal.
        highest: The highest one.
        listed: How many values are listed; None if all between these two may be.
        joined: Whether right there, to keys of what changed: there is neither a group nor a
            partition nor a union between these and the table, nor another table.
    """

    lowest: int
    highest: int
    listed: int | None = None
    joined: bool = True

    @property
    def values(self) -> int:
        """How many values are left."""
        return self.highest - self.lowest + 1 if self.listed is None else self.listed

    @property
    def is_few(self) -> bool:
        """Whether few are left."""
        return self.listed is not None or self.values <= _FEW


@dataclass(frozen=True)
class Range:
    """The values of a key but NULL: from where to where, and each of them if they are few.

    Attributes:
        kind: Their Spark type.
        lowest: The lowest one: a whole number, or a date as text, year first.
        highest: The highest one.
        each: All of them, sorted; None if they are many.
    """

    kind: str
    lowest: int | str
    highest: int | str
    each: tuple[int | str, ...] | None = None

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
        values: set[int | str]
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
        null = exp.Is(this=column.copy(), expression=exp.Null())
        if self.each == ():
            return [null if or_null else exp.false()]
        conditions: list[exp.Expr] = []
        if self.lowest == self.highest:
            conditions.append(exp.EQ(this=column.copy(), expression=self._literal(self.lowest)))
        else:
            low, high = self._literal(self.lowest), self._literal(self.highest)
            conditions.append(exp.Between(this=column.copy(), low=low, high=high))
        if self.each is not None and not self._without_gaps():
            conditions.append(exp.In(this=column.copy(), expressions=self._listed(self.each)))
        bound = self.bound(of_change)
        for condition in conditions:
            condition.meta[BOUNDS] = bound
        if not or_null:
            return conditions
        return [exp.paren(exp.or_(c, null.copy(), copy=False), copy=False) for c in conditions]

    def bound(self, of_change: bool) -> Bound:
        """What the conditions state.

        Args:
            of_change: Whether the values are keys of a change themselves.
        """
        lowest, highest = (
            value if isinstance(value, int) else dt.date.fromisoformat(value).toordinal()
            for value in (self.lowest, self.highest)
        )
        return Bound(lowest, highest, None if self.each is None else len(self.each), of_change)

    def _without_gaps(self) -> bool:
        low, high = self.lowest, self.highest
        if low == high or self.each is None:
            return True
        return isinstance(low, int) and isinstance(high, int) and high - low < len(self.each)

    def _listed(self, values: Sequence[int | str]) -> list[exp.Expr]:
        """Values as literals; of many one text, as each plan and its SQL copies them many times."""
        if len(values) <= _MOST_NODES:
            return [self._literal(value) for value in values]
        shape = "{}" if isinstance(values[0], int) else "CAST('{}' AS DATE)"
        return [exp.var(", ".join(map(shape.format, values)))]

    def _literal(self, value: int | str) -> exp.Expr:
        if isinstance(value, int):
            return exp.convert(value)
        return exp.cast(exp.Literal.string(value), DATE)


def _is_date(text: str) -> bool:
    """Whether Python has that day, too: Spark's years go from below 0 to beyond 9999."""
    if not _ISO_DATE.fullmatch(text):
        return False
    try:
        dt.date.fromisoformat(text)
    except ValueError:
        return False
    return True


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
