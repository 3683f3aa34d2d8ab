"""Type coercion in comparisons: whether different values become equal by it."""

from __future__ import annotations

from sqlglot import exp

from python_ivm.errors import NotYetImplemented
from python_ivm.parse.trees import position
from python_ivm.qualify.relations import Relations

Type = exp.DType
_TEXTS = exp.DataType.TEXT_TYPES
_FLOATING = frozenset({Type.FLOAT, Type.DOUBLE})
_DIGITS = 38
"""The most digits of a decimal: of two that need more together some are cut off."""
_OF_WHOLE = {Type.INT: (10, 0), Type.BIGINT: (20, 0)}
"""Precision and scale of the decimals to which Spark casts whole numbers."""


def annotate(tree: exp.Query, known: Relations) -> None:
    """Give the expressions of a qualified tree that has subqueries their types, in place.

    Where sqlglot cannot, none has one.
    """
    places = (exp.From, exp.Join, exp.SetOperation, exp.CTE, exp.Subquery)
    asks = tree.find(exp.Exists) or any(
        not isinstance(node.parent, places) for node in tree.find_all(exp.Subquery)
    )
    if asks:
        known.annotate(tree)


def alike(inner: exp.Expr, outer: exp.Expr) -> bool:
    """Whether no two values of one expression are equal to the same value of another one.

    Spark casts one of two values of unlike types. If it casts a text to a number, ``'1'`` and
    ``'01'`` are both equal to 1; if it casts large whole numbers to floating ones, neighbors are
    equal. So are decimals of which it cuts digits off, and two times of a clock that is put
    forward between them. All other casts keep values apart, or count for Spark as if they did: two
    numbers of type int that equal one float make two rows of a scalar subquery there, too.
    """
    one, other = _type(inner), _type(outer)
    if one in _TEXTS:
        return other in _TEXTS
    if one is Type.BIGINT:
        return other is not None and other not in _FLOATING and _keep_digits(inner, outer)
    if one is Type.DECIMAL:
        unlike = other is None or other in _FLOATING or other in _TEXTS
        return not unlike and _keep_digits(inner, outer)
    if one is Type.TIMESTAMPNTZ:
        return other in (Type.TIMESTAMPNTZ, Type.DATE)
    return one is not None


def _keep_digits(inner: exp.Expr, outer: exp.Expr) -> bool:
    """Whether the decimal to which Spark casts two exact numbers has all digits of both."""
    told = (_precision_and_scale(side) for side in (inner, outer))
    known = [digits for digits in told if digits is not None]
    if len(known) < 2:
        return False
    behind = max(scale for _, scale in known)
    before = max(precision - scale for precision, scale in known)
    return known[0] == known[1] or before + behind <= _DIGITS


def _precision_and_scale(side: exp.Expr) -> tuple[int, int] | None:
    """Those of a number, as a decimal; None if they are not known."""
    kind = _type(side)
    if kind is not Type.DECIMAL:
        return _OF_WHOLE.get(kind, _OF_WHOLE[Type.BIGINT]) if kind is not None else None
    parts = [part.this for part in side.type.expressions] if side.type is not None else []
    numbers = [int(part.name) for part in parts if part.name.isdigit()]
    return (numbers[0], numbers[1] if len(numbers) > 1 else 0) if numbers else None


def refuse_texts_among_others(asked: exp.Expr, listed: exp.Expr) -> None:
    """Refuse IN between a text and something else.

    Outside of ANSI mode Spark compares them as texts, where it casts the text for ``=``.

    Raises:
        NotYetImplemented: If one of them is a text, and the other one is not.
    """
    types = _type(asked), _type(listed)
    if None not in types and (types[0] in _TEXTS) != (types[1] in _TEXTS):
        raise NotYetImplemented(
            "IN between a text and values of another type",
            operator="IN",
            hint="Cast one of them.",
            **position(asked),
        )


def _type(expression: exp.Expr) -> exp.DType | None:
    found = expression.type
    if found is None or found.this in (Type.UNKNOWN, Type.NULL):
        return None
    return found.this if isinstance(found.this, Type) else None
