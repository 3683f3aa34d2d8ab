"""Small states whose rows are all written, since their commits tell that this is faster."""

from __future__ import annotations

import pytest

from python_ivm.optimize.cost import Cost
from python_ivm.refresh.planning import commits
from python_ivm.state.timings import Expected, Timings
from tests.spark.workbench import Bench


@pytest.fixture
def rewritten(timings_count: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Times that tell so of every state."""
    monkeypatch.setattr(Timings, "faster_anew", lambda *given: Expected(1_000, 3_000))


@pytest.mark.usefixtures("rewritten")
def test_all_rows_are_written_and_models_above_follow_those_that_differ(bench: Bench) -> None:
    bench.table("a", "k int, v int, d double", "(1, 7, 0.5D)", "(2, 8, -0.0D)", "(2, 8, null)")
    sums = bench.view("select k, sum(v) as s, max(d) as d from a group by k")
    bag = bench.view("select v, d from a where k > 1")
    above = bench.view(f"select k, s + 1 as s, d from {sums.name} where s > 0")
    bench.sql("insert into a values (3, 1, 0D)", "update a set v = 9 where k = 1")
    expected = "computing it takes about 1.0 s, following the change takes about 3.0 s"
    told = f"from a@1→3; {expected}"
    first = sums.refresh("recompute").response
    assert first._message == f"recompute (FASTER): 3 rows {told}"
    assert (first.rows_affected, first.rows_inserted, first.fallback) == (3, None, False)
    assert bag.refresh("recompute").response._message == f"recompute (FASTER): 3 rows {told}"
    above.refresh("recompute")
    bench.refresh("noop")


def test_all_rows_are_written_where_following_would_read_more(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Cost, "is_more_expensive", lambda *plans: True)
    bench.table("a", "k int, v int", "(1, 7)", "(2, 8)", "(2, 8)")
    sums = bench.view("select k, sum(v) as s from a group by k")
    above = bench.view(f"select max(s) as s from {sums.name}")
    bench.sql("insert into a values (3, 1)", "delete from a where k = 1")
    told = "recompute (FASTER): 2 rows from a@1→3; to follow what changed would read more"
    assert sums.refresh("recompute").response._message == told
    monkeypatch.setattr(Cost, "is_more_expensive", lambda *plans: False)
    above.refresh("incremental")
    bench.refresh("noop")


@pytest.mark.thorough
def test_models_above_do_nothing_if_no_row_differs(
    bench: Bench, rewritten: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.table("a", "k int, v int", "(1, 7)", "(2, 8)", "(2, 8)")
    sums = bench.view("select k, sum(v) as s from a group by k")
    above = bench.view(f"select k, s + 1 as s from {sums.name} where s > 0")
    bench.sql("update a set v = 8 - v where k = 1", "update a set v = 8 - v where k = 1")
    sums.refresh("recompute")
    monkeypatch.setattr(Timings, "faster_anew", lambda *given: None)
    above.refresh("noop")
    bench.sql("insert into a values (5, 5)")
    monkeypatch.setattr(Timings, "faster_anew", lambda *given: Expected(1, 3))
    sums.refresh("recompute")
    monkeypatch.setattr(Timings, "faster_anew", lambda *given: None)
    assert above.refresh("incremental").response._message.startswith("incremental: +1 ~0 -0 ")


@pytest.mark.thorough
def test_deletion_vectors_stay_where_all_rows_are_written(
    bench: Bench, timings_count: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They were set again at each MERGE after it."""
    monkeypatch.setattr(commits, "_LARGE_FILES", 0)
    bench.table("a", "k int, v int", "(1, 7)", "(2, 8)", "(2, 8)")
    sums = bench.view("select k, sum(v) as s from a group by k")
    bench.sql("insert into a values (1, 1)")
    sums.refresh("incremental")
    bench.sql("insert into a values (3, 1)")
    with monkeypatch.context() as patch:
        patch.setattr(Timings, "faster_anew", lambda *given: Expected(1_000, 3_000))
        sums.refresh("recompute")
    bench.sql("update a set v = 9 where k = 2")
    sums.refresh("incremental")
    operations = [commit["operation"] for commit in bench.history("m1__ivm_state")]
    assert operations.count("SET TBLPROPERTIES") == 1
    assert operations[:2] == ["MERGE", "WRITE"]
