"""ORDER BY, LIMIT and OFFSET of a query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from python_ivm.bind.grouping.post_aggregation import (AfterGrouping)
from python_ivm.errors import NotYetImplemented
from python_ivm.parse.parser import position


@dataclass(frozen=True)
class Order:
    """What stands behind a query's rows."""

    keys: tuple[exp.Ordered, ...]
    limit: exp.Expr | None
    offset: exp.Expr | None


def modifiers(tree: exp.Expr) -> Order | None:
    """ORDER BY, LIMIT and OFFSET of a query."""
    order, limit, offset = (tree.args.get(k) for k in ("order", "limit", "offset"))
    if order is None and limit is None and offset is None:
        return None
    if limit is not None and not isinstance(limit, exp.Limit):
        raise NotYetImplemented("FETCH", operator="FETCH", **position(limit))
    keys = tuple(order.expressions) if order else ()
    return Order(
        keys,
        limit.expression if limit else None,
        offset.expression if offset else None,
    )


def write_out_all(query: exp.Query) -> None:
    """``ORDER BY ALL`` as the ordinals of all output columns, in place."""
    order = query.args.get("order")
    if order is None or len(order.expressions) != 1:
        return
    (key,) = order.expressions
    names = query.named_selects
    if not isinstance(key.this, exp.Var) or key.name.lower() != "all":
        return
    if "all" in names:  # a column comes first
        key.set("this", exp.column("all", quoted=True))
        return
    keys = []
    for number in range(1, len(names) + 1):
        copied = key.copy()
        copied.set("this", exp.Literal.number(number))
        keys.append(copied)
    order.set("expressions", keys)


def order_key(
    key: exp.Ordered,
    outputs: Mapping[str, exp.Expr],
    rewrite: AfterGrouping | None,
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
