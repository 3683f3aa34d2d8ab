"""Frames of window functions, and orders that leave no two rows equal."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

WHOLE, ROWS, RANGE = "whole", "rows", "range"
"""What a frame is: the whole partition, a number of rows, or rows together with their peers."""


def frame(window: exp.Expr) -> str:
    """What a window's frame is: :data:`WHOLE`, :data:`ROWS` or :data:`RANGE`."""
    spec = window.args.get("spec")
    if spec is None:
        return WHOLE if window.args.get("order") is None else RANGE
    bounds = [str(spec.args.get(k)).upper() for k in ("start", "start_side", "end", "end_side")]
    if bounds == ["UNBOUNDED", "PRECEDING", "UNBOUNDED", "FOLLOWING"]:
        return WHOLE
    return ROWS if str(spec.args.get("kind")).upper() == "ROWS" else RANGE


def everything() -> exp.WindowSpec:
    """The frame of all rows, one after the other."""
    return exp.WindowSpec(
        kind="ROWS", start="UNBOUNDED", start_side="PRECEDING", end="UNBOUNDED",
        end_side="FOLLOWING",
    )  # fmt: skip


def rows_so_far() -> exp.WindowSpec:
    """The frame of all rows up to the current one."""
    return exp.WindowSpec(kind="ROWS", start="UNBOUNDED", start_side="PRECEDING", end="CURRENT ROW")


def totally_ordered(window: exp.Expr, ties: Sequence[exp.Expr]) -> exp.Expr:
    """The window with an order that ``ties`` complete, over the same frame."""
    copied = window.copy()
    if frame(window) == WHOLE:
        copied.set("spec", everything())
    order = window.args.get("order")
    keys = [k.copy() for k in order.expressions] if order is not None else []
    more = [exp.Ordered(this=t.copy(), nulls_first=True) for t in ties]
    copied.set("order", exp.Order(expressions=[*keys, *more]))
    return copied
