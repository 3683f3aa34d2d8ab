"""A model that got another name keeps its rows."""

from __future__ import annotations

import pytest

from python_ivm.errors import InvalidModel
from python_ivm.operate.records import records
from python_ivm.operate.renaming import renaming
from python_ivm.refresh.metadata.versions import state_history
from python_ivm.refresh.options import Options
from python_ivm.refresh.plan import Strategy
from python_ivm.refresh.request import Request
from python_ivm.refresh.statement import Statement, StatementKind
from python_ivm.sources.history import Commit
from python_ivm.state.bookmark import build_time, timings
from tests.planner.lake import Lake

SQL = "select k, sum(v) as t from s.x group by k"
SUFFIX = "__ivm_state"


@pytest.fixture
def xs(lake: Lake) -> Lake:
    lake.create("x", {"k": "int", "v": "int"}, [(1, 1), (1, 2), (2, 5)])
    lake.run("old", SQL)
    return lake


def request(lake: Lake, **more: object) -> Request:
    return lake.request("new", SQL, view_exists=False, **more)


def carry_out(lake: Lake, statements: list[Statement]) -> None:
    """What Spark does: the table's history goes along."""
    for statement in statements:
        if statement.kind is StatementKind.ALTER:
            for version in range(len(lake.commits["old" + SUFFIX])):
                lake.db.execute(
                    f'alter table s."old{SUFFIX}@{version}" rename to "new{SUFFIX}@{version}"'
                )
            lake.db.execute("drop view s.old")  # whose table DuckDB does not rename under it
            lake.db.execute(f"alter table s.old{SUFFIX} rename to new{SUFFIX}")
            for kept in (lake.commits, lake.types, lake.kept):
                kept["new" + SUFFIX] = kept.pop("old" + SUFFIX)  # type: ignore[attr-defined]
        elif statement.kind is StatementKind.DROP_VIEW:
            lake.views.pop("old")
        else:
            lake.execute("new", statement)


def test_the_state_moves_and_is_followed_on(xs: Lake) -> None:
    planned = renaming(("s", "old"), request(xs), xs, SUFFIX)
    assert [s.kind for s in planned] == [
        StatementKind.ALTER,
        StatementKind.DROP_VIEW,
        StatementKind.MERGE,
    ]
    carry_out(xs, planned)
    xs.models["new"] = SQL
    found = xs.run("new", SQL, view_exists=False)
    assert (found.strategy, found.reason) == (Strategy.NOOP, "VIEW_MISSING")
    xs.check("new")
    xs.change("x", insert=[(9, 9)])
    xs.refresh_and_check("new", SQL, Strategy.INCREMENTAL)


def test_its_commit_tells_of_no_refresh_and_keeps_what_is_known_of_those_before(lake: Lake) -> None:
    lake.create("x", {"k": "int", "v": "int"}, [(1, 1), (1, 2), (2, 5)])
    lake.run("old", SQL, began=lake.milliseconds)
    lake.change("x", insert=[(9, 9)])
    lake.run("old", SQL, began=lake.milliseconds)
    before = timings(state_history(lake, ("s", "old" + SUFFIX)))
    assert len(before.followed) == len(before.anew) == 1
    built = build_time(state_history(lake, ("s", "old" + SUFFIX)))
    lake.milliseconds += 3 * 3_600_000
    carry_out(lake, renaming(("s", "old"), request(lake), lake, SUFFIX))
    found = state_history(lake, ("s", "new" + SUFFIX))
    assert (timings(found), build_time(found)) == (before, built)
    (newest, *_) = records(lake.history(("s", "new" + SUFFIX), 1) or [])
    assert (newest.strategy, newest.reason, newest.seconds) == ("noop", "RENAMED", None)


def test_one_that_was_killed_in_between_is_gone_on_with(xs: Lake) -> None:
    carry_out(xs, renaming(("s", "old"), request(xs), xs, SUFFIX)[:1])
    left = renaming(("s", "old"), request(xs), xs, SUFFIX)
    assert [s.kind for s in left] == [StatementKind.DROP_VIEW, StatementKind.MERGE]
    carry_out(xs, left)
    assert xs.run("new", SQL, view_exists=False).strategy is Strategy.NOOP


def test_nothing_else_is_taken_or_replaced(xs: Lake) -> None:
    with pytest.raises(InvalidModel, match="no state"):
        renaming(("s", "x"), request(xs), xs, SUFFIX)
    with pytest.raises(InvalidModel, match="renames no table"):
        renaming(("s", "old"), request(xs, state=("other", "new" + SUFFIX)), xs, SUFFIX)
    xs.types["new" + SUFFIX] = {"one": "int"}
    with pytest.raises(InvalidModel, match="there already"):
        renaming(("s", "old"), request(xs), xs, SUFFIX)


def test_the_state_of_another_project_stays_there(xs: Lake) -> None:
    xs.run("theirs", SQL, project="theirs")
    with pytest.raises(InvalidModel, match="project theirs"):
        renaming(("s", "theirs"), request(xs, project="ours"), xs, SUFFIX)
    assert isinstance(xs.commits["theirs" + SUFFIX][0], Commit)


def test_a_model_that_reads_its_own_rows_keeps_its_name(lake: Lake) -> None:
    """Under another one it was another query, which began without rows."""
    sql = "select k, v from s.x union all select k, v + 1 from s.{} where v < 3"
    lake.create("x", {"k": "int", "v": "int"}, [(1, 1)])
    lake.run("old", sql.format("old"))
    asked = lake.request("new", sql.format("new"), view_exists=False)
    with pytest.raises(InvalidModel, match=r"reads its own rows.*alias: old"):
        renaming(("s", "old"), asked, lake, SUFFIX)


def test_a_log_keeps_its_rows(lake: Lake) -> None:
    """The run after it failed, as its view has a column more than its query."""
    log = Options.of({"ivm_output": "inserted"})
    sql = "select k, v from s.x"
    lake.create("x", {"k": "int", "v": "int"}, [(1, 1)])
    lake.run("old", sql, options=log)
    lake.change("x", insert=[(2, 2)])
    lake.run("old", sql, options=log)
    before = lake.view("old")
    asked = lake.request("new", sql, options=log, view_exists=False)
    carry_out(lake, renaming(("s", "old"), asked, lake, SUFFIX))
    found = lake.run("new", sql, options=log, view_exists=False)
    assert (found.strategy, found.reason) == (Strategy.NOOP, "VIEW_MISSING")
    assert lake.view("new") == before


def test_a_log_moves_to_a_state_of_another_suffix(lake: Lake) -> None:
    """Its view reads the state twice, as that of a bag."""
    log = Options.of({"ivm_output": "inserted"})
    lake.create("x", {"k": "int", "v": "int"}, [(1, 1)])
    lake.run("old", "select k, v from s.x", options=log)
    state = ("s", "old__other")
    asked = lake.request("old", "select k, v from s.x", options=log, state=state)
    planned = renaming(("s", "old"), asked, lake, "__other")
    assert planned[0].sql == "ALTER TABLE s.old__ivm_state RENAME TO s.old__other"
