"""Sums, and averages by sums."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from python_ivm.algebra.columns import Named
from python_ivm.algebra.conditions import not_null, operand
from python_ivm.state.counters import (
    CHANGE,
    Counter,
    OfArgument,
    added,
    change,
    column_of,
    is_negative,
    stored,
)
from python_ivm.state.sum_types import SqlType, SumKind

OVERFLOW = "a maintained sum has more than 38 digits"
"""The error of a MERGE in which a sum overflows."""


@dataclass(frozen=True)
class Total(OfArgument):
    """A sum; NULL where no argument of the group is not NULL.

    Whole numbers and decimals add up exactly. Floating sums are only ever added to: where a value
    leaves a group, the group is summed anew (docs/decisions/0003).
    """

    kind: SumKind = SumKind.INTEGRAL
    nonnull: str = ""
    decimal: str = ""
    """The type of a decimal sum, in which a contribution must stay lest an addition lose digits."""

    @property
    def recomputable(self) -> bool:
        """Only floating sums are recomputed."""
        return self.kind is SumKind.FLOATING

    def build(self) -> exp.Expr:
        """``sum(argument)``."""
        return exp.Sum(this=self.argument.copy())

    def contributions(self, count: exp.Expr, inserts_only: bool) -> tuple[Named, ...]:
        """The sum of argument times count; for floating sums also how many values left."""
        argument, times = self.argument.copy(), count.copy()
        if self.kind is SumKind.INTEGRAL:
            argument = exp.cast(argument, "bigint")
        elif self.kind is SumKind.DECIMAL:
            times = exp.cast(times, "int")
        gained: exp.Expr = exp.Sum(this=exp.Mul(this=operand(argument), expression=operand(times)))
        if self.decimal:
            gained = exp.cast(gained, self.decimal)
        total = Named(self.name, gained)
        if self.kind is not SumKind.FLOATING or inserts_only:
            return (total,)
        left = exp.And(this=is_negative(count), expression=not_null(self.argument))
        gone = exp.Case().when(left, exp.Literal.number(1)).else_(exp.Literal.number(0))
        return (total, Named(self._gone, exp.Sum(this=gone)))

    def merged(self) -> exp.Expr:
        """Stored plus change, NULL where no value is left."""
        zero = exp.Literal.number(0)
        total = exp.Add(
            this=exp.func("coalesce", stored(self.name), zero.copy()),
            expression=exp.func("coalesce", change(self.name), zero.copy()),
        )
        return _over_some(added(self.nonnull), total)

    def inserted(self) -> exp.Expr:
        """The change, NULL where its values cancel out."""
        return _over_some(change(self.nonnull), change(self.name))

    def lost(self, changed: str = CHANGE) -> exp.Expr | None:
        """For a floating sum, when a value left the group."""
        if self.kind is not SumKind.FLOATING:
            return None
        return exp.GT(this=column_of(changed, self._gone), expression=exp.Literal.number(0))

    def moves(self, changed: str) -> exp.Expr | None:
        """When something is added; NULL over no values, which an OR takes for false."""
        if self.kind is SumKind.FLOATING:
            return None
        return exp.NEQ(this=column_of(changed, self.name), expression=exp.Literal.number(0))


@dataclass(frozen=True)
class WideTotal(Total):
    """A decimal sum that 38 digits may not hold: where they do not, the refresh stops.

    Without ANSI mode Spark turns a product or a sum that overflows into NULL; taken for a missing
    value, it would make the stored sum wrong (docs/decisions/0002).
    """

    def contributions(self, count: exp.Expr, inserts_only: bool) -> tuple[Named, ...]:
        """The sum of argument times count, 0 over no values, so that NULL is an overflow."""
        argument = self.argument.copy()
        times = exp.cast(count.copy(), "int")
        product = exp.Mul(this=operand(argument), expression=times)
        gained = (
            exp.Case()
            .when(not_null(self.argument), _unless_overflown(product))
            .else_(exp.Literal.number(0))
        )
        return (Named(self.name, exp.cast(exp.Sum(this=gained), self.decimal)),)

    def merged(self) -> exp.Expr:
        """Stored plus change, NULL where no value is left."""
        zero = exp.Literal.number(0)
        before = exp.Case().when(
            exp.EQ(this=stored(self.nonnull), expression=zero.copy()), zero.copy()
        ).else_(stored(self.name))  # fmt: skip
        total = exp.Add(this=before, expression=change(self.name))
        return _over_some(added(self.nonnull), _unless_overflown(total))

    def inserted(self) -> exp.Expr:
        """The change, NULL where its values cancel out."""
        return _over_some(change(self.nonnull), _unless_overflown(change(self.name)))

    def moves(self, changed: str) -> exp.Expr | None:
        """When something is added, or nobody knows what."""
        zero = exp.Literal.number(0)
        return exp.NullSafeNEQ(this=column_of(changed, self.name), expression=zero)


@dataclass(frozen=True)
class WideAverage(Counter):
    """An average of decimals whose sum is a :class:`WideTotal`, divided anew where that changes.

    It is stored, not divided by the view: a build takes it from Spark, however many digits it has.
    Where an exact division would take more than there are, the refresh stops.
    """

    total: WideTotal
    sql_type: SqlType

    @property
    def values(self) -> tuple[exp.Expr, ...]:
        """The argument."""
        return self.total.values

    def build(self) -> exp.Expr:
        """``avg(argument)``."""
        return exp.Avg(this=self.total.argument.copy())

    def contributions(self, count: exp.Expr, inserts_only: bool) -> tuple[Named, ...]:
        """None but those of the sum and its count."""
        return ()

    def merged(self) -> exp.Expr:
        """The new sum by the new count. An overflow of the sum stops the refresh by itself."""
        before = exp.func("coalesce", stored(self.total.name), exp.Literal.number(0))
        total = exp.Add(this=before, expression=change(self.total.name))
        return self._divided(total, added(self.total.nonnull))

    def inserted(self) -> exp.Expr:
        """The change of the sum by that of the count."""
        return self._divided(change(self.total.name), change(self.total.nonnull))

    def moves(self, changed: str) -> exp.Expr | None:
        """With its sum; where only NULLs or zeros came, the count tells."""
        return self.total.moves(changed)

    def _divided(self, total: exp.Expr, count: exp.Expr) -> exp.Expr:
        quotient = average(operand(total), operand(count), self.sql_type)
        return _over_some(count, _unless_overflown(quotient))


def average(total: exp.Expr, count: exp.Expr, sql_type: SqlType) -> exp.Expr:
    """Spark's ``avg`` from a sum and a count of values, not 0, in value and type.

    Spark's Average divides decimals into 38 digits and rounds once, to four more digits than the
    argument has. The operator ``/`` would round twice, so that the quotient is taken apart into
    its whole part and its fraction, each of which one rounding gives.
    """
    if sql_type.kind is not SumKind.DECIMAL:
        return exp.Div(this=exp.cast(total.copy(), "double"), expression=count.copy())
    precision, scale = sql_type.precision, sql_type.scale
    rest = exp.Mod(this=total.copy(), expression=count.copy())
    whole = exp.Div(
        this=exp.paren(exp.Sub(this=total.copy(), expression=exp.paren(rest.copy()))),
        expression=count.copy(),
    )
    fraction = exp.Div(this=exp.paren(rest), expression=count.copy())
    parts = exp.Add(
        this=exp.cast(whole, f"decimal({max(1, min(precision - scale, 33 - scale))},0)"),
        expression=exp.cast(fraction, f"decimal({scale + 5},{scale + 4})"),
    )
    return exp.cast(parts, f"decimal({min(38, precision + 4)},{scale + 4})")


def _over_some(count: exp.Expr, value: exp.Expr) -> exp.Expr:
    """An aggregate's value, or NULL if `count`, the number of its values, is 0."""
    return exp.Case().when(exp.GT(this=count, expression=exp.Literal.number(0)), value)


def _unless_overflown(expression: exp.Expr) -> exp.Expr:
    error = exp.Anonymous(this="raise_error", expressions=[exp.Literal.string(OVERFLOW)])
    return exp.func("coalesce", expression, error)
