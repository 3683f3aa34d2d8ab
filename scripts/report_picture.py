"""Draws `docs/pictures/report.png`: the page of the demo's project in a browser.

Run `make demo` first. Then `make report-picture` lets a few days go by in the demo's shop, writes
the page, and shows it in a headless Chromium.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from click.testing import CliRunner
from playwright.sync_api import sync_playwright

from dbt.adapters.sparkivm.cli import main as sparkivm
from demo.commands import Dbt
from demo.day import Day
from demo.run import SOURCES, TARGET
from integration_tests.tpch import load

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "pictures" / "report.png"
MODEL = "q13"
"""It has an outer join, and so a maintenance graph."""
DAYS = 5
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SIZE = {"width": 1360, "height": 1020}


def _live(days: int) -> None:
    """Refresh the models after each of some days, and let one more day begin."""
    session = load.session_of_profile(target=TARGET)
    dbt = Dbt(load.PROJECT, TARGET, lambda model: print(model.name, model.message))
    for number in range(days):
        session.sql(f"use {SOURCES}")
        day = Day(load.sql_of(session), number=10 + number, one_in=10 + 2 * number)
        for _, change in day.plain():
            change()
        if number < days - 1:
            dbt.run()


def _page(file: Path) -> None:
    project = str(load.PROJECT)
    options = ["--project-dir", project, "--profiles-dir", project, "--target", TARGET]
    outcome = CliRunner().invoke(sparkivm, ["report", "--output", str(file), *options])
    if outcome.exit_code != 0:
        raise SystemExit(f"{outcome.output}{outcome.exception!r}")


def _shot(file: Path) -> None:
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    options = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=browser, args=options)
        page = started.new_page(viewport=SIZE, color_scheme="light")
        page.goto(file.as_uri())
        page.wait_for_selector("html[data-ready=yes]")
        page.get_by_role("button", name=MODEL, exact=True).click()
        page.wait_for_timeout(1000)  # it moves the model to the middle
        page.evaluate("window.scrollTo(0, 0)")
        page.screenshot(path=PICTURE)


def main() -> None:
    """Draw the picture."""
    _live(DAYS)
    file = load.PROJECT / "target" / "sparkivm-report.html"
    _page(file)
    _shot(file)
    print(PICTURE)


if __name__ == "__main__":
    main()
