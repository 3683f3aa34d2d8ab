"""What two scales tell of a third."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.large import REQUESTS, large_page, line


def sample(way: str, seconds: float, processor: float) -> dict[str, Any]:
    work = {"cpu_seconds": processor}
    return {"run": "1", "query": "q01", "change": "a", "way": way, "seconds": seconds, "work": work}


SMALL = [sample("refresh", 2.0, 2.0), sample("table", 8.0, 11.0)]
LARGE = [sample("refresh", 3.0, 2.9), sample("table", 60.0, 101.0)]


def test_a_straight_line_through_both_scales() -> None:
    found = line(SMALL[1:], LARGE[1:], 9)
    assert found is not None
    assert (found.fixed, found.growing) == (1.0, 10.0)
    assert found.processor(1000) == 10_001
    assert found.wall(1000, 400) == pytest.approx(8 / 11 + REQUESTS + 25)


def test_what_took_less_at_the_larger_scale_does_not_grow() -> None:
    found = line(LARGE[:1], SMALL[:1], 9)
    assert found is not None
    assert (found.growing, found.fixed) == (0, 2.9)


def test_what_one_scale_alone_has_is_not_told() -> None:
    assert line(SMALL, [], 9) is None
    assert "q01, a" not in large_page(SMALL[1:], LARGE)
    assert "| q01, a | 102 | 10001 | 98 |" in large_page(SMALL, LARGE)
