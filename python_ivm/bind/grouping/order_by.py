"""The keys of ORDER BY, over the columns below the projection."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from python_ivm.bind.grouping.post_aggregation import PostAggregation


def order_key(
    key: exp.Ordered,
    outputs: Mapping[str, exp.Expr],
    rewrite: PostAggregation | None,
) -> exp.Ordered:
    """A sort key over the columns below the projection: an output name means its expression."""
    copied = key.copy()
    inner = copied.this
    if isinstance(inner, exp.Literal) and not inner.is_string:
        names = list(outputs)
        inner = outputs[names[int(inner.name) - 1]].copy()
    else:
        for column in (
            [inner] if isinstance(inner, exp.Column) else list(inner.find_all(exp.Column))
        ):
            if not column.table and column.name in outputs:
                found = outputs[column.name].copy()
                if column is inner:
                    inner = found
                else:
                    column.replace(found)
    if rewrite is not None:
        inner = rewrite.apply(inner)
    copied.set("this", inner)
    return copied


def is_constant(expression: exp.Expr) -> bool:
    """Whether a sort key is a literal: it sorts nothing, and emitted it would be an ordinal."""
    inner = expression
    while isinstance(inner, (exp.Neg, exp.Paren)):
        inner = inner.this
    return isinstance(inner, (exp.Literal, exp.Null, exp.Boolean))
