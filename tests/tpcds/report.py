"""Keeps docs/tpcds.md: one line a query, from what was really run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "tpcds.md"
_HEAD = "| query | DuckDB | result changed | Spark | result changed | why in full |"


@dataclass
class Run:
    """What one query did.

    Attributes:
        incremental: Rounds that were refreshed incrementally.
        recomputed: Rounds in which the query was recomputed, and what differs merged.
        full: Rounds that were rebuilt in full.
        moved: Rounds in which the result changed.
        reason: Why it is rebuilt in full, if it is.
    """

    incremental: int = 0
    recomputed: int = 0
    full: int = 0
    moved: int = 0
    reason: str = ""

    @property
    def cell(self) -> str:
        """The run in words."""
        told = [f"{self.incremental} incremental"] if self.incremental else []
        told += [f"{self.recomputed} recomputed"] if self.recomputed else []
        told += [f"{self.full} in full"] if self.full else []
        return ", ".join(told) or "nothing to do"


def record(engine: str, number: int, run: Run) -> None:
    """Write a run into the page, in place of an earlier one on the same engine."""
    before, lines = _split(PAGE.read_text())
    cells = lines.get(number, ["-"] * 4 + [""])
    start = 0 if engine == "DuckDB" else 2
    cells[start : start + 2] = [run.cell, f"{run.moved} rounds"]
    cells[4] = run.reason.replace("|", "\\|").replace("\n", " ")
    lines[number] = cells
    rows = [f"| q{n:02} | {' | '.join(lines[n])} |" for n in sorted(lines)]
    PAGE.write_text(
        "\n".join([before.rstrip("\n"), "", _HEAD, "|---|---|---|---|---|---|", *rows]) + "\n"
    )


def _split(text: str) -> tuple[str, dict[int, list[str]]]:
    """The page before its table, and the table's cells by query."""
    before, _, table = text.partition(_HEAD)
    lines = {}
    for line in table.splitlines()[2:]:
        name, *cells = (cell.strip() for cell in line.strip().strip("|").split(" | "))
        lines[int(name.strip("| q"))] = [cell.strip() for cell in cells][:5]
        lines[int(name.strip("| q"))] += [""] * (5 - len(lines[int(name.strip("| q"))]))
    return before, lines
