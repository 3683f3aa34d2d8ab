"""A condition that asks the clock: ΔX filtered by it now, and the rows of X_pre that flipped.

The clock is a source that changes by itself. The rows that only it moves in or out are those of the
old input whose condition gives another answer now than at the last refresh. Where each conjunct
compares an expression of columns with one of the clock, they lie in a range, which is written out
so that Delta reads only the files that can have such rows.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from python_ivm.algebra.conditions import conjuncts
from python_ivm.algebra.nodes import ClockFilter, Filter
from python_ivm.algebra.term import Changes, Inner, Term
from python_ivm.sources.clock import CLOCK, before, readings

_MIRRORED: dict[type[exp.Expr], type[exp.Binary]] = {
    exp.LT: exp.GT,
    exp.LTE: exp.GTE,
    exp.GT: exp.LT,
    exp.GTE: exp.LTE,
    exp.EQ: exp.EQ,
}

_NEVER_NULL = (
    exp.Placeholder, exp.Literal, exp.Interval, exp.Var, exp.Paren, exp.Neg, exp.Add, exp.Sub,
    exp.Mul, exp.DataType, exp.DataTypeParam, exp.TsOrDsAdd, exp.TsOrDsToDate, exp.DateAdd,
    exp.DateSub, exp.AddMonths, exp.LastDay, exp.DateTrunc, exp.TimestampTrunc, exp.Year, exp.Month,
)  # fmt: skip
"""What gives a value for every instant; by NULLs, other rows than those of a range could flip."""


_TIMES = ("date", "timestamp", "timestamptz", "timestampntz")


def delta(node: ClockFilter, changes: Changes, inner: Inner) -> list[Term]:
    """The input's terms, filtered as of now, and the rows that the clock moved in or out."""
    terms = [
        replace(term, plan=Filter(term.plan, term.over(node.condition)))
        for term in inner(node.input, changes)
    ]
    if CLOCK in changes.inserts_only:
        came = exp.Case().when(node.condition.copy(), exp.Literal.number(1))
        count = came.else_(exp.Literal.number(-1))
        plan = Filter(changes.pre(node.input), flipped(node.condition))
        terms.append(Term(plan, count, False, "rows that the clock moved in or out"))
    return terms


def flipped(condition: exp.Expr) -> exp.Expr:
    """Whether a condition gives another answer now than at the last refresh."""
    parts = conjuncts(condition)
    ranges = [_range(part) for part in parts]
    found = [r for r in ranges if r is not None]
    if len(found) == 1 and len(parts) == 1 and not isinstance(parts[0], exp.EQ):
        return found[0]
    other = exp.NEQ(this=_true(condition), expression=_true(before(condition)))
    if len(found) < len(parts):
        return other
    return exp.and_(exp.or_(*found), other)


def _true(condition: exp.Expr) -> exp.Expr:
    return exp.func("coalesce", condition.copy(), exp.false())


def _range(condition: exp.Expr) -> exp.Expr | None:
    """The rows between an expression of the clock then and now; None if there is no such range."""
    kind = type(condition)
    if kind not in _MIRRORED:
        return None
    value, limit = condition.this, condition.expression
    if readings(value):
        value, limit, kind = limit, value, _MIRRORED[kind]
    if readings(value) or limit.find(exp.Column) or not _never_null(limit):
        return None
    old, new = before(limit), limit.copy()
    if kind is exp.EQ:
        return exp.or_(*(exp.EQ(this=value.copy(), expression=limit) for limit in (old, new)))
    low, high = exp.func("least", old, new), exp.func("greatest", old.copy(), new.copy())
    # x >= t and x < t turn for the limits that x lies below or on; x > t and x <= t for the others.
    from_, to = (exp.GTE, exp.LT) if kind in (exp.GTE, exp.LT) else (exp.GT, exp.LTE)
    return exp.and_(
        from_(this=value.copy(), expression=low), to(this=value.copy(), expression=high)
    )


def _never_null(limit: exp.Expr) -> bool:
    return all(
        isinstance(node, _NEVER_NULL) or (isinstance(node, exp.Cast) and node.to.is_type(*_TIMES))
        for node in limit.walk()
    )
