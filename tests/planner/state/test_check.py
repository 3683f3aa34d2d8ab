"""An expression over aggregates that fails stops the refresh, and not those who read the view."""

from __future__ import annotations

from dataclasses import replace

import duckdb
import pytest

from python_ivm.explain.explain import explain
from python_ivm.refresh.plan import Strategy
from python_ivm.refresh.statement import StatementKind
from tests.planner.lake import Lake
from tests.planner.stories import View

ROWS = [(1, 10, 2), (1, 5, 1), (2, 6, 3), (None, 4, 4)]
FAILING = (2, 1, -3)
"""The row after which the divisor of group 2 is 0."""

QUERIES = {
    "item": "select k, sum(n) / sum(d) as r from s.x group by k",
    "hidden_sums": "select k, sum(n) / sum(d) as r, count(*) as c from s.x group by k",
    "several": "select k, sum(n) as n, sum(n) / sum(d) as r, max(n) / sum(d) as q from s.x "
    "group by k",
    "with_key": "select k, (sum(n) + k) / sum(d) as r from s.x group by k",
    "extremes": "select k, max(n) / min(d + 3) as r from s.x group by k",
    "recomputed": "select k, count(distinct n) / "
    "(count(distinct case when k = 2 then d end) - 2) as r from s.x group by k",
    "having": "select k from s.x group by k having sum(n) / sum(d) > 1",
    "having_and_item": "select k, sum(n) / sum(d) as r from s.x group by k "
    "having sum(n) / sum(d) > 1",
    "order": "select k from s.x group by k order by sum(n) / sum(d), k limit 5",
    "average": "select k, avg(n) / sum(d) as r from s.x group by k",
    "raised": "select k, if(sum(d) = 0, raise_error('no divisor'), 1) as r from s.x group by k",
    "derived": "select r + 1 as r from (select k, sum(n) / sum(d) as r from s.x group by k) q",
}


@pytest.fixture
def x(lake: Lake) -> Lake:
    lake.ansi = True
    lake.create("x", {"k": "int", "n": "int", "d": "int"}, ROWS)
    return lake


def failing_row(name: str) -> tuple[int, int, int]:
    """What must be inserted for a query to fail."""
    return {"extremes": (2, 1, -3), "recomputed": (2, 7, 9)}.get(name, FAILING)


@pytest.mark.parametrize("name", QUERIES)
def test_a_failing_value_fails_the_refresh_and_leaves_view_and_state(x: Lake, name: str) -> None:
    view = View(x, QUERIES[name])
    before, commits = x.view("m"), len(x.commits["m__ivm_state"])
    x.change("x", insert=[failing_row(name)])
    with pytest.raises(duckdb.Error, match=r"DIVIDE_BY_ZERO|no divisor"):
        x.recomputed(view.sql)
    for _ in range(2):  # a rerun fails likewise
        with pytest.raises(duckdb.Error, match=r"DIVIDE_BY_ZERO|no divisor"):
            x.run("m", view.sql)
        assert x.view("m") == before
        assert len(x.commits["m__ivm_state"]) == commits
    gone = [(1, 5, 1), failing_row(name)] if name == "extremes" else [(1, 5, 1)]
    x.change("x", insert=[(2, 8, 2), (3, 3, 3)], delete=gone)
    view.refresh()
    x.change("x", delete=[(3, 3, 3)])  # a group goes
    view.refresh()
    assert x.run("m", view.sql).strategy is Strategy.NOOP


@pytest.mark.parametrize("name", QUERIES)
def test_a_build_fails_before_its_commit(x: Lake, name: str) -> None:
    x.change("x", insert=[failing_row(name)])
    with pytest.raises(duckdb.Error, match=r"DIVIDE_BY_ZERO|no divisor"):
        x.run("m", QUERIES[name])
    assert "m__ivm_state" not in x.commits


def test_groups_that_the_view_leaves_out_are_not_computed(x: Lake) -> None:
    view = View(x, "select k, sum(n) / sum(d) as r from s.x group by k having sum(d) <> 0")
    x.change("x", insert=[FAILING, (5, 1, 0)])
    view.refresh()
    x.change("x", delete=[FAILING])
    view.refresh()


def test_one_row_without_rows_below_it(x: Lake) -> None:
    view = View(x, "select sum(n) / count(*) as r from s.x")
    x.change("x", insert=[(2, 3, 4)])
    view.refresh()
    before = x.view("m")
    x.change("x", delete=x.rows["x"][-1])
    with pytest.raises(duckdb.Error, match="DIVIDE_BY_ZERO"):
        x.run("m", view.sql)
    assert x.view("m") == before


SAFE = (
    "select k, sum(n) as n, count(*) as c, avg(n) as a, max(d) as m from s.x group by k",
    "select k, sum(n) from s.x group by k having count(*) > 1 and sum(n) >= 3 order by k limit 3",
    "select k, count(*) + 1 as c, coalesce(sum(n), 0) as n, upper(max(k)) as u from s.x group by k",
    "select k, try_divide(sum(n), sum(d)) as r, sum(n) / 2 as h, avg(n) / 4 as q from s.x "
    "group by k",
    "select k, n + d as t from s.x",
)


@pytest.mark.parametrize("sql", SAFE)
def test_nothing_is_stored_for_what_cannot_fail(x: Lake, sql: str) -> None:
    assert "__ivm_check__" not in explain(x.request("m", sql), x)


@pytest.mark.parametrize("name", [name for name in QUERIES if name != "raised"])
def test_nothing_is_stored_without_ansi_mode(x: Lake, name: str) -> None:
    x.ansi = False
    assert "__ivm_check__" not in explain(x.request("m", QUERIES[name]), x)


def test_an_error_that_the_query_raises_is_one_in_every_mode(x: Lake) -> None:
    x.ansi = False
    view = View(x, QUERIES["raised"])
    before = x.view("m")
    x.change("x", insert=[FAILING])
    with pytest.raises(duckdb.Error, match="no divisor"):
        x.run("m", view.sql)
    assert x.view("m") == before


def test_what_is_recomputed_is_checked_too(x: Lake) -> None:
    x.size_of = lambda table: 1000
    view = View(x, QUERIES["having_and_item"])
    x.commits["x"] = [x.commits["x"][-1]]
    x.rows["x"] = [[*ROWS, (2, 2, 2), (7, 7, 7)]]
    x._write("x", x.rows["x"][0], x.types["x"])
    x._write("x@1", x.rows["x"][0], x.types["x"])
    x.commits["x"].insert(0, replace(x.commits["x"][0], version=1, timestamp=x._time()))
    refresh = view.refresh(Strategy.RECOMPUTE)
    (merge,) = (s for s in refresh.statements if s.kind is StatementKind.MERGE)
    assert "__ivm_check__ = change.__ivm_check__" in merge.sql


def test_a_model_above_sees_nothing_of_the_check(x: Lake) -> None:
    below = QUERIES["having_and_item"]
    x.run("b", below)
    view = View(x, "select count(*) as n, sum(r) as t from s.b")
    x.change("x", insert=[(2, 9, 1)])
    x.run("b", below)
    view.refresh()
