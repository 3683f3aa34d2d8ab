"""A source's delta is its change feed between two versions."""

from __future__ import annotations

import sqlglot
from sqlglot import exp

from tests.planner.lake import Lake
from tests.planner.stories import View

ROWS = [(1, 10), (1, 10), (2, None), (None, 30)]


def table(lake: Lake) -> View:
    lake.create("x", {"i": "int", "v": "int"}, ROWS)
    return View(lake, "select i, v from s.x")


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
