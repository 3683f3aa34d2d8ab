"""The page in a browser: drawn, clicked through, by keyboard, in the dark, with 500 models."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.sparkivm.operations.report.contents import contents
from dbt.adapters.sparkivm.operations.report.page import html
from tests.adapter.project_in_a_lake import MODELS, Adapter

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium to show a page in")

HOSTILE = '<img src=x onerror="document.title=1"></script><script>document.title=2</script>'
JOINED = "select x.k, z.w from s.x as x left join s.z as z on x.k = z.k"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        # Chromium has no sandbox of its own for root.
        options = ["--no-sandbox"] if os.geteuid() == 0 else []
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=options)
        yield launched
        launched.close()


Shown = Callable[..., Any]


@pytest.fixture
def show(browser: Any, tmp_path: Path) -> Iterator[Shown]:
    """Opens a page; in the end there must be no error in any."""
    errors: list[str] = []
    pages = []

    def opened(told: dict[str, Any], **options: Any) -> Any:
        file = tmp_path / "page.html"
        file.write_text(html("shop", told), encoding="utf-8")
        page = browser.new_page(**options)
        pages.append(page)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
        page.goto(file.as_uri())
        page.wait_for_selector("html[data-ready=yes]", timeout=60_000)
        return page

    yield opened
    for page in pages:
        page.close()
    assert errors == []


@pytest.fixture
def told(adapter: Adapter, graph: dict[str, Any]) -> dict[str, Any]:
    """A small project with a change to come, and a model of hostile names."""
    adapter.lake.create("z", {"k": "int", "w": "int"}, [(1, 4)])
    for name, sql in MODELS.items():
        adapter.lake.run(name, sql)
    adapter.lake.change("x", insert=[(7, 7)])
    compiled: dict[str, Any] = {f"model.{name}": sql for name, sql in MODELS.items()}
    compiled["model.last"] = JOINED
    graph["nodes"]["model.last"]["depends_on"]["nodes"] = []
    found = contents(adapter, graph, compiled)
    found["models"]["model.bag"]["status"]["trouble"] = [HOSTILE]
    next(n for n in found["nodes"] if n["id"] == "model.bag")["name"] = HOSTILE
    return found


def test_models_are_found_and_opened_by_keyboard(show: Shown, told: dict[str, Any]) -> None:
    page = show(told)
    assert page.locator("#rows tr").count() == 4
    page.keyboard.press("/")
    page.keyboard.type("sum")
    assert page.locator("#rows tr").count() == 1
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_selector("#details h2:text-is('sums')")
    details = page.locator("#details")
    assert "x@0→1" in details.inner_text() and "FIRST_BUILD" in details.inner_text()
    assert details.locator(".canvas canvas").count() > 0, "its plan is drawn"
    page.keyboard.press("Escape")
    assert details.is_hidden()
    assert page.evaluate("document.activeElement.dataset.id") == "model.sums"


def test_models_are_opened_by_a_click_on_the_graph(show: Shown, told: dict[str, Any]) -> None:
    page = show(told)
    place = page.evaluate(
        """() => {
          const graph = document.getElementById("project")._cyreg.cy;
          return graph.getElementById("model.last").renderedPosition();
        }"""
    )
    page.locator("#project").click(position=place)
    page.wait_for_selector("#details h2:text-is('last')")
    chosen = page.get_by_label("Whose change")
    assert chosen.locator("option").all_inner_texts() == ["A change of x", "A change of z"]
    chosen.select_option("A change of z")
    page.wait_for_selector("#details [aria-label*='A change of z'] canvas")


def test_what_models_are_called_runs_nothing(show: Shown, told: dict[str, Any]) -> None:
    page = show(told)
    page.get_by_role("button", name=HOSTILE).click()
    assert page.locator("#details .trouble").inner_text() == HOSTILE
    assert page.title() == "shop" and page.locator("img").count() == 0


def test_columns_sort_and_colours_change(show: Shown, told: dict[str, Any]) -> None:
    page = show(told)
    names = page.locator("#rows td:first-child")
    before = names.all_inner_texts()
    page.locator("#titles button").first.click()
    assert names.all_inner_texts() == before[::-1]
    assert "full" in page.locator("#legend").inner_text()
    page.get_by_label("Colour by").select_option("next refresh")
    assert "incremental 3" in page.locator("#legend").inner_text()


def test_it_is_dark_where_the_reader_likes_that(show: Shown, told: dict[str, Any]) -> None:
    def brightness(page: Any) -> int:
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(map(int, colour.strip("rgb()").split(",")))

    page = show(told, color_scheme="dark")
    assert brightness(page) < 100
    page.emulate_media(color_scheme="light")
    assert brightness(page) > 600


def test_a_page_with_500_models_can_be_used(show: Shown, told: dict[str, Any]) -> None:
    one = told["models"]["model.sums"]
    sources = [{"id": f"s{n}", "name": f"s{n}", "kind": "source", "materialized": "source",
                "reads": []} for n in range(100)]  # fmt: skip
    models = [{"id": f"m{n}", "name": f"m{n}", "kind": "model", "materialized": "incremental_ivm",
               "reads": [f"s{n % 100}", f"s{n * 7 % 100}"] if n < 100 else
               [f"m{n - 100}", f"m{n * 3 % 100}"]} for n in range(500)]  # fmt: skip
    told["nodes"] = [*sources, *models]
    told["models"] = {f"m{n}": one for n in range(500)}
    page = show(told)
    assert page.locator("#rows tr").count() == 500
    page.locator("#find").fill("m499")
    assert page.locator("#rows tr").count() == 1
    page.locator("#rows button").click()
    page.wait_for_selector("#details h2:text-is('m499')")
