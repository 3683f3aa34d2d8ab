"""The page of the shop says what its days took."""

from __future__ import annotations

from pathlib import Path

from integration_tests.shop.run import Outcome, write
from scripts.docs import write_shop_page as shop

DAYS = [
    Outcome(0, "the shop opens", 60.0, 30.0, 0, 0, 0, 26, 20, 1.0),
    Outcome(1, "prices change; files are compacted", 10.0, 30.0, 20, 5, 1, 0, 20, 1.5),
    Outcome(2, "nothing", 2.0, 30.0, 0, 26, 0, 0, 20, 2.5),
]


def test_the_first_build_is_shown_but_not_summed() -> None:
    text = shop.month(DAYS)
    assert "26 maintained models and 20 tests, 2 days" in text
    assert "All days together: 12 s of refreshes beside 60 s of full refreshes, 0.20" in text
    assert "before the builds: 1.5 to 2.5" in text
    assert shop.table(DAYS).splitlines()[2:] == [
        "| 0 | the shop opens | 60.0 s | 30.0 s |  |  |  | 26 |",
        "| 1 | prices change; files are compacted | 10.0 s | 30.0 s | 20 | 5 | 1 |  |",
        "| 2 | nothing | 2.0 s | 30.0 s |  | 26 |  |  |",
    ]


def test_what_is_recorded_is_read_again(tmp_path: Path) -> None:
    write(DAYS, tmp_path / "days.csv")
    assert shop.outcomes(tmp_path / "days.csv") == DAYS


def test_the_page_is_what_was_recorded() -> None:
    text = shop.PAGE.read_text(encoding="utf-8")
    assert shop.page(text, shop.outcomes()) == text, "run `make docs`"
    assert len(shop.outcomes()) == 31
