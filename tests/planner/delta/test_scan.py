"""A source's delta is its change feed between two versions."""

from __future__ import annotations

import sqlglot
from sqlglot import exp

from python_ivm.refresh.statement import Strategy
from tests.planner.lake import Lake
from tests.planner.stories import View

ROWS = [(1, 10), (1, 10), (2, None), (None, 30)]


def table(lake: Lake) -> View:
    lake.create("x", {"i": "int", "v": "int"}, ROWS)
    return View(lake, "select i, v from s.x")


def test_rows_come_and_go_with_their_multiplicity(lake: Lake) -> None:
    view = table(lake)
    view.shows(*ROWS)
    lake.change("x", delete=[(1, 10)], insert=[(None, 30), (3, 3)])
    view.refresh()
    view.shows((1, 10), (2, None), (None, 30), (None, 30), (3, 3))


def test_one_of_several_equal_rows_is_deleted(lake: Lake) -> None:
    view = table(lake)
    lake.change("x", delete=[(1, 10)])
    view.refresh()
    view.shows((1, 10), (2, None), (None, 30))


def test_several_commits_between_two_refreshes_are_one_delta(lake: Lake) -> None:
    view = table(lake)
    lake.change("x", insert=[(5, 5), (6, 6)])
    lake.change("x", delete=[(5, 5), (2, None)])
    lake.change("x", insert=[(7, 7)])
    assert view.refresh().ranges == ("x@0→3",)
    view.shows((1, 10), (1, 10), (None, 30), (6, 6), (7, 7))


def test_an_update_that_changes_nothing_touches_nothing(lake: Lake) -> None:
    view = table(lake)
    lake.change("x", delete=[(1, 10), (2, None)], insert=[(1, 10), (2, None)])
    assert view.touched() == []
    view.refresh(Strategy.NOOP)
    view.shows(*ROWS)


def test_rows_deleted_and_inserted_again_by_a_later_commit_touch_nothing(lake: Lake) -> None:
    view = table(lake)
    lake.change("x", delete=ROWS)
    lake.change("x", insert=ROWS)
    assert view.touched() == []
    view.refresh(Strategy.NOOP)
    view.shows(*ROWS)


def test_a_row_that_came_and_went_since_the_last_refresh_touches_nothing(lake: Lake) -> None:
    view = table(lake)
    lake.change("x", insert=[(9, 9)])
    lake.change("x", delete=[(9, 9)])
    assert view.touched() == []
    view.refresh(Strategy.NOOP)


def test_a_commit_of_no_rows_is_applied_as_nothing(lake: Lake) -> None:
    view = table(lake)
    lake.change("x")
    assert view.touched() == []
    view.refresh(Strategy.NOOP)


def test_optimize_alone_is_a_noop_and_beside_changes_is_passed_over(lake: Lake) -> None:
    view = table(lake)
    lake.optimize("x")
    view.refresh(Strategy.NOOP)
    lake.optimize("x")
    lake.change("x", insert=[(8, 8)])
    lake.optimize("x")
    view.refresh()
    view.shows(*ROWS, (8, 8))


def test_everything_is_deleted_and_the_table_filled_again(lake: Lake) -> None:
    view = table(lake)
    lake.change("x", delete=ROWS)
    view.refresh()
    view.shows()
    lake.change("x", insert=[(1, 1)])
    view.refresh()
    view.shows((1, 1))


def test_inserts_only_emit_no_branch_for_deletions(lake: Lake) -> None:
    view = table(lake)
    lake.change("x", insert=[(1, 10)])
    assert "DELETE" not in view.planned().sql
    lake.change("x", delete=2 * [(1, 10)])
    assert "DELETE" in view.planned().sql


def test_only_the_columns_that_the_view_needs_are_read(lake: Lake) -> None:
    lake.create("x", {"i": "int", "v": "int", "unused": "string"}, [(1, 2, "a")])
    view = View(lake, "select i from s.x where v > 1")
    lake.change("x", insert=[(2, 2, "b")])
    assert "unused" not in view.planned().sql


def test_every_read_of_a_table_is_pinned_to_a_version(lake: Lake) -> None:
    """Beside an unpinned read of a table Spark reads table_changes() of it as the table itself."""
    lake.create("x", {"i": "int", "v": "int"}, ROWS)
    view = View(
        lake,
        "select a.i, min(b.v) lo, sum(g.n) t from s.x a join s.x b on a.i = b.i "
        "join (select i, count(*) n from s.x group by i) g on g.i = a.i group by a.i",
    )
    lake.change("x", delete=[(1, 10)], insert=[(2, 5)])
    tree = sqlglot.parse_one(view.planned().sql, read="spark")
    reads = [t for t in tree.find_all(exp.Table) if t.db == "s" and t.name == "x"]
    assert reads
    assert all(t.args.get("version") is not None for t in reads)
    feeds = [f for f in tree.find_all(exp.Anonymous) if f.name.lower() == "table_changes"]
    assert len({f.sql() for f in feeds}) == 1, "one range of a table in a statement"
    view.refresh()
