"""Bag equality that allows for the last digits of an average."""

from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal
from typing import Any

from tests.planner.lake import Lake, Row


def assert_same(lake: Lake, model: str) -> None:
    """Fail unless a view equals its query, or the one of its results that the planner gives.

    Spark's average of decimals is a decimal, DuckDB's a double: rows that differ are matched once
    more, with a tolerance.
    """
    view, sql = lake.view(model), lake.models[model]
    left = _difference(view, lake.recomputed(sql))
    if left != ([], []):
        chosen = lake.chosen(sql)
        left = left if chosen is None else _difference(lake.without_order(model), chosen)
    assert left == ([], []), f"missing {left[0]}, too many {left[1]}"


def _difference(view: Counter[Row], query: Counter[Row]) -> tuple[list[Row], list[Row]]:
    missing, excess = query - view, view - query
    return _unmatched(missing, excess) if missing or excess else ([], [])


def _unmatched(missing: Counter[Row], excess: Counter[Row]) -> tuple[list[Row], list[Row]]:
    unused = list(excess.elements())
    unfound = []
    for row in missing.elements():
        close = next((other for other in unused if _close(row, other)), None)
        if close is None:
            unfound.append(row)
        else:
            unused.remove(close)
    return unfound, unused


def _close(one: Row, other: Row) -> bool:
    return len(one) == len(other) and all(map(_close_values, one, other))


def _close_values(one: Any, other: Any) -> bool:
    numbers = (float, Decimal)
    if one is None or other is None or not isinstance(one, numbers):
        return bool(one == other)
    if not isinstance(other, numbers) or not (isinstance(one, float) or isinstance(other, float)):
        return bool(one == other)
    return math.isclose(float(one), float(other), rel_tol=1e-9, abs_tol=1e-6)
