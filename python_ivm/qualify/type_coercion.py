"""Type coercion in comparisons: whether different values become equal by it."""

from __future__ import annotations

from sqlglot import exp

from python_ivm.errors import NotYetImplemented
from python_ivm.parse.trees import position
from python_ivm.qualify.relations import Relations

Type = exp.DType
_TEXTS = exp.DataType.TEXT_TYPES
_LARGE = frozenset({Type.BIGINT, Type.DECIMAL})
_FLOATING = frozenset({Type.FLOAT, Type.DOUBLE})


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
    equal. All other casts keep values apart.
    """
    one, other = _type(inner), _type(outer)
    if one in _TEXTS:
        return other in _TEXTS
    if one in _LARGE:
        return other not in _FLOATING
    return one is not None


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
