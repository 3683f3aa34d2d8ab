"""How much a refresh reads."""

from __future__ import annotations

import pytest
import sqlglot
from sqlglot import exp

from python_ivm.delta.bounds import BOUNDS, Range
from python_ivm.refresh.reading import (
    FEW_BYTES,
    FEW_ROWS,
    STATE_WEIGHT,
    read_without_bounds,
    reads_little,
)
from python_ivm.sources.history import Change, Commit, SourceChange, SourceVersion, since

MERGE = """MERGE INTO s.v__ivm_state AS stored USING (
  WITH d AS (SELECT k, _change_type FROM TABLE_CHANGES('s.a', 2, 2))
  SELECT d.k, b.w FROM d JOIN s.b VERSION AS OF 3 AS b ON d.k = b.k{b}
) AS change ON stored.k IS NOT DISTINCT FROM change.k{stored}
WHEN NOT MATCHED THEN INSERT (k, w) VALUES (change.k, change.w)"""
STATE, JOINED = ("s", "v__ivm_state"), ("s", "b")


def merge(b: str = "", stored: str = "", *, users: bool = False) -> exp.Expr:
    """The statement with more conditions: the bounds of keys, or the user's own."""
    tree = sqlglot.parse_one(MERGE.format(b=b, stored=stored), read="spark")
    for condition in tree.find_all(exp.EQ, exp.Between, exp.In):
        condition.meta[BOUNDS] = not users and condition.find(exp.Literal) is not None
    return tree


@pytest.mark.parametrize(
    ("b", "stored", "whole"),
    [
        ("", "", [STATE, JOINED]),
        (" AND b.k = 7", "", [STATE]),
        (" AND b.k BETWEEN 1 AND 9", " AND (stored.k = -1 OR stored.k IS NULL)", [STATE]),
        (" AND b.k BETWEEN -9 AND 990", "", [STATE]),
        (" AND b.k BETWEEN -9 AND 991", "", [STATE, JOINED]),
        (" AND b.k BETWEEN -9 AND 991 AND b.k IN (-9, 991)", "", [STATE]),
        (" AND b.d BETWEEN CAST('1999-05-01' AS DATE) AND CAST('2024-05-01' AS DATE)", "", [STATE]),
        (" AND b.k IN (1, 9)", "", [STATE]),
        (" AND b.k = CAST('2024-05-01' AS DATE)", "", [STATE]),
        (" AND d.k = 7", "", [STATE, JOINED]),
        (" AND b.w > 7", "", [STATE, JOINED]),
    ],
)  # fmt: skip
def test_a_key_among_literals_bounds_a_read(
    b: str, stored: str, whole: list[tuple[str, ...]]
) -> None:
    assert read_without_bounds(merge(b, stored)) == whole


@pytest.mark.parametrize("own", ["b.k = 7", "b.t = 'R'", "b.k BETWEEN 1 AND 9", "b.k IN (1, 9)"])
def test_a_condition_of_the_users_bounds_nothing(own: str) -> None:
    """It may leave most of the table."""
    assert read_without_bounds(merge(f" AND {own}", users=True)) == [STATE, JOINED]


def test_what_bounds_a_key_bounds_a_read() -> None:
    bounds = Range("int", 3, 5, (3, 5)).holds(exp.column("k", table="b"), or_null=True)
    tree = merge()
    join = tree.find(exp.Join)
    assert join is not None
    join.set("on", exp.and_(join.args["on"], *bounds))
    assert read_without_bounds(tree) == [STATE]


def change(rows: int | None) -> SourceChange:
    version = SourceVersion(1, "1")
    return SourceChange(("s", "a"), version, version, Change.GENERAL, rows=rows)


def test_few_rows_and_few_bytes_are_little() -> None:
    assert reads_little(merge(), [change(FEW_ROWS)], lambda _: FEW_BYTES // 2, ())
    assert not reads_little(merge(), [change(FEW_ROWS)], lambda _: FEW_BYTES // 2 + 1, ())
    assert not reads_little(merge(), [change(FEW_ROWS), change(1)], lambda _: 0, ())
    assert not reads_little(merge(), [change(None)], lambda _: 0, ())
    assert not reads_little(merge(), [change(1)], lambda _: None, ())


def test_bytes_of_a_state_count_for_more() -> None:
    bytes_ = FEW_BYTES // (STATE_WEIGHT + 1)
    assert reads_little(merge(), [change(1)], lambda _: bytes_, {"s.v__ivm_state"})
    assert not reads_little(merge(), [change(1)], lambda _: bytes_ + 1, {"s.v__ivm_state"})
    assert reads_little(merge(), [change(1)], lambda _: bytes_ + 1, {"s.other__ivm_state"})


def test_sizes_are_asked_for_only_where_they_matter() -> None:
    asked: list[tuple[str, ...]] = []

    def size(name: tuple[str, ...]) -> int:
        asked.append(name)
        return 0

    assert not reads_little(merge(), [change(FEW_ROWS + 1)], size, ())
    assert asked == []
    assert reads_little(merge(" AND b.k = 7"), [change(1)], size, ())
    assert asked == [STATE]


@pytest.mark.parametrize(
    ("operation", "mode", "metrics", "rows"),
    [
        ("WRITE", "Append", {"numOutputRows": "3"}, 3),
        ("WRITE", "Overwrite", {"numOutputRows": "3"}, None),
        ("DELETE", "", {"numDeletedRows": "2", "numCopiedRows": "9"}, 2),
        ("DELETE", "", {"numRemovedFiles": "2"}, None),
        ("UPDATE", "", {"numUpdatedRows": "5"}, 5),
        ("MERGE", "", {f"numTargetRows{w}": "1" for w in ("Inserted", "Updated", "Deleted")}, 3),
        ("MERGE", "", {"numTargetRowsInserted": "1"}, None),
        ("OPTIMIZE", "", {}, 0),
        ("RESTORE", "", {}, None),
    ],
)
def test_history_counts_changed_rows(
    operation: str, mode: str, metrics: dict[str, str], rows: int | None
) -> None:
    assert Commit(2, "2", operation, mode, metrics).rows == rows


def test_commits_add_up() -> None:
    commits = [
        Commit(3, "3", "DELETE", metrics={"numDeletedRows": "2"}),
        Commit(2, "2", "OPTIMIZE"),
        Commit(1, "1", "WRITE", "Append", {"numOutputRows": "100"}),
    ]
    found = since(("s", "a"), SourceVersion(1, "1"), commits)
    assert found is not None
    assert found.rows == 2
