"""Bounds on join keys from the changed rows, so that only files are read that can hold a match.

What joins a changed row by an equality has that row's key. That it has one of the changed rows'
keys is a condition on the other side that the equality implies: it changes no result, Delta skips
the files, and Parquet the row groups, whose statistics do not fit, and few rows come to the join.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from sqlglot import exp

from python_ivm.algebra.columns import ColumnRef, columns_of
from python_ivm.algebra.conditions import conjuncts
from python_ivm.algebra.nodes import Filter, Join, LeftJoin, Node, SemiJoin
from python_ivm.algebra.normalize import bottom_up
from python_ivm.optimize.analysis.provenance import (
    DATE,
    WHOLE_NUMBERS,
    Key,
    Kinds,
    Origins,
    equalities,
    family,
    keeps,
)

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


Ask = Callable[[Collection[Key]], Mapping[Key, Range]]
"""Ranges of columns of changes; one that has only NULLs or is not known is left out."""
Large = Callable[[str], bool]
"""Whether a source is so large that it pays to bound what is read of it."""


def bounded(
    plan: Node,
    outputs: Collection[ColumnRef],
    target: str,
    kinds: Kinds,
    ask: Ask,
    large: Large,
) -> tuple[Node, dict[ColumnRef, Range]]:
    """Bound what is joined to changed rows.

    Args:
        plan: A plan that reads changes.
        outputs: Columns of the plan whose ranges bound the target.
        target: The source into which the plan's rows go.
        kinds: The types of the sources' columns.
        ask: Gives the ranges; not asked where none is of use.
        large: Whether to bound the reads of a source; not asked where no key bounds them.

    Returns:
        The plan with further conditions, and the ranges of those outputs that have one.
    """
    traced = _Traced(kinds, large)
    traces = ((ref, traced.origins.keys(plan, ref)) for ref in outputs)
    found = {ref: keys for ref, keys in traces if keys and large(target)}
    wanted = {key for keys in found.values() for key in keys}
    for node in plan.walk():
        wanted.update(key for implied in traced.implied(node) for key in implied.keys)
    ranges = ask(wanted) if wanted else {}

    def rule(node: Node) -> Node:
        for implied in list(traced.implied(node)):
            range_ = _united(implied.keys, ranges)
            if range_ is not None:
                conditions = range_.holds(implied.column.expression(), implied.or_null)
                node = with_conditions(node, conditions, stays_left=implied.stays_left)
        return node

    known = {ref: _united(keys, ranges) for ref, keys in found.items()}
    return bottom_up(plan, rule), {ref: r for ref, r in known.items() if r is not None}


def looked_up(
    plan: Node, outputs: Collection[ColumnRef], target: str, kinds: Kinds
) -> frozenset[Key]:
    """The columns by which tables are looked up by changed keys, the target's among them.

    A table that is laid out by such a column is read in part only.

    Args:
        plan: A plan that reads changes.
        outputs: Columns of the plan that the target's rows are found by.
        target: The source into which the plan's rows go.
        kinds: The types of the sources' columns.
    """
    traced = _Traced(kinds, lambda source: True)
    found = {Key(target, ref.name) for ref in outputs if traced.origins.keys(plan, ref)}
    for node in plan.walk():
        for implied in traced.implied(node):
            found |= traced.read(node, implied.column)
    return frozenset(found)


def with_conditions(node: Node, conditions: list[exp.Expr], *, stays_left: bool) -> Node:
    """A join with further conditions, of a semijoin's left side if they are of its column."""
    assert isinstance(node, (Join, LeftJoin, SemiJoin))
    if isinstance(node, SemiJoin) and stays_left:
        return replace(node, left=Filter(node.left, exp.and_(*conditions)))
    return replace(node, conditions=(*node.conditions, *conditions))


def narrowest(plan: Node) -> Node:
    """Leave out a column's bounds beside one that leaves fewer of its values.

    Each is implied by an equality, so that none is missed.

    Args:
        plan: A plan with bounds.
    """

    def rule(node: Node) -> Node:
        if isinstance(node, Filter):
            conditions = conjuncts(node.condition)
            kept = _narrowest(conditions)
            return node if kept == conditions else Filter(node.input, exp.and_(*kept))
        if isinstance(node, (Join, LeftJoin, SemiJoin)):
            return replace(node, conditions=tuple(_narrowest(node.conditions)))
        return node

    return bottom_up(plan, rule)


def _narrowest(conditions: Sequence[exp.Expr]) -> list[exp.Expr]:
    bounds = [(frozenset(columns_of(condition)), bound_of(condition)) for condition in conditions]
    least: dict[frozenset[ColumnRef], int] = {}
    for columns, bound in bounds:
        if bound is not None:
            least[columns] = min(bound.values, least.get(columns, bound.values))
    every = zip(conditions, bounds, strict=True)
    return [c for c, (columns, b) in every if b is None or b.values == least[columns]]


def _united(keys: Collection[Key], ranges: Mapping[Key, Range]) -> Range | None:
    if not keys or any(key not in ranges for key in keys):
        return None
    return reduce(Range.__or__, (ranges[key] for key in sorted(keys)))


@dataclass(frozen=True)
class _Implied:
    """A column that equals one of a change.

    Attributes:
        column: The column to bound.
        keys: The columns of changes that hold the other column's values.
        or_null: Whether NULL equals NULL.
        stays_left: Whether it is one of a semijoin's left side, from which rows are kept.
    """

    column: ColumnRef
    keys: frozenset[Key]
    or_null: bool
    stays_left: bool


class _Traced:
    """What the keys of changes bound."""

    def __init__(self, kinds: Kinds, large: Large) -> None:
        self._kinds = kinds
        self._large = large
        self.origins = Origins(kinds)

    def implied(self, node: Node) -> Iterator[_Implied]:
        """The columns below a join that an equality bounds."""
        for changed, read, or_null in equalities(node):
            giving = self.origins.input_with(node, changed)
            reading = self.origins.input_with(node, read)
            if giving is None or reading is None or giving is reading or keeps(node, read):
                continue
            keys = self.origins.keys(giving, changed)
            if keys and self._is_read(reading, read, keys):
                stays_left = isinstance(node, SemiJoin) and reading is node.left
                yield _Implied(read, keys, or_null, stays_left)

    def read(self, node: Node, column: ColumnRef) -> frozenset[Key]:
        """The tables' columns that one of a join's inputs shows as a column."""
        below = self.origins.input_with(node, column)
        return self.origins.read(below, column) if below is not None else frozenset()

    def _is_read(self, node: Node, column: ColumnRef, keys: frozenset[Key]) -> bool:
        """Whether a column comes from large tables, with values like those of the keys."""
        read = {key.source for key in self.origins.read(node, column)}
        if not read:
            return False
        families = {family(self._kinds(key.source, key.column)) for key in keys}
        # The types of the state's own columns are not known: they are the keys of its groups.
        known = [kind for kind in self.origins.kinds(node, column) if kind is not None]
        families |= set(map(family, known))
        return len(families) == 1 and any(map(self._large, sorted(read)))
