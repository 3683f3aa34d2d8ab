"""What the demo shows: lines as models finish, a bar below them, and a table at the end."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import CONSOLE_SVG_FORMAT, Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from demo.commands import Model, Run

COLORS = {"incremental": "green", "recompute": "cyan", "full": "yellow", "noop": "dim"}


class Stage:
    """Where the demo's steps are told.

    Args:
        console: where to print.
    """

    def __init__(self, console: Console) -> None:
        """Nothing is shown yet."""
        self.console = console
        self._step = 0
        self._bar: Progress | None = None

    def say(self, what: str, command: str = "") -> None:
        """Begin a step."""
        self._step += 1
        shown = f"  [dim]$ {command}[/]" if command else ""
        self.console.print(f"\n[bold cyan]{self._step}[/] [bold]{what}[/]{shown}")

    def clear(self) -> None:
        """Leave what was told so far out of the picture, if one is to be drawn."""
        if self.console.record:
            self.console.export_text()

    def finished(self, model: Model) -> None:
        """Tell what a run did with a model, and move the bar."""
        color = COLORS.get(model.strategy, "magenta")
        self.console.print(
            f"  {model.name:<16} [{color}]{model.message}[/]  [dim]{model.seconds:.1f} s[/]",
            highlight=False,
            soft_wrap=True,
        )
        if self._bar is not None:
            self._bar.advance(self._bar.task_ids[0])

    @contextmanager
    def bar(self, what: str, models: int | None = None) -> Iterator[None]:
        """Show a bar until the block ends.

        Args:
            what: what is going on.
            models: of how many models; None if it is one thing, of which no progress is known.
        """
        columns = [TextColumn("  [dim]{task.description}"), BarColumn(bar_width=30)]
        counted = [MofNCompleteColumn()] if models else []
        with Progress(
            *columns, *counted, TimeElapsedColumn(), console=self.console, transient=True
        ) as shown:
            shown.add_task(what, total=models)
            self._bar = shown
            try:
                yield
            finally:
                self._bar = None


@dataclass
class Days:
    """The runs of both ways, in their order; the first of each was the first of the process."""

    refreshed: list[Run] = field(default_factory=list)
    rebuilt: list[Run] = field(default_factory=list)

    @property
    def warm(self) -> tuple[float, float]:
        """Seconds of all refreshes and of all rebuilds but the first ones."""
        return _total(self.refreshed[1:]), _total(self.rebuilt[1:])

    @property
    def first(self) -> tuple[float, float]:
        """Seconds of the first refresh and of the first build."""
        return self.refreshed[0].seconds, self.rebuilt[0].seconds


def draw(console: Console, file: Path) -> None:
    """Draw what a console recorded as an SVG, in a font that the reader has."""
    remote = re.compile(r"@font-face \{\{.*?\}\}\s*", re.DOTALL)
    frame = remote.sub("", CONSOLE_SVG_FORMAT).replace("Fira Code", "DejaVu Sans Mono, Menlo")
    console.save_svg(str(file), title="make demo", code_format=frame, unique_id="demo")


def summary(days: Days, scale: float) -> Table:
    """The table at the end: what the refreshes did, and what rebuilds take."""
    number = len(days.refreshed) - 1
    table = Table(
        title=f"TPC-H, scale factor {scale:g}: {number} days of changes",
        caption="+ inserted, ~ updated, - deleted rows of the stored view",
        header_style="bold",
    )
    table.add_column("model", no_wrap=True)
    table.add_column("strategy", no_wrap=True)
    for sign in "+~-":
        table.add_column(sign, justify="right")
    table.add_column("refreshes", justify="right")
    table.add_column("rebuilds", justify="right")
    for name in days.rebuilt[-1].models:
        done = [run.models[name] for run in days.refreshed[1:]]
        anew = [run.models[name] for run in days.rebuilt[1:]]
        ways = dict.fromkeys(model.strategy for model in done)
        colored = " / ".join(f"[{COLORS.get(way, 'red')}]{way}[/]" for way in ways)
        table.add_row(name, colored, *_rows(done), f"{_sum(done):.1f} s", f"{_sum(anew):.1f} s")
    table.add_section()
    everything = [model for run in days.refreshed[1:] for model in run.models.values()]
    sums = [f"{seconds:.1f} s" for seconds in days.warm]
    table.add_row("all", "", *_rows(everything), *sums, style="bold")
    return table


def _rows(models: Sequence[Model]) -> list[str]:
    return [f"{sum(model.rows[sign] or 0 for model in models):,}" for sign in range(3)]


def _sum(models: Sequence[Model]) -> float:
    return sum(model.seconds for model in models)


def _total(runs: Sequence[Run]) -> float:
    return sum(run.seconds for run in runs)
