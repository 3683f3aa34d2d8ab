"""Shows TPC-H views being maintained: `make demo`.

Everything is what a user would do by hand in `integration_tests/`: `dbt run`, changes of the
source tables by SQL, `dbt run` again, `dbt test`. It runs in one process, so that Spark starts
once and times compare.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.panel import Panel
from rich.table import Table

from demo.commands import Dbt, Model, Run
from demo.day import Day
from integration_tests.tpch import load

DATA = Path(__file__).resolve().parent / "data"
TARGET = "demo"
SCHEMA = "tpch_demo"
SOURCES = f"{SCHEMA}_sources"
PAGE = load.PROJECT / "target" / "sparkivm-demo.html"
MODELS = ("q01", "q03", "q05", "q06", "q09", "q10", "q12", "q14", "q18", "q19")
"""One of each kind: sums of one table, joins of two to six, a LIMIT, an IN, a HAVING."""

COLORS = {"incremental": "green", "recompute": "cyan", "full": "yellow", "noop": "dim"}

INTRODUCTION = """\
A shop's orders lie in eight Delta tables (TPC-H). Queries over them are dbt models with one \
special line: [bold]materialized='incremental_ivm'[/]. The first [bold]dbt run[/] builds them. \
Then the tables change, and the next [bold]dbt run[/] reads [italic]only what changed[/] and \
applies one MERGE to each view: joins, sums, averages, deletes and all. [bold]dbt test[/] proves \
that each view equals its query, and a full rebuild shows what it would have cost instead."""

COLD = """\
The first of a process took longer: the build {build:.0f} s, the first refresh {first:.0f} s. \
Spark loads and compiles code then. Both columns of the table are the second of their kind."""

NOT_FASTER = """\
On tables as small as these a rebuild was the cheaper one: a MERGE has a fixed cost, which a \
rebuild of little data does not reach. Try SCALE=1 or more."""


class Demo:
    """The steps, told as they happen.

    Args:
        console: where to print.
        scale: TPC-H's scale factor.
    """

    def __init__(self, console: Console, scale: float) -> None:
        """Prepare; nothing runs yet."""
        self.console = console
        self.scale = scale
        self.dbt = Dbt(load.PROJECT, TARGET, self._progress)
        self._step = 0

    def run(self) -> None:
        """All steps; refresh and rebuild are compared as the second of their kind.

        Raises:
            SystemExit: a dbt command failed; with its errors.
        """
        started = time.monotonic()
        self.console.print(Panel(INTRODUCTION, title="dbt-sparkivm", border_style="cyan"))
        session = self._load()
        select = ("--select", *MODELS)
        self._say("The first run builds every view", "dbt run")
        build = self.dbt.run(*select)
        session.sql(f"use {SOURCES}")
        day = Day(load.sql_of(session))
        self._say("A day goes by in the shop: the source tables change")
        self._list_changes(day.first())
        self._say("Every view is refreshed by what changed; the first MERGEs are slow", "dbt run")
        first = self.dbt.run(*select)
        self._say("For comparison: rebuild every view", "dbt run --full-refresh")
        rebuilt = self.dbt.run("--full-refresh", *select)
        self._say("Another day, with more kinds of changes")
        self._list_changes(day.second())
        self._say("Every view is refreshed again", "dbt run")
        refreshed = self.dbt.run(*select)
        self._say("Is each view what its query gives on these tables?", "dbt test")
        passed = self.dbt.test(*select)
        self.console.print(f"  [green]all {passed} tests pass[/]")
        self.console.print()
        self.console.print(summary(refreshed, rebuilt, self.scale))
        if refreshed.seconds >= rebuilt.seconds:
            self.console.print(f"[yellow]{NOT_FASTER}[/]")
        told = COLD.format(build=build.seconds, first=first.seconds)
        self.console.print(f"[dim]{told}[/]")
        self._say("A page of all that", "dbt-sparkivm report")
        self.dbt.report(PAGE, *select)
        self._farewell(time.monotonic() - started)

    def _load(self) -> Any:
        self._say(f"Generating TPC-H at scale factor {self.scale:g}")
        load.generate(self.scale, DATA / f"sf{self.scale:g}")
        self._say("Starting Spark and loading the source tables")
        with self.console.status("The very first time Spark downloads Delta from Maven ..."):
            session = load.session_of_profile(target=TARGET)
            sql = load.sql_of(session)
            for schema in (SCHEMA, SOURCES):
                sql(f"drop schema if exists {schema} cascade")
            counts = load.load(sql, DATA / f"sf{self.scale:g}", SOURCES)
        rows = ", ".join(f"{name} {count:,}" for name, count in counts.items())
        self.console.print(f"  [dim]{rows}[/]")
        return session

    def _say(self, what: str, command: str = "") -> None:
        self._step += 1
        shown = f"  [dim]$ {command}[/]" if command else ""
        self.console.print(f"\n[bold cyan]{self._step}[/] [bold]{what}[/]{shown}")

    def _progress(self, model: Model) -> None:
        color = COLORS.get(model.strategy, "red")
        self.console.print(
            f"  {model.name:<16} [{color}]{model.message}[/]  [dim]{model.seconds:.1f} s[/]",
            highlight=False,
            soft_wrap=True,
        )

    def _list_changes(self, changes: list[tuple[str, Callable[[], None]]]) -> None:
        for told, change in changes:
            self.console.print(f"  - {told}")
            change()

    def _farewell(self, seconds: float) -> None:
        python = Path(sys.executable).parent
        dbt = python.relative_to(Path.cwd()) if python.is_relative_to(Path.cwd()) else python
        options = "--project-dir integration_tests --profiles-dir integration_tests --target demo"
        self.console.print(
            f"  {PAGE.relative_to(Path.cwd()) if PAGE.is_relative_to(Path.cwd()) else PAGE}\n\n"
            f"All of it took {seconds / 60:.1f} minutes. The tables are still there. Ask how a "
            "view is maintained:\n"
            f"  [bold]{dbt}/dbt run-operation ivm_explain --args '{{model: q05}}' {options}[/]",
            highlight=False,
            soft_wrap=True,
        )


def summary(refreshed: Run, rebuilt: Run, scale: float) -> Table:
    """The table at the end: what the refresh did, and what a rebuild takes."""
    table = Table(
        title=f"TPC-H, scale factor {scale:g}",
        caption="+ inserted, ~ updated, - deleted rows of the stored view",
        header_style="bold",
    )
    table.add_column("model", no_wrap=True)
    table.add_column("strategy", no_wrap=True)
    for sign in "+~-":
        table.add_column(sign, justify="right")
    table.add_column("refresh", justify="right")
    table.add_column("full rebuild", justify="right")
    for name, model in refreshed.models.items():
        color = COLORS.get(model.strategy, "red")
        table.add_row(
            name,
            f"[{color}]{model.strategy}[/]",
            *(f"{count:,}" if count is not None else "" for count in model.rows),
            f"{model.seconds:.1f} s",
            f"{rebuilt.models[name].seconds:.1f} s",
        )
    table.add_section()
    table.add_row(
        "all",
        "",
        *(f"{sum(m.rows[i] or 0 for m in refreshed.models.values()):,}" for i in range(3)),
        f"{refreshed.seconds:.1f} s",
        f"{rebuilt.seconds:.1f} s",
        style="bold",
    )
    return table


def main() -> None:
    """Run the demo as asked for on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=0.3, help="TPC-H's scale factor")
    parser.add_argument("--picture", type=Path, help="draw what it prints into this SVG")
    given = parser.parse_args()
    console = Console(width=None if sys.stdout.isatty() else 110, record=given.picture is not None)
    Demo(console, given.scale).run()
    if given.picture is not None:
        console.save_svg(str(given.picture), title="make demo")


if __name__ == "__main__":
    main()
