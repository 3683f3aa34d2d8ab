"""Conditions: their parts, and when they are true or NULL."""

from __future__ import annotations

from sqlglot import exp

from python_ivm.algebra.columns import ColumnRef, columns_of

_STRICT = (
    exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between, exp.Like, exp.Add, exp.Sub,
    exp.Mul, exp.Div, exp.Mod, exp.Neg, exp.Paren, exp.Column, exp.Identifier, exp.Literal,
    exp.Cast, exp.DataType,
)  # fmt: skip
"""Expressions of only these are NULL where one of their columns is."""


def operand(expression: exp.Expr) -> exp.Expr:
    """An expression in parentheses if it binds less tightly than a product."""
    loose = isinstance(expression, (exp.Binary, exp.Unary, exp.Between, exp.In))
    if loose and not isinstance(expression, (exp.Paren, exp.Dot)):
        return exp.paren(expression)
    return expression


def not_null(expression: exp.Expr) -> exp.Expr:
    """Whether an expression has a value."""
    return exp.Not(this=exp.Is(this=operand(expression.copy()), expression=exp.Null()))


def conjuncts(condition: exp.Expr) -> list[exp.Expr]:
    """The terms of a conjunction."""
    return _terms(condition, exp.And)


def common_conjuncts(condition: exp.Expr) -> list[exp.Expr]:
    """The terms of a conjunction; those that all sides of a disjunction share come out of it.

    ``(a and b) or (a and c)`` is ``a`` and ``b or c``, with NULLs, too.
    """
    found: list[exp.Expr] = []
    for term in conjuncts(condition):
        sides = [conjuncts(side) for side in _terms(term, exp.Or)]
        shared = [c for c in sides[0] if all(c in side for side in sides)]
        if len(sides) == 1 or not shared:
            found.append(term)
            continue
        rest = [[c for c in side if c not in shared] for side in sides]
        found += shared
        if all(rest):
            found.append(exp.paren(exp.or_(*(exp.and_(*side) for side in rest)), copy=False))
    return found


def _terms(condition: exp.Expr, connector: type[exp.Connector]) -> list[exp.Expr]:
    if isinstance(condition, exp.Paren):
        return _terms(condition.this, connector)
    if isinstance(condition, connector):
        return [*_terms(condition.left, connector), *_terms(condition.right, connector)]
    return [condition]


def null_rejected(condition: exp.Expr) -> set[ColumnRef]:
    """The columns without whose value a condition is not true."""
    condition = condition.unnest()
    if isinstance(condition, exp.Not) and isinstance(condition.this.unnest(), exp.Is):
        inner = condition.this.unnest()
        if not isinstance(inner.expression, exp.Null):
            return set()
        condition = inner.this
    if all(isinstance(part, _STRICT) for part in condition.walk()):
        return columns_of(condition)
    return set()


def true_or_null(comparison: exp.Expr) -> exp.Expr:
    """Whether a comparison is not false, as Spark writes it where it looks for NOT IN."""
    null = exp.Is(this=exp.paren(comparison), expression=exp.Null())
    return exp.or_(comparison, null, copy=False)
