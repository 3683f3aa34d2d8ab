"""Equality of expressions as Spark sees it: parentheses and the order of operands do not count."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

_COMMUTATIVE = (
    exp.Add, exp.Mul, exp.And, exp.Or, exp.EQ, exp.NullSafeEQ, exp.BitwiseAnd, exp.BitwiseOr,
    exp.BitwiseXor,
)  # fmt: skip
_MIRRORED = ({exp.LT, exp.GT}, {exp.LTE, exp.GTE})


def same(one: exp.Expr, other: exp.Expr) -> bool:
    """Whether two expressions differ by parentheses, and by the order of operands, only."""
    one, other = one.unnest(), other.unnest()
    kinds = {type(one), type(other)}
    if len(kinds) > 1 and kinds not in _MIRRORED:
        return False
    if one == other or isinstance(one, exp.Column):
        return one == other
    return _canonical(one) == _canonical(other)


def _canonical(expression: exp.Expr) -> exp.Expr:
    """The expression as Spark compares it: ``1 + i`` as ``i + 1``, ``2 > i`` as ``i < 2``."""
    if isinstance(expression, exp.Paren):
        return _canonical(expression.this)
    if isinstance(expression, _COMMUTATIVE):
        operands = sorted(_operands(expression, type(expression)), key=repr)
        return exp.Tuple(expressions=[exp.Var(this=expression.key), *operands])
    copied = expression.copy()
    for child in list(copied.iter_expressions()):
        child.replace(_canonical(child))
    if isinstance(copied, (exp.GT, exp.GTE)):
        kind = exp.LT if isinstance(copied, exp.GT) else exp.LTE
        return kind(this=copied.expression, expression=copied.this)
    return copied


def _operands(expression: exp.Expr, kind: type[exp.Expr]) -> Iterator[exp.Expr]:
    """The canonical operands of a chain of one operator."""
    for side in (expression.this, expression.expression):
        inner = side.unnest()
        if type(inner) is kind and kind not in (exp.EQ, exp.NullSafeEQ):
            yield from _operands(inner, kind)
        else:
            yield _canonical(inner)
