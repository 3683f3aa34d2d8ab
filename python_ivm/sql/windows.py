"""Window functions in expressions: one Window operator for each PARTITION BY.

Where a function's value depends on the order of rows that its ORDER BY leaves equal, all columns
that the query uses are added to the order. The value is then one that Spark could give, and the
same one whenever the partition is computed again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlglot import exp

from python_ivm.algebra.nodes import (
    ColumnRef,
    Named,
    Node,
    Window,
    columns_of,
    flat_names,
    substitute,
)
from python_ivm.errors import NotYetImplemented
from python_ivm.sql.parse import position

if TYPE_CHECKING:
    from python_ivm.sql.bind import Binder

_PEERS_ALIKE = tuple(
    getattr(exp, name)
    for name in ("Rank", "DenseRank", "PercentRank", "CumeDist")
    if hasattr(exp, name)
)
_POSITIONAL = tuple(
    getattr(exp, name)
    for name in ("RowNumber", "Ntile", "Lag", "Lead", "FirstValue", "First", "NthValue")
    if hasattr(exp, name)
)


_AGGREGATES = (
    exp.Count,
    exp.CountIf,
    exp.Sum,
    exp.Avg,
    exp.Min,
    exp.Max,
    exp.LogicalAnd,
    exp.LogicalOr,
)


def bind(binder: Binder, node: Node, expressions: list[exp.Expr]) -> tuple[Node, list[exp.Expr]]:
    """Compute the window functions of expressions.

    Args:
        binder: Gives names.
        node: The rows.
        expressions: Expressions over its columns, with window functions in them.

    Returns:
        The rows with the functions' values, and the expressions over them.

    Raises:
        NotYetImplemented: For functions whose value is not determined by their order.
    """
    while True:
        found = [w for e in expressions for w in e.find_all(exp.Window)]
        if not found:
            return node, expressions
        partition = tuple(found[0].args.get("partition_by") or ())
        together = [w for w in found if tuple(w.args.get("partition_by") or ()) == partition]
        node, expressions = _extended(binder, node, expressions, partition, together)


def _extended(
    binder: Binder,
    node: Node,
    expressions: list[exp.Expr],
    partition: tuple[exp.Expr, ...],
    together: list[exp.Window],
) -> tuple[Node, list[exp.Expr]]:
    relation = binder.name("windowed")
    used = {c for e in expressions for c in columns_of(e)}
    names = flat_names(c for c in node.schema if c in used)
    every: list[exp.Expr] = [c.expression() for c in names]
    functions: list[Named] = []
    values: list[tuple[exp.Window, exp.Expr]] = []
    for window in together:
        known = next((f for w, f in values if w == window), None)
        if known is None:
            name = f"{relation}_{len(functions) + 1}"
            functions.append(Named(name, _determined(window, every)))
            values.append((window.copy(), ColumnRef(relation, name).expression()))
    mapping: dict[ColumnRef, exp.Expr] = {
        c: ColumnRef(relation, name).expression() for c, name in names.items()
    }

    def replaced(part: exp.Expr) -> exp.Expr:
        if isinstance(part, exp.Window):
            for window, value in values:
                if part == window:
                    return value.copy()
        return part

    above = [substitute(e.copy().transform(replaced), mapping) for e in expressions]
    items = tuple(Named(name, c.expression()) for c, name in names.items())
    return Window(node, relation, items, partition, tuple(functions)), above


def _determined(window: exp.Window, columns: list[exp.Expr]) -> exp.Window:
    """A window function whose value does not depend on the order of equal rows."""
    if window.args.get("alias") or window.args.get("over") not in (None, "OVER"):
        raise NotYetImplemented("A named window", operator="WINDOW", **position(window))
    function = window.this
    if isinstance(function, (exp.IgnoreNulls, exp.RespectNulls, exp.Filter)):
        function = function.this
    spec = window.args.get("spec")
    order = window.args.get("order")
    _refuse_unstable(function, window)
    if isinstance(function, _PEERS_ALIKE) or (order is None and _whole(spec)):
        if order is None and isinstance(function, _POSITIONAL):
            raise NotYetImplemented(
                f"{function.key}() without ORDER BY", operator=function.key, **position(window)
            )
        return window.copy()
    positional = isinstance(function, _POSITIONAL)
    rows = spec is not None and str(spec.args.get("kind") or "").upper() == "ROWS"
    if not positional and not isinstance(function, exp.AggFunc):
        raise NotYetImplemented(
            f"The window function {function.key}()", operator=function.key, **position(window)
        )
    if isinstance(function, exp.LastValue if hasattr(exp, "LastValue") else ()):
        raise NotYetImplemented("last_value()", operator="last_value", **position(window))
    if not positional and not rows:
        return window.copy()
    copied = window.copy()
    keys = list(order.expressions) if order is not None else []
    ties = [exp.Ordered(this=c.copy(), nulls_first=True) for c in columns]
    copied.set("order", exp.Order(expressions=[*(k.copy() for k in keys), *ties]))
    return copied


def _refuse_unstable(function: exp.Expr, window: exp.Window) -> None:
    """Refuse functions that follow an order which the query does not give, or that round."""
    if not isinstance(function, (*_PEERS_ALIKE, *_POSITIONAL, *_AGGREGATES)):
        name = function.sql(dialect="spark").split("(")[0].lower()
        raise NotYetImplemented(
            f"The window function {name}()", operator=f"{name}()", **position(window)
        )


def _whole(spec: exp.Expr | None) -> bool:
    """Whether a frame without an order is the whole partition."""
    return spec is None
