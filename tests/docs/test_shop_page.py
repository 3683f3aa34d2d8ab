"""The page of the shop says what its days took."""

from __future__ import annotations

from pathlib import Path

from docs import shop
from integration_tests.shop.run import Outcome, write

DAYS = [
    Outcome(0, "the shop opens", 60.0, 30.0, 0, 0, 0, 26, 20, 1.0),
    Outcome(1, "prices change; files are compacted", 10.0, 30.0, 20, 5, 1, 0, 20, 1.5),
    Outcome(2, "nothing", 2.0, 30.0, 0, 26, 0, 0, 20, 2.5),
]


def test_the_first_build_is_shown_but_not_summed() -> None:
    text = shop.page(DAYS)
    flat = " ".join(text.split())
    assert "All 2 days together: 12 s of refreshes beside 60 s of full refreshes, 0.20" in flat
    assert "its models 26" in flat
    assert "was 1.5 to 2.5" in flat
    rows = text[text.index("|--:|") :].splitlines()[1:]
    assert rows == [
        "| 0 | the shop opens | 60.0 s | 30.0 s |  |  |  | 26 |",
        "| 1 | prices change; files are compacted | 10.0 s | 30.0 s | 20 | 5 | 1 |  |",
        "| 2 | nothing | 2.0 s | 30.0 s |  | 26 |  |  |",
    ]


def test_what_is_recorded_is_read_again(tmp_path: Path) -> None:
    write(DAYS, tmp_path / "days.csv")
    assert shop.outcomes(tmp_path / "days.csv") == DAYS


def test_the_page_is_what_was_recorded() -> None:
    assert shop.PAGE.read_text(encoding="utf-8") == shop.page(shop.outcomes()), "run `make docs`"
    assert len(shop.outcomes()) == 31
