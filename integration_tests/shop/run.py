"""Lets days go by in the shop, builds the project after each, and compares it with a full refresh.

From the repository's root: `python -m integration_tests.shop.run --days 30 --orders 100000`. People
edit the project's seeds on some days, so that it runs in a copy.
"""

from __future__ import annotations

import argparse
import csv
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from integration_tests.commands import run_dbt
from integration_tests.shop.days import DAYS, HISTORY, Shop

PROJECT = Path(__file__).resolve().parent
RECORDED = PROJECT / "days.csv"
"""What the days took that the docs show."""
WORK = PROJECT / ".sparkivm"
MAINTAINED, REBUILT = "shop", "shop_rebuilt"
APART = ("--target-path", "target/rebuilt")
"""Where dbt keeps what it parsed for the other target, or it would parse all anew every time."""
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
        tests: How many of the project's tests passed.
        load: How many processes were running or waiting in the minute before.
    """

    day: int
    happened: str
    refresh: float
    rebuild: float
    incremental: int
    noop: int
    recompute: int
    full: int
    tests: int
    load: float


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
        load = os.getloadavg()[0]
        built = self.dbt("build", *self.selected)
        refreshed = {r.node.name: r for r in built if _maintained(r)}
        others = ("--exclude-resource-type", "snapshot", "--exclude-resource-type", "test")
        rebuilt = self.dbt(
            "build", *self.selected, "--full-refresh", "--target", "rebuilt", *others, *APART
        )
        seconds = sum(r.execution_time for r in rebuilt if r.node.name in refreshed)
        for name in sorted(refreshed.keys() - NOT_COMPARED):
            self.compare(name, number)
        strategies = [r.adapter_response["strategy"] for r in refreshed.values()]
        counts = (strategies.count(s) for s in ("incremental", "noop", "recompute", "full"))
        refresh = sum(r.execution_time for r in refreshed.values())
        tests = sum(r.node.resource_type == "test" for r in built)
        took = (round(refresh, 1), round(seconds, 1))
        return Outcome(number, "; ".join(happened), *took, *counts, tests, round(load, 1))

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


def copied(folder: Path) -> Path:
    """Copy the project into a folder, which becomes the project's."""
    unwanted = shutil.ignore_patterns(".*", "target", "logs", "__pycache__", "*.py", RECORDED.name)
    shutil.copytree(PROJECT, folder, ignore=unwanted)
    return folder


def write(outcomes: Sequence[Outcome], file: Path) -> None:
    """Write what days took."""
    with file.open("w", newline="", encoding="utf-8") as text:
        names = [field.name for field in fields(Outcome)]
        table = csv.DictWriter(text, names, lineterminator="\n")
        table.writeheader()
        table.writerows(asdict(outcome) for outcome in outcomes)


def main() -> None:
    """Run the days, and write what they took."""
    # Imported here, as it imports Spark, which who reads the outcomes does not need.
    from integration_tests.tpch.load import session_of_profile, sql_of

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=int, default=DAYS)
    parser.add_argument("--orders", type=int, default=100_000, help="orders at the beginning")
    parser.add_argument("--record", action="store_true", help=f"write {RECORDED.name} for the docs")
    given = parser.parse_args()
    shutil.rmtree(WORK, ignore_errors=True)
    project = copied(WORK)
    sql = sql_of(session_of_profile(project))
    shop = Shop(sql, project, given.orders, max(1, given.orders // HISTORY))
    days = Days(shop, sql, lambda *arguments: run_dbt(project, arguments))
    began = time.monotonic()
    outcomes = []
    for outcome in days.go_by(range(1, given.days + 1)):
        print(f"{time.monotonic() - began:6.0f} s  {outcome}", flush=True)
        outcomes.append(outcome)
        write(outcomes, RECORDED if given.record else WORK / RECORDED.name)


if __name__ == "__main__":
    main()
