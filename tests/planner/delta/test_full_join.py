"""Full outer joins: Δ(A⟗B), with the delta named twice and, where it is large, once."""

from __future__ import annotations

import pytest

from python_ivm.delta import full_join
from python_ivm.refresh.statements import Strategy
from tests.planner.lake import Lake
from tests.planner.stories import View
from tests.planner.test_operators import (
    QUERIES,
)
from tests.planner.test_operators import (
    test_the_view_equals_its_query_through_random_rounds as through_rounds,
)


@pytest.mark.parametrize("name", [name for name in QUERIES if name.startswith("full")])
def test_rows_left_alone_are_found_without_naming_the_delta(
    name: str, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
) -> None:
    monkeypatch.setattr(full_join, "_SMALL", 0)
    through_rounds(name, pytestconfig)


@pytest.mark.parametrize("small", [0, 60])
def test_the_papers_example(lake: Lake, small: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(full_join, "_SMALL", small)
    lake.create("r", {"a": "int"}, [(1,), (1,)])
    lake.create("s", {"b": "int"}, [(1,), (2,)])
    view = View(lake, "select a, b from s.r full join s.s on a = b")
    view.shows((1, 1), (1, 1), (None, 2))
    lake.change("r", insert=[(2,)])
    view.refresh()
    view.shows((1, 1), (1, 1), (2, 2))
    lake.change("s", delete=[(1,)])
    view.refresh()
    view.shows((1, None), (1, None), (2, 2))


def test_both_sides_at_once(lake: Lake) -> None:
    lake.create("r", {"a": "int"}, [(1,), (1,)])
    lake.create("s", {"b": "int"}, [(1,), (2,)])
    view = View(lake, "select a, b from s.r full join s.s on a = b")
    lake.change("r", insert=[(2,)])
    lake.change("s", delete=[(1,)])
    view.refresh()
    view.shows((1, None), (1, None), (2, 2))


def test_a_change_of_a_column_that_is_not_read_writes_nothing(lake: Lake) -> None:
    lake.create("r", {"a": "int", "x": "int"}, [(1, 1)])
    lake.create("s", {"b": "int"}, [(1,)])
    view = View(lake, "select a, b from s.r full join s.s on a = b")
    lake.change("r", delete=[(1, 1)], insert=[(1, 2)])
    assert view.touched() == []
    view.refresh(Strategy.INCREMENTAL)
