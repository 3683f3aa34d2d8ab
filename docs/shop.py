"""Writes `docs/shop.md` from what the days of the shop took (`make docs`)."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from integration_tests.shop.run import RECORDED, Outcome

PAGE = Path(__file__).with_name("shop.md")

TITLE = """# A shop, day by day

This page shows what a whole dbt project costs each day of a month when its models follow what
changed.

`integration_tests/shop` is a shop as dbt teaches it: seeds, staging views, intermediate models,
marts, a snapshot, a contract, tests, descriptions. Of its models {models} are
`incremental_ivm`; the staging models are views, and a log is dbt's own `incremental`. There are
visits made of page views by windows, a date spine, a funnel, cohorts, best sellers, products
bought together, customers who never ordered, orders whose payments do not agree.

Orders, payments and page views come in each day. On some days rows come late, items and
customers are corrected, cancelled orders and customers who left are deleted, prices change.
Once each, a source gets a new column, a seed is edited, and a source is loaded anew as a whole,
by replacing the table and by overwriting its rows. Two days are holidays.

After each day `dbt build` runs, with the project's {tests} tests. Then the same models are
built anew as plain tables, in the same process, and each maintained model is compared with its
table, as bags and both ways. On all {days} days all were equal.

```console
make shop ARGS='--orders 5000'   # 30 days, with the rows of this page
make shop                        # with 100,000 orders at the beginning
```

## Seconds per day

![Seconds of each day's refresh, and of the full refresh beside it](pictures/shop.svg)

{measured}

| day | what happened | refresh | full refresh | incremental | noop | recompute | full |
|--:|---|--:|--:|--:|--:|--:|--:|
"""

MEASURED = """\
All {days} days together: {refresh:,.0f} s of refreshes beside {rebuild:,.0f} s of full
refreshes, {ratio:.2f} times as long. Seconds are those of the maintained models, one after the
other, on two cores. The tables are small, so that a month takes an hour and a half: a rebuild of
little data costs less than a `MERGE`. [Is it for me?](is-it-for-me.md) says from which size on a
refresh pays. Here it pays on the holiday, on which nothing changed. The refresh comes first each
day, so that the full refresh finds the day's files in memory. Day 0 is the first build, and the
first of all in its process. The load of the machine was {least:.1f} to {most:.1f} before the
builds; two are all that two cores do at once."""


def outcomes(file: Path = RECORDED) -> list[Outcome]:
    """What the days took that were recorded last."""
    with file.open(newline="", encoding="utf-8") as table:
        return [_outcome(row) for row in csv.DictReader(table)]


def _outcome(row: dict[str, str]) -> Outcome:
    counts = (int(row[n]) for n in ("incremental", "noop", "recompute", "full", "tests"))
    seconds = (float(row["refresh"]), float(row["rebuild"]))
    return Outcome(int(row["day"]), row["happened"], *seconds, *counts, float(row["load"]))


def page(days: Sequence[Outcome]) -> str:
    """The page's text."""
    first, *others = days
    models = first.incremental + first.noop + first.recompute + first.full
    refresh, rebuild = sum(d.refresh for d in others), sum(d.rebuild for d in others)
    measured = MEASURED.format(
        days=len(others),
        refresh=refresh,
        rebuild=rebuild,
        ratio=refresh / rebuild,
        least=min(d.load for d in others),
        most=max(d.load for d in others),
    )
    text = TITLE.format(models=models, tests=first.tests, days=len(others), measured=measured)
    for day in days:
        counts = (day.incremental, day.noop, day.recompute, day.full)
        told = " | ".join(f"{count}" if count else "" for count in counts)
        seconds = f"{day.refresh:.1f} s | {day.rebuild:.1f} s"
        text += f"| {day.day} | {day.happened} | {seconds} | {told} |\n"
    return text


if __name__ == "__main__":
    PAGE.write_text(page(outcomes()), encoding="utf-8")
