"""Lets days go by in the shop, builds the project after each, and compares it with a full refresh.

From the repository's root: `python -m integration_tests.shop.run --days 30 --orders 100000`.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from integration_tests.commands import run_dbt
from integration_tests.shop.days import DAYS, Shop

PROJECT = Path(__file__).resolve().parent
OUTCOMES = PROJECT / "target" / "days.csv"
MAINTAINED, REBUILT = "shop", "shop_rebuilt"
NOT_COMPARED = {"fct_page_views"}
"""dbt's own `incremental` adds rows, and does not take any back."""


@dataclass(frozen=True)
class Outcome:
    """What a day took.

    Attributes:
        day: Its number; 0 is the first build.
        happened: What happened in the sources.
        refresh: Seconds of the maintained models together.
        rebuild: Seconds of the same models, each computed as a table.
        incremental: How many models followed what changed.
        noop: How many had nothing to do.
        recompute: How many were computed anew, and merged.
        full: How many were rebuilt.
    """

    day: int
    happened: str
    refresh: float
    rebuild: float
    incremental: int
    noop: int
    recompute: int
    full: int


@dataclass
class Days:
    """The days of a shop.

    Args:
        shop: What happens in the sources.
        sql: Runs a statement in the Spark of the project's profile.
        dbt: Runs a command of dbt's in the project, and gives its results.
        select: What is built, in dbt's words; all by default.
    """

    shop: Shop
    sql: Callable[[str], Sequence[Any]]
    dbt: Callable[..., Sequence[Any]]
    select: tuple[str, ...] = ("*",)

    @property
    def selected(self) -> tuple[str, ...]:
        """The options that say what is built; tests of other models are left out."""
        return ("--select", *self.select, "--indirect-selection", "cautious")

    def go_by(self, numbers: Sequence[int]) -> Iterator[Outcome]:
        """Each day's outcome, first that of the first build.

        Raises:
            AssertionError: A model does not equal its query, both ways; with the rows.
            DbtFailed: A command of dbt's failed, a test of the project's among them.
        """
        self.shop.open()
        yield self.build(0, ["the shop opens"])
        for number in numbers:
            yield self.build(number, self.shop.day(number))

    def build(self, number: int, happened: list[str]) -> Outcome:
        """Build the project both ways, and compare.

        Args:
            number: The day.
            happened: What happened in the sources.

        Raises:
            AssertionError: A model does not equal its query, both ways; with the rows.
            DbtFailed: A command of dbt's failed, a test of the project's among them.
        """
        refreshed = {r.node.name: r for r in self.dbt("build", *self.selected) if _maintained(r)}
        others = ("--exclude-resource-type", "snapshot", "--exclude-resource-type", "test")
        rebuilt = self.dbt(
            "build", *self.selected, "--full-refresh", "--target", "rebuilt", *others
        )
        seconds = sum(r.execution_time for r in rebuilt if r.node.name in refreshed)
        for name in sorted(refreshed.keys() - NOT_COMPARED):
            self.compare(name, number)
        strategies = [r.adapter_response["strategy"] for r in refreshed.values()]
        counts = (strategies.count(s) for s in ("incremental", "noop", "recompute", "full"))
        refresh = sum(r.execution_time for r in refreshed.values())
        return Outcome(number, "; ".join(happened), round(refresh, 1), round(seconds, 1), *counts)

    def compare(self, model: str, day: int) -> None:
        """See that a model has the rows of its rebuild, each as often.

        Raises:
            AssertionError: It has not; with some of the rows.
        """
        found = self.sql(
            "select * except (n), sum(n) as too_many from ("
            f"select *, 1 as n from {MAINTAINED}.{model} "
            f"union all select *, -1 as n from {REBUILT}.{model}) "
            "group by all having sum(n) <> 0 limit 3"
        )
        assert not found, f"day {day}, {model} differs from its full refresh: {found}"


def _maintained(result: Any) -> bool:
    return "strategy" in (result.adapter_response or {})


def main() -> None:
    """Run the days, and write what they took into target."""
    # Imported here, as it imports Spark, which who reads the outcomes does not need.
    from integration_tests.tpch.load import session_of_profile, sql_of

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=int, default=DAYS)
    parser.add_argument("--orders", type=int, default=100_000, help="orders at the beginning")
    given = parser.parse_args()
    sql = sql_of(session_of_profile(PROJECT))
    for schema in (MAINTAINED, REBUILT, "shop_history"):
        sql(f"drop schema if exists {schema} cascade")
    shop = Shop(sql, given.orders, max(1, given.orders // 200))
    days = Days(shop, sql, lambda *arguments: run_dbt(PROJECT, arguments))
    began = time.monotonic()
    OUTCOMES.parent.mkdir(exist_ok=True)
    with OUTCOMES.open("w", newline="") as file:
        table = csv.DictWriter(file, [field.name for field in fields(Outcome)], lineterminator="\n")
        table.writeheader()
        for outcome in days.go_by(range(1, given.days + 1)):
            table.writerow(asdict(outcome))
            file.flush()
            print(f"{time.monotonic() - began:6.0f} s  {outcome}", flush=True)


if __name__ == "__main__":
    main()
