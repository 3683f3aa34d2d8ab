"""How the page tells what another layout gains; what it gains is asserted nowhere."""

from __future__ import annotations

from typing import Any

from benchmarks.layout_page import layout_page


def _samples(layout: str, refresh: float, mib: int) -> list[dict[str, Any]]:
    of = {"query": "q13", "change": "orders 1", "layout": layout}
    return [
        {**of, "way": "refresh", "seconds": refresh, "work": {"bytes_read": mib * 2**20}},
        {**of, "way": "table", "seconds": 8.0, "work": {"bytes_read": 900 * 2**20}},
        {**of, "way": "noop", "seconds": 0.1, "work": {"bytes_read": 0}},
    ]


def test_a_layout_is_told_beside_the_one_before() -> None:
    page = layout_page([*_samples("as loaded", 6.0, 640), *_samples("clustered", 1.5, 20)])
    seconds = "6.00 (6.00-6.00) | 1.50 (1.50-1.50) | 4.00"
    read = "640.00 (640.00-640.00) | 20.00 (20.00-20.00)"
    assert f"| q13, orders 1 | {seconds} | {read} | 8.00 (8.00-8.00) | 8.00" in page


def test_what_was_not_measured_again_has_no_gain() -> None:
    assert "| q13, orders 1 | 6.00 (6.00-6.00) |" in layout_page(_samples("as loaded", 6.0, 640))
