"""Shows TPC-H views being maintained: `make demo`.

Everything is what a user would do by hand in `integration_tests/`: `dbt run`, changes of the
source tables by SQL, `dbt run` again, `dbt test`. It runs in one process, so that Spark starts
once and times compare.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.panel import Panel

from demo.commands import Dbt, Run
from demo.day import Day, Told
from demo.show import Days, Stage, draw, summary
from integration_tests.tpch import load

DATA = Path(__file__).resolve().parent / "data"
TARGET, TABLES = "demo", "demo_tables"
SCHEMA = "tpch_demo"
SOURCES = f"{SCHEMA}_sources"
PAGE = load.PROJECT / "target" / "sparkivm-demo.html"
MODELS = ("q01", "q11", "q12", "q14", "q16", "q19")
"""Sums over the largest table, alone and joined with orders or parts. Two are of parts and their
suppliers, which do not change on these days, as of most projects some models' tables do not."""
SELECT = ("--select", *MODELS)
ROWS_PER_FILE = 500_000
"""As a table has files that grew by the day; TPC-H's would be two or three otherwise."""

INTRODUCTION = """\
A shop's orders lie in eight Delta tables (TPC-H). Queries over them are dbt models with one \
special line: [bold]materialized='incremental_ivm'[/]. The first [bold]dbt run[/] builds them. \
Then the tables change, and the next [bold]dbt run[/] reads [italic]only what changed[/] and \
applies one MERGE to each view: joins, sums, averages, deletes and all. [bold]dbt test[/] proves \
that each view equals its query. What it would have cost to build the same models anew as plain \
tables is measured beside it."""

NOT_FASTER = """\
On tables as small as these a rebuild was the cheaper one: a MERGE has a fixed cost, which a \
rebuild of little data does not reach. Try more of it: SCALE=3."""


class Demo:
    """The steps, told as they happen.

    Args:
        console: where to print.
        scale: TPC-H's scale factor.
        days: on how many days both ways are measured, after one that warms them.
    """

    def __init__(self, console: Console, scale: float, days: int = 1) -> None:
        """Prepare; nothing runs yet."""
        self.console = console
        self.scale = scale
        self.stage = Stage(console)
        self.days = Days()
        self._measured = days
        self._views = Dbt(load.PROJECT, TARGET, self.stage.finished)
        self._tables = Dbt(load.PROJECT, TABLES, self.stage.finished)

    def run(self) -> None:
        """All steps.

        The build is the first of all rebuilds of this process, and the first day's refresh the
        first of all refreshes. On the days after, both ways follow each other in turns.

        Raises:
            SystemExit: a dbt command failed; with its errors.
        """
        started = time.monotonic()
        self.console.print(Panel(INTRODUCTION, title="dbt-sparkivm", border_style="cyan"))
        session = self._load()
        self.stage.say("The first run builds every view", "dbt run")
        self.days.rebuilt.append(self._dbt("building", self._views))
        session.sql(f"use {SOURCES}")
        sql = load.sql_of(session)
        self.stage.say("A day goes by in the shop: the source tables change")
        self._happen(Day(sql).corrected())
        self._refresh("Every view is refreshed by what changed; the first MERGEs are slow")
        for number in range(2, self._measured + 2):
            self.stage.clear()
            day = Day(sql, number)
            self.stage.say("The next day: orders come and go, some are corrected")
            self._happen(day.corrected() if number % 2 else day.plain())
            ways = [self._refresh, self._rebuild]
            for way in ways if number % 2 else reversed(ways):
                way()
        self.stage.say("Is each view what its query gives on these tables?", "dbt test")
        with self.stage.bar("testing"):
            passed = self._views.test(*SELECT)
        self.console.print(f"  [green]all {passed} tests pass[/]")
        self.stage.say("A page of all that", "dbt-sparkivm report")
        with self.stage.bar("writing"):
            self._views.report(PAGE, *SELECT)
        self.console.print(f"  {_shown(PAGE)}\n")
        self._conclude(time.monotonic() - started)

    def _load(self) -> Any:
        self.stage.say(f"Generating TPC-H at scale factor {self.scale:g}")
        with self.stage.bar("generating"):
            load.generate(self.scale, DATA / f"sf{self.scale:g}")
        self.stage.say("Starting Spark and loading the source tables")
        with self.stage.bar("loading; the very first time Spark downloads Delta from Maven"):
            session = load.session_of_profile(target=TARGET)
            sql = load.sql_of(session)
            for schema in (SCHEMA, f"{SCHEMA}_tables", SOURCES):
                sql(f"drop schema if exists {schema} cascade")
            counts = load.load(sql, DATA / f"sf{self.scale:g}", SOURCES, ROWS_PER_FILE)
        rows = ", ".join(f"{name} {count:,}" for name, count in counts.items())
        self.console.print(f"  [dim]{rows}[/]")
        return session

    def _happen(self, changes: Sequence[Told]) -> None:
        for told, change in changes:
            self.console.print(f"  - {told}")
            change()

    def _refresh(self, what: str = "Every view is refreshed") -> None:
        self.stage.say(what, "dbt run")
        self.days.refreshed.append(self._dbt("refreshing", self._views))

    def _rebuild(self) -> None:
        self.stage.say("For comparison: every model as a plain table", f"dbt run --target {TABLES}")
        # What dbt parsed for this target has a place of its own, or it would parse all anew.
        apart = ("--target-path", f"target/{TABLES}")
        self.days.rebuilt.append(self._dbt("rebuilding", self._tables, *apart))

    def _dbt(self, what: str, dbt: Dbt, *options: str) -> Run:
        with self.stage.bar(what, len(MODELS)):
            run = dbt.run(*SELECT, *options)
        self.console.print(f"  [bold]all together {run.seconds:.1f} s[/]")
        return run

    def _conclude(self, seconds: float) -> None:
        self.console.print(summary(self.days, self.scale))
        (refresh, rebuild), (first, build) = self.days.warm, self.days.first
        if refresh < rebuild:
            self.console.print(
                f"[green]Refreshes took {refresh:.1f} s, rebuilds {rebuild:.1f} s: "
                f"{refresh / rebuild:.0%} of the time.[/]"
            )
        else:
            self.console.print(f"[yellow]{NOT_FASTER}[/]")
        self.console.print(
            "[dim]Both are warm. The first ones of the process took longer, since Spark loads and "
            f"compiles code then: the build {build:.1f} s, the first refresh {first:.1f} s.[/]"
        )
        options = "--project-dir integration_tests --profiles-dir integration_tests --target demo"
        self.console.print(
            f"\nAll of it took {seconds / 60:.1f} minutes. Open {_shown(PAGE)} in a browser. The "
            "tables are still there. Ask how a view is maintained:\n"
            f"  [bold]{_shown(Path(sys.executable).parent)}/dbt run-operation ivm_explain "
            f"--args '{{model: q12}}' {options}[/]",
            highlight=False,
            soft_wrap=True,
        )


def _shown(path: Path) -> Path:
    """A path as one writes it in the present folder."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def main() -> None:
    """Run the demo as asked for on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=1, help="TPC-H's scale factor")
    parser.add_argument("--days", type=int, default=1, help="days on which both ways are measured")
    parser.add_argument("--picture", type=Path, help="draw what its last day prints")
    given = parser.parse_args()
    console = Console(width=None if sys.stdout.isatty() else 110, record=given.picture is not None)
    Demo(console, given.scale, given.days).run()
    if given.picture is not None:
        draw(console, given.picture)


if __name__ == "__main__":
    main()
