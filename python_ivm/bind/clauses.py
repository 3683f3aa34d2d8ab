"""The clauses of a query that stand above FROM and WHERE."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from sqlglot import exp

from python_ivm.errors import NotYetImplemented
from python_ivm.functions.aggregates import is_aggregate_call
from python_ivm.parse.trees import position


@dataclass(frozen=True)
class Clauses:
    """The expressions of the clauses above FROM and WHERE.

    Attributes:
        names: The output columns' names.
        selects: Their expressions.
        having: HAVING's condition.
        qualify: QUALIFY's condition.
        order: The keys of ORDER BY.
    """

    names: tuple[str, ...]
    selects: tuple[exp.Expr, ...]
    having: exp.Expr | None
    qualify: exp.Expr | None
    order: tuple[exp.Ordered, ...]

    @property
    def expressions(self) -> list[exp.Expr]:
        """All expressions, in one order."""
        conditions = [c for c in (self.having, self.qualify) if c is not None]
        return [*self.selects, *conditions, *self.order]

    @property
    def aggregates(self) -> list[exp.Expr]:
        """The calls of aggregate functions in all expressions."""
        return [node for e in self.expressions for node in e.walk() if is_aggregate_call(node)]

    def over(self, expressions: Sequence[exp.Expr]) -> Clauses:
        """The clauses with other expressions, in the order of :attr:`expressions`."""
        given = iter(expressions)
        selects = tuple(next(given) for _ in self.selects)
        having = next(given) if self.having is not None else None
        qualify = next(given) if self.qualify is not None else None
        order = cast("tuple[exp.Ordered, ...]", tuple(given))
        return Clauses(self.names, selects, having, qualify, order)


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
