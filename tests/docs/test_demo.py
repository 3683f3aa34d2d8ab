"""What the demo shows of its runs; the runs themselves need a Spark."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from demo.commands import Model, Run
from demo.run import MODELS
from demo.show import Days, Stage, draw, summary
from integration_tests.tpch.load import PROJECT


def run(seconds: float, strategy: str = "incremental") -> Run:
    return Run({"q01": Model("q01", strategy, f"{strategy}: told", (1, 2, None), seconds)})


@pytest.fixture
def console() -> Console:
    return Console(width=100, file=io.StringIO(), record=True)


def test_the_first_of_each_way_is_told_but_not_compared() -> None:
    days = Days([run(9.0), run(1.0), run(2.0)], [run(8.0), run(4.0), run(5.0)])
    assert days.warm == (3.0, 9.0)
    assert days.first == (9.0, 8.0)


def test_the_table_sums_the_days_and_names_each_strategy(console: Console) -> None:
    days = Days([run(9), run(1), run(2, "recompute")], [run(8), run(4), run(5)])
    console.print(summary(days, 0.5))
    text = console.export_text()
    assert "scale factor 0.5: 2 days of changes" in text
    (line,) = (each for each in text.splitlines() if "q01" in each)
    assert [cell.strip() for cell in line.strip("│ ").split("│")] == [
        "q01", "incremental / recompute", "2", "4", "0", "3.0 s", "9.0 s",
    ]  # fmt: skip


def test_the_picture_shows_the_last_part_and_asks_no_server(
    console: Console, tmp_path: Path
) -> None:
    stage = Stage(console)
    stage.say("Long ago")
    stage.clear()
    stage.say("Today")
    with stage.bar("refreshing", 1):
        stage.finished(Model("q01", "noop", "noop: no source changed", (None,) * 3, 0.1))
    draw(console, tmp_path / "demo.svg")
    picture = (tmp_path / "demo.svg").read_text()
    assert "Today" in picture and "changed" in picture and "Long" not in picture
    assert "url(" not in picture.replace("url(#", "")


def test_the_demos_models_are_there() -> None:
    assert {path.stem for path in PROJECT.glob("models/*/*.sql")} >= set(MODELS)
