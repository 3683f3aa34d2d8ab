"""Writes the figures of `docs/shop.md` from what the days of the shop took (`make docs`)."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from integration_tests.shop.run import RECORDED, Outcome
from scripts.docs import DOCS
from scripts.docs.marked_blocks import filled

PAGE = DOCS / "shop.md"


def outcomes(file: Path = RECORDED) -> list[Outcome]:
    """What the days took that were recorded last."""
    with file.open(newline="", encoding="utf-8") as table:
        return [_outcome(row) for row in csv.DictReader(table)]


def _outcome(row: dict[str, str]) -> Outcome:
    counts = (int(row[n]) for n in ("incremental", "noop", "recompute", "full", "tests"))
    seconds = (float(row["refresh"]), float(row["rebuild"]))
    return Outcome(int(row["day"]), row["happened"], *seconds, *counts, float(row["load"]))


def page(text: str, days: Sequence[Outcome]) -> str:
    """The page's text with the figures of the days."""
    return filled(text, {"month": month(days), "days": table(days)}.__getitem__)


def month(days: Sequence[Outcome]) -> str:
    """What all days together took, without the first build."""
    first, *others = days
    models = first.incremental + first.noop + first.recompute + first.full
    refresh, rebuild = sum(d.refresh for d in others), sum(d.rebuild for d in others)
    loads = [d.load for d in others]
    return "\n".join(
        [
            f"- {models} maintained models and {first.tests} tests, {len(others)} days.",
            f"- All days together: {refresh:,.0f} s of refreshes beside {rebuild:,.0f} s of full "
            f"refreshes, {refresh / rebuild:.2f} times as long.",
            f"- The load of the machine before the builds: {min(loads):.1f} to {max(loads):.1f}; "
            "two are all that two cores do at once.",
        ]
    )


def table(days: Sequence[Outcome]) -> str:
    """What each day took."""
    lines = [
        "| day | what happened | refresh | full refresh | incremental | noop | recompute | full |",
        "|--:|---|--:|--:|--:|--:|--:|--:|",
    ]
    for day in days:
        counts = (day.incremental, day.noop, day.recompute, day.full)
        told = " | ".join(f"{count}" if count else "" for count in counts)
        seconds = f"{day.refresh:.1f} s | {day.rebuild:.1f} s"
        lines.append(f"| {day.day} | {day.happened} | {seconds} | {told} |")
    return "\n".join(lines)


if __name__ == "__main__":
    text = page(PAGE.read_text(encoding="utf-8"), outcomes())
    PAGE.write_text(text, encoding="utf-8")
