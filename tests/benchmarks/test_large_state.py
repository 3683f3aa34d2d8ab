"""The page of a large state's refreshes."""

from __future__ import annotations

from typing import Any

from benchmarks.large_state_page import state_page


def refresh(model: str, change: str, seconds: float, megabytes: int) -> dict[str, Any]:
    work = {"rows_read": 1_000 * megabytes, "files_read": 9, "bytes_read": megabytes << 20}
    return {
        "query": model,
        "change": change,
        "rows": 114,
        "way": "refresh",
        "seconds": seconds,
        "work": work,
        "scan": seconds / 2,
    }


def test_each_layout_stands_under_each_change() -> None:
    state = {"rows": 1_234_567, "files": 12, "bytes": 100 << 20}
    samples = [
        {"query": "one", "way": "build", "seconds": 41.6, "state": state},
        {"query": "one", "way": "table", "seconds": 30.0},
        *(refresh("one", "near", seconds, 100) for seconds in (4.0, 2.0, 3.0)),
        refresh("two", "near", 1.0, 5),
        refresh("one", "far", 2.5, 100),
        {"query": "one", "way": "table", "seconds": 32.0},
    ]
    page = state_page(samples)
    rows = [line for line in page.splitlines() if line.startswith("| ") and "query" not in line]
    assert "| one | 1,234,567 | 12 | 100 | 42 |" in rows
    assert "31.00 (30.00-32.00) s" in page
    measured = [row for row in rows if "lines of" in row]
    assert measured == [
        "| 114 lines of near | one | 3.00 (2.00-4.00) | 1.50 | 100,000 | 9 | 100.0 |",
        "| 114 lines of near | two | 1.00 (1.00-1.00) | 0.50 | 5,000 | 9 | 5.0 |",
        "| 114 lines of far | one | 2.50 (2.50-2.50) | 1.25 | 100,000 | 9 | 100.0 |",
    ]
