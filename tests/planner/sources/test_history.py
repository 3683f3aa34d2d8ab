"""A Delta table's commits, classified as DESCRIBE HISTORY of Delta 4.4 shows them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from python_ivm.refresh.metadata.versions import change_since
from python_ivm.refresh.plan import Strategy
from python_ivm.sources.history import (
    Change,
    Commit,
    Detail,
    SourceChange,
    SourceVersion,
    classify,
    since,
)
from python_ivm.state.bookmark import Bookmark
from tests.planner.lake import Lake
from tests.planner.stories import View

INSERT_ONLY_MERGE = {
    "numTargetRowsInserted": "3", "numTargetRowsUpdated": "0", "numTargetRowsDeleted": "0",
}  # fmt: skip
EMPTY_MERGE = {**INSERT_ONLY_MERGE, "numTargetRowsInserted": "0"}


@pytest.mark.parametrize(
    ("operation", "mode", "metrics", "change"),
    [
        ("CREATE TABLE", "", {}, Change.REPLACED),
        ("CREATE TABLE AS SELECT", "", {"numOutputRows": "3"}, Change.REPLACED),
        ("CREATE OR REPLACE TABLE AS SELECT", "", {"numOutputRows": "3"}, Change.REPLACED),
        ("REPLACE TABLE AS SELECT", "", {}, Change.REPLACED),
        ("REPLACE TABLE", "", {}, Change.REPLACED),
        ("CREATE OR REPLACE TABLE", "", {}, Change.REPLACED),
        ("CLONE", "", {}, Change.REPLACED),
        ("RENAME COLUMN", "", {}, Change.REPLACED),
        ("DROP COLUMNS", "", {}, Change.REPLACED),
        ("WRITE", "Append", {"numOutputRows": "3"}, Change.INSERTS),
        ("STREAMING UPDATE", "Append", {}, Change.INSERTS),
        ("WRITE", "Overwrite", {"numOutputRows": "3"}, Change.GENERAL),
        ("WRITE", "Overwrite", {"numDeletedRows": "3"}, Change.GENERAL),
        ("WRITE", "", {}, Change.GENERAL),
        ("STREAMING UPDATE", "Complete", {}, Change.GENERAL),
        ("DELETE", "", {"numDeletedRows": "1"}, Change.GENERAL),
        ("UPDATE", "", {"numUpdatedRows": "1"}, Change.GENERAL),
        ("MERGE", "", INSERT_ONLY_MERGE, Change.INSERTS),
        ("MERGE", "", EMPTY_MERGE, Change.COLUMNS),  # by schema evolution
        ("MERGE", "", {**INSERT_ONLY_MERGE, "numTargetRowsUpdated": "1"}, Change.GENERAL),
        ("MERGE", "", {**INSERT_ONLY_MERGE, "numTargetRowsDeleted": "1"}, Change.GENERAL),
        ("MERGE", "", {}, Change.GENERAL),
        ("TRUNCATE", "", {"numRemovedFiles": "1"}, Change.GENERAL),
        ("RESTORE", "", {"numRestoredFiles": "1"}, Change.REPLACED),
        ("FSCK", "", {"numRemovedFiles": "1"}, Change.REPLACED),
        ("OPTIMIZE", "", {"numAddedFiles": "1"}, Change.NONE),
        ("VACUUM START", "", {}, Change.NONE),
        ("VACUUM END", "", {}, Change.NONE),
        ("SET TBLPROPERTIES", "", {}, Change.NONE),
        ("UNSET TBLPROPERTIES", "", {}, Change.NONE),
        ("UPGRADE PROTOCOL", "", {}, Change.NONE),
        ("CLUSTER BY", "", {}, Change.NONE),
        ("ADD CONSTRAINT", "", {}, Change.NONE),
        ("DROP CONSTRAINT", "", {}, Change.NONE),
        ("ADD COLUMNS", "", {}, Change.COLUMNS),
        ("CHANGE COLUMN", "", {}, Change.COLUMNS),
        ("AN OPERATION OF A LATER DELTA", "", {}, Change.GENERAL),
    ],
)
def test_a_commit_is_classified_by_its_operation_never_by_blind_append(
    operation: str, mode: str, metrics: dict[str, str], change: Change
) -> None:
    assert Commit(1, "t", operation, mode, metrics).change is change


def test_a_refresh_without_rows_changes_nothing() -> None:
    bookmark = Bookmark("q", "f", 2, {}).text()
    assert Commit(1, "t", "MERGE", "", EMPTY_MERGE, bookmark).change is Change.NONE


def commits(*operations: str, first: int = 0) -> list[Commit]:
    """Newest first, as DESCRIBE HISTORY lists them; ``+`` is an append."""
    made = [
        Commit(v, f"t{v}", "WRITE" if o == "+" else o, "Append" if o == "+" else "")
        for v, o in enumerate(operations, first)
    ]
    return made[::-1]


def test_a_range_is_as_bad_as_its_worst_commit() -> None:
    assert classify([]) is Change.NONE
    assert classify(commits("OPTIMIZE", "+", "VACUUM END")) is Change.INSERTS
    assert classify(commits("+", "DELETE", "+")) is Change.GENERAL
    assert classify(commits("+", "DELETE", "RENAME COLUMN")) is Change.REPLACED


def test_the_old_state_moves_past_commits_that_change_no_row() -> None:
    found = since(
        ("s", "x"), SourceVersion(3, "t3"), commits("+", "OPTIMIZE", "+", "OPTIMIZE", first=3)
    )
    assert found is not None
    assert (found.pre.version, found.post.version, found.change) == (4, 6, Change.INSERTS)


@pytest.mark.parametrize(
    "history",
    [
        [],
        commits("+", "+", first=4),
        [Commit(4, "t4", "WRITE", "Append"), Commit(3, "another time", "CREATE TABLE")],
        commits("CREATE TABLE"),
    ],
    ids=["no history", "cleaned up", "created anew and grown past", "created anew"],
)
def test_a_bookmark_that_is_not_in_the_history_cannot_be_continued(history: list[Commit]) -> None:
    assert since(("s", "x"), SourceVersion(3, "t3"), history) is None


@pytest.mark.parametrize(
    ("commit", "bookmark", "same"),
    [
        ("1700000000000", "1700000000000", True),
        # The commit before, at the same time, is beyond the history that was asked for.
        ("1700000000000", "1700000000001", True),
        ("1700000000000", "1700000000006", True),
        # No more than six commits came before it: it is another table's, swapped by RENAME.
        ("1700000000000", "1700000000007", False),
        ("1700000000001", "1700000000000", False),
        ("1700000000000", "1700000001000", False),
        ("2024-01-01", "2024-01-01", True),
        ("2024-01-01", "2024-01-02", False),
    ],
)
def test_a_bookmark_knows_its_commit_by_a_time_that_delta_may_have_moved(
    commit: str, bookmark: str, same: bool
) -> None:
    history = [Commit(7, "1700000009000", "OPTIMIZE"), Commit(6, commit, "WRITE", "Append")]
    found = since(("s", "x"), SourceVersion(6, bookmark), history)
    assert (found is not None) == same


# -- what follows for a view ---------------------------------------------------------------


class EarlierLake(Lake):
    """A lake whose ``x`` a run sees as it was when the run began, as dbt's runs do with sources.

    Attributes:
        seen: The version of ``x`` that it sees; None for the newest.
    """

    seen: int | None = None

    def history(self, parts: tuple[str, ...], limit: int | None) -> Sequence[Commit] | None:
        found = super().history(parts, None)
        if found is None or parts[-1] != "x":
            return found if found is None else found[:limit]
        return [c for c in found if self.seen is None or c.version <= self.seen][:limit]


def test_a_view_that_another_run_refreshed_from_a_later_version_is_left_as_it_is() -> None:
    lake = EarlierLake()
    lake.create("x", {"k": "int"}, [(1,)])
    lake.create("y", {"k": "int"}, [(1,)])
    sql = "select x.k from s.x join s.y on x.k = y.k"
    view = View(lake, sql)
    lake.change("x", insert=[(2,)])
    view.refresh()
    lake.seen = 0
    assert lake.run("m", sql).strategy is Strategy.NOOP
    lake.change("y", insert=[(2,), (1,)])
    assert lake.run("m", sql).strategy is Strategy.INCREMENTAL
    view.shows((1,), (1,), (2,))
    lake.seen = None
    lake.change("x", delete=[(1,)], insert=[(2,)])
    view.refresh()


@pytest.mark.parametrize(
    ("time", "version", "trusted"),
    [
        ("1700000000123", None, True),
        # A store that counts whole seconds: another commit may have come in the same one.
        ("1700000000000", None, False),
        ("1700000000000", 3, True),
    ],
)
def test_a_time_tells_a_version_unless_it_counts_whole_seconds(
    time: str, version: int | None, trusted: bool
) -> None:
    lake = EarlierLake()
    lake.create("x", {"k": "int"}, [(1,)])
    lake.commits["x"] = [Commit(3, time, "WRITE", "Append")]
    asked: list[int | None] = []
    answer = lake.history

    def history(parts: tuple[str, ...], limit: int | None) -> Sequence[Commit] | None:
        asked.append(limit)
        return answer(parts, limit)

    lake.history = history  # type: ignore[method-assign]
    lake.detail = lambda parts: Detail(time, 5, version)  # type: ignore[method-assign]
    change = change_since(lake, ("s", "x"), SourceVersion(3, time), steady=True)
    assert isinstance(change, SourceChange) and not change.changed
    assert bool(asked) is not trusted


def test_a_table_that_was_made_anew_with_fewer_versions_is_noticed() -> None:
    lake = EarlierLake()
    lake.create("x", {"k": "int"}, [(1,)])
    view = View(lake, "select k from s.x")
    lake.change("x", insert=[(2,)])
    view.refresh()
    lake.create("x", {"k": "int"}, [(5,)])
    assert view.refresh(Strategy.FULL).reason == "SOURCE_RECREATED"


def test_a_recreated_table_is_noticed_though_its_version_is_the_same(lake: Lake) -> None:
    lake.create("x", {"v": "int"}, [(1,)])
    View(lake, "select v from s.x")
    lake.create("x", {"v": "int"}, [(2,)])
    lake.commits["x"] = [Commit(0, "later", "CREATE TABLE AS SELECT")]
    refresh = lake.refresh_and_check("m", "select v from s.x", Strategy.FULL)
    assert refresh.reason == "SOURCE_RECREATED"


def test_a_table_swapped_for_one_made_just_before_is_noticed(lake: Lake) -> None:
    """``CREATE TABLE y; CREATE TABLE x``, a view of ``x``, then both change names."""
    lake.create("x", {"v": "int"}, [(1,)])
    lake.commits["x"] = [Commit(0, "1700000000300", "CREATE TABLE AS SELECT")]
    View(lake, "select v from s.x")
    lake.create("x", {"v": "int"}, [(2,)])
    lake.commits["x"] = [Commit(0, "1700000000000", "CREATE TABLE AS SELECT")]
    refresh = lake.refresh_and_check("m", "select v from s.x", Strategy.FULL)
    assert refresh.reason == "SOURCE_RECREATED"


def test_a_replaced_table_is_rebuilt_from(lake: Lake) -> None:
    lake.create("x", {"v": "int"}, [(1,)])
    View(lake, "select v from s.x")
    lake.change("x", delete=[(1,)], insert=[(5,)])
    lake.commits["x"][0] = Commit(1, "x-1", "CREATE OR REPLACE TABLE AS SELECT")
    refresh = lake.refresh_and_check("m", "select v from s.x", Strategy.FULL)
    assert refresh.reason == "SOURCE_REPLACED"
    assert "s.x" in refresh.explanation


@pytest.mark.parametrize("partitioned", [True, False])
def test_an_overwrite_that_does_not_say_whether_it_changed_the_partitions(
    lake: Lake, partitioned: bool
) -> None:
    """Its feed may have NULL for what the rows that went were partitioned by."""
    lake.create("x", {"v": "int"}, [(1,)])
    View(lake, "select v from s.x")
    lake.change("x", delete=[(1,)], insert=[(5,)])
    lake.commits["x"][0] = Commit(1, "x-1", "WRITE", "Overwrite", new_schema=None)
    lake.partitioned = {"x"} if partitioned else set()
    strategy = Strategy.INCREMENTAL if partitioned else Strategy.FULL
    refresh = lake.refresh_and_check("m", "select v from s.x", strategy)
    assert partitioned or refresh.reason == "SOURCE_REPLACED"


def added_column(lake: Lake) -> None:
    """ADD COLUMNS (w int): rows stay, the table has one more column."""
    version = len(lake.rows["x"])
    lake.types["x"]["w"] = "int"
    lake.rows["x"].append([(*row, None) for row in lake.rows["x"][-1]])
    for name in ("x", f"x@{version}"):
        lake._write(name, lake.rows["x"][-1], lake.types["x"])
    feed = {**lake.types["x"], "_change_type": "string", "_commit_version": "bigint"}
    lake._write(f"x@feed{version}", [], feed)
    lake.commits["x"].insert(0, Commit(version, f"x-{version}", "ADD COLUMNS"))


def test_added_columns_rebuild_a_view_of_star(lake: Lake) -> None:
    lake.create("x", {"v": "int"}, [(1,)])
    View(lake, "select * from s.x")
    added_column(lake)
    refresh = lake.refresh_and_check("m", "select * from s.x", Strategy.FULL)
    assert refresh.reason == "SCHEMA_CHANGED"
    lake.refresh_and_check("m", "select * from s.x", Strategy.NOOP)
    assert lake.view("m") == {(1, None): 1}


def test_added_columns_that_a_view_does_not_name_change_nothing(lake: Lake) -> None:
    lake.create("x", {"v": "int"}, [(1,)])
    view = View(lake, "select v from s.x")
    added_column(lake)
    view.refresh(Strategy.NOOP)
    lake.change("x", insert=[(2, 3)])
    view.refresh()
    view.shows((1,), (2,))


def test_a_column_that_changes_its_type_rebuilds(lake: Lake) -> None:
    lake.create("x", {"v": "int"}, [(1,)])
    View(lake, "select v from s.x")
    lake.types["x"]["v"] = "bigint"
    lake.change("x", insert=[(2,)])
    lake.commits["x"].insert(0, Commit(2, "x-2", "CHANGE COLUMN"))
    lake._write("x@2", lake.rows["x"][-1], lake.types["x"])
    refresh = lake.refresh_and_check("m", "select v from s.x", Strategy.FULL)
    assert refresh.reason == "SCHEMA_CHANGED"
