"""A scalar subquery with more than one row: an error like the engine's, which changes nothing."""

from __future__ import annotations

import duckdb
import pytest

from python_ivm.refresh.plan import Strategy
from tests.planner.lake import Lake
from tests.planner.stories import View

QUERIES = {
    "select": "select a.v, (select w from s.b where b.k = a.k) as w from s.a",
    "where": "select a.v from s.a where a.v < (select w from s.b where b.k = a.k)",
    "case": "select case when a.v > 0 then (select w from s.b where b.k = a.k) end as w from s.a",
    "group": "select w, count(*) as n from (select (select w from s.b where b.k = a.k) as w "
    "from s.a) q group by w",
    "range": "select a.v, (select w from s.b where b.k >= a.k and b.k < 9) as w from s.a "
    "where a.k = 1",
    "uncorrelated": "select a.v, (select w from s.b where k = 1) as w from s.a",
    "having": "select k, sum(v) as t from s.a group by k having sum(v) < (select w from s.b "
    "where b.k = 1)",
    "join": "select a.v, c.v as x from s.a join s.a c on a.k = c.k and c.v < (select w from s.b "
    "where b.k = 1)",
}

RAISED = r"\[SCALAR_SUBQUERY_TOO_MANY_ROWS\] More than one row returned by a subquery"
"""Spark's error class and words."""


@pytest.fixture
def ab(lake: Lake) -> Lake:
    lake.create("a", {"k": "int", "v": "int"}, [(1, 5), (1, 5), (3, 6)])
    lake.create("b", {"k": "int", "w": "int"}, [(1, 10)])
    return lake


@pytest.mark.parametrize("name", QUERIES)
def test_a_second_row_is_an_error_that_changes_nothing(ab: Lake, name: str) -> None:
    view = View(ab, QUERIES[name])
    shown, commits = ab.view("m"), len(ab.commits["m__ivm_state"])
    ab.change("b", insert=[(1, 11)])
    for _ in range(2):  # a rerun fails likewise
        with pytest.raises(duckdb.Error, match="More than one row"):
            ab.recomputed(view.sql)
        with pytest.raises(duckdb.Error, match=RAISED):
            ab.run("m", view.sql)
        assert ab.view("m") == shown
        assert len(ab.commits["m__ivm_state"]) == commits
    ab.change("b", delete=[(1, 10)])
    view.refresh()
    assert ab.run("m", view.sql).strategy is Strategy.NOOP


@pytest.mark.parametrize("name", QUERIES)
def test_several_rows_that_no_row_asks_for_are_no_error(ab: Lake, name: str) -> None:
    """The error was raised for groups that belong to no row of the outer query."""
    view = View(ab, QUERIES[name])
    ab.change("b", insert=[(9, 1), (9, 2)])
    view.keep_up()
    ab.change("a", delete=[(1, 5)], insert=[(3, 7)])
    view.refresh()
