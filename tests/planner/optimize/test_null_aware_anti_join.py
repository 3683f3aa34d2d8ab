"""NOT IN is looked up by key, whatever NULLs come and go on either side."""

from __future__ import annotations

import pytest

from tests.planner.lake import Lake
from tests.planner.stories import View

PLAIN = "select a.v from s.a where a.k not in (select b.k from s.b)"

ODD = "select a.v from s.a where a.t not in (select b.k from s.b)"  # a cast may be NULL, too
UNKNOWN = ") IS NULL"
"""Part of the condition that is true where a comparison is NULL."""


@pytest.fixture
def lake() -> Lake:
    made = Lake()
    made.create("a", {"k": "int", "v": "int", "t": "double"}, [(1, 1, 1.0), (2, 2, 2.5)])
    made.create("b", {"k": "bigint", "w": "int"}, [(1, 1), (3, 2)])
    return made


def merged(lake: Lake, sql: str) -> str:
    """The MERGE after a row came into the list."""
    view = View(lake, sql)
    lake.change("b", insert=[(9, 9)])
    planned = view.planned().sql
    view.refresh()
    return " ".join(planned.split())


def test_the_list_is_found_by_its_key(lake: Lake) -> None:
    found = merged(lake, PLAIN)
    assert UNKNOWN not in found
    assert "LEFT SEMI JOIN in_list_changed ON a.k = in_list_changed.k" in found
    assert "WHERE a.k = 9" in found  # of a large table only that row is read


@pytest.mark.parametrize(
    "sql",
    [
        "select v from s.a where k > 0 and k not in (select k from s.b where k is not null)",
        "select v from s.a join s.b on a.k = b.k where a.k not in (select k from s.b where k < 9)",
    ],
)
def test_without_nulls_it_is_one_antijoin(lake: Lake, sql: str) -> None:
    found = merged(lake, sql)
    assert "in_list_null" not in found
    assert "in_list_unknown" not in found
    assert UNKNOWN not in found


@pytest.mark.parametrize(
    "sql",
    [
        ODD,
        "select a.v from s.a where a.k + 1 not in (select k from s.b)",
        "select a.v from s.a where (a.k, a.v) not in (select k, w from s.b)",
    ],
)
def test_other_comparisons_stay_as_they_are(lake: Lake, sql: str) -> None:
    assert UNKNOWN in merged(lake, sql)


def test_lists_of_lists_grow_to_a_limit(lake: Lake) -> None:
    """Each is read three times, but not three times three times three times."""
    inner = "select k from s.b"
    for _ in range(5):
        inner = f"select k from s.b where k not in ({inner})"
    found = merged(lake, f"select v from s.a where k not in ({inner})")
    assert found.count("VERSION AS OF") <= 200
