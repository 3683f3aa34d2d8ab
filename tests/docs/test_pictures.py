"""What the pictures show is what was measured, and what the planner does."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from scripts import pictures
from scripts.delta_pictures import JOINS, steps

ROOT = Path(__file__).parents[2]


def seconds(way: str) -> list[float]:
    _, bars = pictures.headline()
    return [round(found.median) for bar in bars.values() if (found := bar[way])]


def test_the_readme_says_of_its_picture_what_was_measured() -> None:
    text = re.search(
        r"!\[([^\]]*)\]\(docs/pictures/headline.svg\)", (ROOT / "README.md").read_text()
    )
    assert text is not None
    table, refresh = seconds("table"), seconds("refresh")
    assert len(table) == len(refresh) == len(pictures.QUERIES)
    assert f"a full rebuild takes {min(table)} to {max(table)} seconds" in text[1]
    assert f"a refresh {min(refresh)} to {max(refresh)}" in text[1]


def test_each_size_of_change_was_measured_in_both_ways() -> None:
    for bars in pictures.by_size().values():
        assert list(bars) == list(pictures.SIZES.values())
        assert all(bar["table"] and bar["refresh"] for bar in bars.values())


@pytest.mark.parametrize(("join", "terms"), [("join", 2), ("left join", 3)])
def test_the_terms_of_a_delta_are_what_the_view_gains_and_loses(join: str, terms: int) -> None:
    made = steps(join)
    assert len(made.terms) == terms
    assert all(term.rows and term.title for term in made.terms)
    delta: Counter[object] = Counter()
    for term in made.terms:
        for sign, row in term.rows:
            delta[row] += sign
    assert delta == {row: sign for sign, row in made.view.rows if sign}


def test_pages_show_every_picture() -> None:
    drawn = {path.name for path in pictures.PICTURES.glob("*.svg")}
    assert {f"{name}.svg" for name in JOINS} < drawn
    text = "\n".join(page.read_text() for page in [*ROOT.glob("docs/**/*.md"), ROOT / "README.md"])
    assert drawn == set(re.findall(r"pictures/([\w-]+\.svg)\)", text))
