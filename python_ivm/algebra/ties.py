"""Values that only break ties, marked until their types are known.

A plan orders rows that the user's order leaves equal. Not every type has an order: what a value is
compared by is decided when the plan is complete (``bind/ties.py``).
"""

from __future__ import annotations

from sqlglot import exp

_TIE = "__ivm_tie__"


def tie(value: exp.Expr) -> exp.Anonymous:
    """A value to compare rows by, whatever its type."""
    return exp.Anonymous(this=_TIE, expressions=[value.copy()])


def tied(node: object) -> exp.Expr | None:
    """The value that a mark is around; None if a node is no mark."""
    if isinstance(node, exp.Anonymous) and node.name == _TIE:
        value: exp.Expr = node.expressions[0]
        return value
    return None
