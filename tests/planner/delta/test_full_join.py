"""Full outer joins: Δ(A⟗B), with the delta named twice and, where it is large, once."""

from __future__ import annotations

import pytest

from python_ivm.delta import full_join
from python_ivm.refresh.plan import Strategy
from tests.fixtures import OPERATORS
from tests.fixtures.story import Story, stories
from tests.fixtures.telling import Telling
from tests.planner.lake import Lake
from tests.planner.stories import View
from tests.planner.test_operators import (
    QUERIES,
)
from tests.planner.test_operators import (
    test_the_view_equals_its_query_through_random_rounds as through_rounds,
)

STORIES = stories(OPERATORS / "full_join.sql")


@pytest.mark.parametrize("name", [name for name in QUERIES if name.startswith("full")])
def test_dangling_rows_are_found_without_naming_the_delta(
    name: str, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
) -> None:
    monkeypatch.setattr(full_join, "_SMALL", 0)
    through_rounds(name, pytestconfig)


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.title)
def test_the_stories_go_the_same_way_for_a_large_delta(
    story: Story, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(full_join, "_SMALL", 0)
    for sql in story.views:
        Telling(story, sql, texts=False).tell()


CHAIN = "select a.x, b.y, c.z from s.a full join s.b on a.k = b.k full join s.c on c.y = b.y"


@pytest.fixture
def chain(lake: Lake) -> Lake:
    lake.create("a", {"k": "int", "x": "int"}, [(1, 1), (3, 3)])
    lake.create("b", {"k": "int", "y": "int"}, [(1, 10), (2, 20), (None, 40)])
    lake.create("c", {"y": "int", "z": "int"}, [(10, 100), (30, 300), (None, 400)])
    return lake


def after(lake: Lake, sql: str, table: str) -> str:
    """The MERGE after a row of a table with the key 1 got the key 3; on one line."""
    view = View(lake, sql)
    value = {"a": 1, "b": 10}[table]
    lake.change(table, delete=[(1, value)], insert=[(3, value)])
    view.refresh(Strategy.INCREMENTAL)
    return " ".join(lake.executed[-1].sql.split())


@pytest.mark.parametrize("small", [0, 60])
def test_no_row_dangles_by_a_table_that_the_condition_does_not_name(
    chain: Lake, small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(full_join, "_SMALL", small)
    text = after(chain, CHAIN, "a")
    assert "dangling rows of b_match" in text
    assert "dangling rows of c_match" not in text


@pytest.mark.parametrize("small", [0, 60])
def test_only_the_table_that_the_condition_names_is_asked_for_dangling_rows(
    chain: Lake, small: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(full_join, "_SMALL", small)
    text = after(chain, CHAIN, "b")
    asked = text.split("/* dangling rows of c_match")[1].split("ON FALSE")[0]
    assert "dangling rows of c_match" in text
    assert "c_match_a" not in text and "c_match_b" in asked


@pytest.mark.parametrize(
    "condition", ["c.y <=> b.y", "coalesce(a.k, b.y) = c.y", "c.z > 1", "c.y = b.y or b.y is null"]
)
def test_a_condition_that_a_row_of_nulls_meets_asks_both_tables(
    chain: Lake, condition: str
) -> None:
    assert "dangling rows of c_match" in after(chain, CHAIN.replace("c.y = b.y", condition), "a")
