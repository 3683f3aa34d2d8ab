"""How the page tells what a refresh takes at least; what it takes is asserted nowhere."""

from __future__ import annotations

from typing import Any

from benchmarks.fixed_page import fixed_page

PARTS = {"dbt": 0.02, "planning": 0.01, "metadata": 0.03, "settings": 0.004, "merge": 0.9}


def _samples(query: str, strategy: str, refresh: float, empty: float) -> list[dict[str, Any]]:
    of = {"query": query, "change": "mixed one order"}
    return [
        {**of, "way": "dbt alone", "seconds": 0.02},
        {**of, "way": "refresh", "seconds": refresh, "strategy": strategy, "parts": PARTS},
        {**of, "way": "empty", "seconds": empty / 4},
        {**of, "way": "one row", "seconds": empty},
        {**of, "way": "noop", "seconds": 0.06, "parts": {**PARTS, "merge": 0.0}},
    ]


def test_refreshes_are_told_beside_merges_into_the_same_state() -> None:
    page = fixed_page(
        [
            *_samples("q01", "incremental", refresh=1.0, empty=0.8),
            *_samples("q02", "incremental", refresh=2.0, empty=0.8),
            *_samples("q03", "recompute", refresh=0.5, empty=0.8),
        ]
    )
    assert (
        "After one order 2 queries followed it, 1 of these in at most 1.3 times a `MERGE`" in page
    )
    assert "a refresh took 0.06 (0.06-0.06) s, and dbt alone 0.02 (0.02-0.02) s" in page
    refreshed, _, idle = page.partition("## With nothing to do")
    told = "| q01 | incremental | 1.00 (1.00-1.00) | 0.80 (0.80-0.80) | 0.20 (0.20-0.20) | 1.25 |"
    assert f"{told} 5.00 |" in refreshed
    assert "| 20 | 10 | 30 | 4 | 900 |" in refreshed
    assert "| q03 | 0.06 (0.06-0.06) | 20 | 10 | 30 | 4 |" in idle
