"""A scalar subquery with more than one row fails a refresh as it fails the query."""

from __future__ import annotations

import pytest

from tests.spark.workbench import Bench


@pytest.mark.thorough
def test_a_second_row_is_an_error_that_changes_nothing(bench: Bench) -> None:
    bench.table("a", "k int, v int", "(1, 5)", "(3, 6)")
    bench.table("b", "k int, w int", "(1, 10)")
    view = bench.view("select a.v, (select w from b where b.k = a.k) as w from a")
    bench.sql("insert into b values (9, 1), (9, 2)")
    view.refresh(None)  # no row asks for them
    shown, commits = view.rows(), len(bench.history(view.state))
    bench.sql("insert into b values (1, 11)")
    with pytest.raises(Exception, match="SCALAR_SUBQUERY_TOO_MANY_ROWS"):
        bench.sql(view.sql)
    with pytest.raises(Exception, match="SCALAR_SUBQUERY_TOO_MANY_ROWS"):
        view.run()
    assert view.rows() == shown
    assert len(bench.history(view.state)) == commits
    bench.sql("delete from b where w = 10")
    view.refresh()
