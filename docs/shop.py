"""Writes `docs/shop.md` from what the days of the shop took (`make docs`)."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from integration_tests.shop.run import OUTCOMES, Outcome

PAGE = Path(__file__).with_name("shop.md")

TITLE = """# A shop, day by day

This page shows what a whole dbt project costs per day when its models follow what changed.

`integration_tests/shop` is a shop as dbt teaches it: seeds, staging views, intermediate models,
marts, a snapshot, contracts, tests. Of its models {models} are `incremental_ivm`; the staging
models are views, and one log is dbt's own `incremental`. There are visits made of page views by
windows, a date spine, a funnel, cohorts, best sellers, products bought together, customers who
never ordered.

On each day orders, payments and page views come in. On some days rows come late, items and
customers are corrected, cancelled orders and customers who left are deleted, prices change. Once
the source of the products gets a new column, once it is loaded anew as a whole. Two days are
holidays.

After each day `dbt build` runs, with the project's tests. Then the same project is built with
`table` in place of `incremental_ivm`, in the same process, and each model is compared with its
table, as bags and both ways. On all {days} days all models were equal.

```console
make shop                          # 30 days; an hour on two cores
make shop ARGS='--orders 2000'     # with little data
```

## Seconds per day

![Seconds of each day's refresh and of the full refresh beside it](pictures/shop.svg)

{measured}

| day | what happened | refresh | full refresh | incremental | noop | recompute | full |
|--:|---|--:|--:|--:|--:|--:|--:|
"""


def outcomes() -> list[Outcome]:
    """What the days took that were recorded last."""
    with OUTCOMES.open(newline="") as file:
        return [_outcome(row) for row in csv.DictReader(file)]


def _outcome(row: dict[str, str]) -> Outcome:
    numbers = (int(row[name]) for name in ("incremental", "noop", "recompute", "full"))
    seconds = (float(row["refresh"]), float(row["rebuild"]))
    return Outcome(int(row["day"]), row["happened"], *seconds, *numbers)


def page(days: Sequence[Outcome]) -> str:
    """The page's text."""
    first, *others = days
    models = first.incremental + first.noop + first.recompute + first.full
    refresh, rebuild = sum(d.refresh for d in others), sum(d.rebuild for d in others)
    measured = (
        f"All {len(others)} days together: {refresh:,.0f} s of refreshes beside {rebuild:,.0f} s "
        f"of full refreshes, {refresh / rebuild:.2f} times as long. Seconds are those of the "
        "maintained models, one after the other. Day 0 is the first build."
    )
    text = TITLE.format(models=models, days=len(others), measured=measured)
    for day in days:
        counts = (day.incremental, day.noop, day.recompute, day.full)
        told = " | ".join(f"{count}" if count else "" for count in counts)
        seconds = f"{day.refresh:.1f} s | {day.rebuild:.1f} s"
        text += f"| {day.day} | {day.happened} | {seconds} | {told} |\n"
    return text


if __name__ == "__main__":
    PAGE.write_text(page(outcomes()))
