"""The stored columns from which aggregates are maintained.

A counter knows how it is built from all rows, what a delta contributes to it, how a contribution
is merged into the stored value, and when the stored value is lost, so that the group must be
recomputed. Sources: Gupta, Mumick and Subrahmanian, "Maintaining Views Incrementally", SIGMOD
1993 (counting); Palpanas et al., "Incremental Maintenance for Non-Distributive Aggregate
Functions", VLDB 2002 (affected groups); Nagata et al., §2.5.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from python_ivm.algebra.columns import Named
from python_ivm.algebra.conditions import not_null, operand
from python_ivm.algebra.nodes import COUNT
from python_ivm.functions.aggregates import (
    arguments,
    condition,
    core,
    is_aggregate_call,
    within_group,
)

_NULL = exp.Null()

STORED = "stored"
"""The alias of the state table in a MERGE."""
CHANGE = "change"
"""The alias of a MERGE's source."""


def column_of(relation: str, name: str) -> exp.Column:
    """A column of a relation of the MERGE."""
    return exp.column(name, table=relation, quoted=True)


def stored(name: str) -> exp.Column:
    """A column of the state table in a MERGE."""
    return column_of(STORED, name)


def change(name: str) -> exp.Column:
    """A column of a MERGE's source."""
    return column_of(CHANGE, name)


def added(name: str) -> exp.Add:
    """A stored number and its change."""
    return exp.Add(this=stored(name), expression=change(name))


def hidden(name: str, purpose: str) -> str:
    """A name beside a counter's that neither a column of a model nor another counter can have."""
    return f"{name}{purpose}" if name.startswith("__ivm_") else f"__ivm_{name}_{purpose}__"


@dataclass(frozen=True)
class Counter:
    """A stored column of an aggregate's state.

    Attributes:
        name: The column's name in the state table.
    """

    name: str

    @property
    def recomputable(self) -> bool:
        """Whether a group's stored value can be lost."""
        return False

    @property
    def values(self) -> tuple[exp.Expr, ...]:
        """What the value takes of each row."""
        return ()

    def build(self) -> exp.Expr:
        """The aggregate over all rows of a group that gives the stored value."""
        raise NotImplementedError

    def contributions(self, count: exp.Expr, inserts_only: bool) -> tuple[Named, ...]:
        """Aggregates over a group's delta rows, whose signed multiplicity is ``count``."""
        raise NotImplementedError

    def merged(self) -> exp.Expr:
        """The new value of a stored group, from :func:`stored` and :func:`change` columns."""
        raise NotImplementedError

    def inserted(self) -> exp.Expr:
        """The value of a new group."""
        return change(self.name)

    def lost(self, changed: str = CHANGE) -> exp.Expr | None:
        """When a stored group's value cannot be derived; None where it always can.

        Args:
            changed: The relation that holds the contributions.
        """
        return None

    def moves(self, changed: str) -> exp.Expr | None:
        """When a contribution alters the value; None where that cannot be told."""
        return exp.NEQ(this=column_of(changed, self.name), expression=exp.Literal.number(0))


@dataclass(frozen=True)
class Rows(Counter):
    """The number of rows of the group."""

    name: str = COUNT

    def build(self) -> exp.Expr:
        """``count(*)``."""
        return exp.Count(this=exp.Star())

    def contributions(self, count: exp.Expr, inserts_only: bool) -> tuple[Named, ...]:
        """The sum of the signed counts."""
        return (Named(self.name, exp.Sum(this=count.copy())),)

    def merged(self) -> exp.Expr:
        """Stored plus change."""
        return added(self.name)


@dataclass(frozen=True)
class NonNull(Counter):
    """The number of rows in which all arguments are not NULL."""

    arguments: tuple[exp.Expr, ...] = ()

    @property
    def values(self) -> tuple[exp.Expr, ...]:
        """The arguments."""
        return self.arguments

    def build(self) -> exp.Expr:
        """``count(arguments)``."""
        first, *others = (a.copy() for a in self.arguments)
        return exp.Count(this=first, expressions=others)

    def contributions(self, count: exp.Expr, inserts_only: bool) -> tuple[Named, ...]:
        """The sum of the signed counts of the rows that count."""
        present = exp.and_(*(not_null(a) for a in self.arguments))
        counted = exp.Case().when(present, count.copy()).else_(exp.Literal.number(0))
        return (Named(self.name, exp.Sum(this=counted)),)

    def merged(self) -> exp.Expr:
        """Stored plus change."""
        return added(self.name)


@dataclass(frozen=True)
class OfArgument(Counter):
    """A counter of one argument's values."""

    argument: exp.Expr = _NULL

    @property
    def values(self) -> tuple[exp.Expr, ...]:
        """The argument."""
        return (self.argument,)

    @property
    def _gone(self) -> str:
        """What a delta's rows that went contribute."""
        return hidden(self.name, "gone")


@dataclass(frozen=True)
class Extremum(OfArgument):
    """A minimum or maximum: kept on insert, recomputed where the extreme value itself left."""

    smallest: bool = True

    @property
    def recomputable(self) -> bool:
        """Always possible."""
        return True

    def _extreme(self, argument: exp.Expr) -> exp.Expr:
        return exp.Min(this=argument) if self.smallest else exp.Max(this=argument)

    def build(self) -> exp.Expr:
        """``min(argument)`` or ``max(argument)``."""
        return self._extreme(self.argument.copy())

    def contributions(self, count: exp.Expr, inserts_only: bool) -> tuple[Named, ...]:
        """The extreme value among the rows that came, and among those that went."""
        if inserts_only:
            return (Named(self.name, self.build()),)
        came = exp.Case().when(exp.Not(this=is_negative(count)), self.argument.copy())
        went = exp.Case().when(is_negative(count), self.argument.copy())
        return (Named(self.name, self._extreme(came)), Named(self._gone, self._extreme(went)))

    def merged(self) -> exp.Expr:
        """The more extreme of stored and new."""
        name = "least" if self.smallest else "greatest"
        return exp.func(name, stored(self.name), change(self.name))

    def lost(self, changed: str = CHANGE) -> exp.Expr | None:
        """When the stored value, or one beyond it, went."""
        compare = exp.LTE if self.smallest else exp.GTE
        return compare(this=column_of(changed, self._gone), expression=stored(self.name))

    def moves(self, changed: str) -> exp.Expr | None:
        """Cannot be told without the stored value."""
        return None


@dataclass(frozen=True)
class Recomputed(Counter):
    """Any other aggregate: computed anew for every group that the delta touches."""

    call: exp.Expr = _NULL

    @property
    def values(self) -> tuple[exp.Expr, ...]:
        """The arguments, the condition and the order of the aggregate inside."""
        found = next(part for part in self.call.walk() if is_aggregate_call(part))
        order = within_group(found)
        parts = [*arguments(core(found)), condition(found)]
        parts += [key.this for key in order.expressions] if order is not None else []
        every = [p.expressions if isinstance(p, exp.Distinct) else [p] for p in parts if p]
        return tuple(value for several in every for value in several)

    @property
    def recomputable(self) -> bool:
        """Always recomputed."""
        return True

    def build(self) -> exp.Expr:
        """The call itself."""
        return self.call.copy()

    def contributions(self, count: exp.Expr, inserts_only: bool) -> tuple[Named, ...]:
        """None."""
        return ()

    def merged(self) -> exp.Expr:
        """The stored value; used only where nothing was recomputed."""
        return stored(self.name)

    def inserted(self) -> exp.Expr:
        """Never used without recomputation."""
        return exp.Null()

    def lost(self, changed: str = CHANGE) -> exp.Expr | None:
        """Always."""
        return exp.true()

    def moves(self, changed: str) -> exp.Expr | None:
        """Cannot be told."""
        return None


@dataclass(frozen=True)
class Kept(OfArgument):
    """A column of a bag that Spark cannot compare; a key is its comparable form."""

    def build(self) -> exp.Expr:
        """Any of the values, as all of a group are the same."""
        return exp.AnyValue(this=self.argument.copy())

    def contributions(self, count: exp.Expr, inserts_only: bool) -> tuple[Named, ...]:
        """The value, of rows that came and that went."""
        return (Named(self.name, self.build()),)

    def merged(self) -> exp.Expr:
        """The stored value."""
        return stored(self.name)

    def moves(self, changed: str) -> exp.Expr | None:
        """When the row's count does."""
        return Rows().moves(changed)


def is_negative(count: exp.Expr) -> exp.Expr:
    """Whether a signed multiplicity is one of rows that went."""
    return exp.LT(this=operand(count.copy()), expression=exp.Literal.number(0))
