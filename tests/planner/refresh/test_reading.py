"""How much a refresh reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from sqlglot import exp

from python_ivm.algebra.columns import ColumnRef
from python_ivm.algebra.nodes import At, Join, Node, Scan
from python_ivm.delta.bounds import Range
from python_ivm.refresh.reading import FEW_BYTES, FEW_ROWS, STATE_WEIGHT, ReadVolume
from python_ivm.sources.history import Change, Commit, DataFile, SourceChange, SourceVersion, since
from python_ivm.state.layout import STATE

KEY = ColumnRef("b", "k")
OWN = exp.EQ(this=KEY.expression(), expression=ColumnRef("a", "k").expression())


@dataclass
class Sizes:
    """What a model knows of the sizes of its tables; the state's is 0 unless it is given."""

    sizes: Mapping[str, int | None]
    listed: Mapping[str, Sequence[DataFile]] = field(default_factory=dict)
    states: Sequence[str] = (STATE,)
    asked: list[str] = field(default_factory=list)

    def size(self, source: str) -> int | None:
        self.asked.append(source)
        return self.sizes.get(source, 0)

    def files(self, source: str) -> Sequence[DataFile] | None:
        return self.listed.get(source)

    def is_state(self, source: str) -> bool:
        return source in self.states


def joined(*conditions: exp.Expr) -> Node:
    """The change of a joined to b."""
    change = Scan("s.a", "a", ("k",), At.DELTA)
    return Join((change, Scan("s.b", "b", ("k", "w"))), (OWN, *conditions))


def keys(*values: int, every: bool = True) -> list[exp.Expr]:
    """The bounds of b's key by those of a change."""
    found = Range.of("int", map(str, values), every)
    assert found is not None
    return found.holds(KEY.expression(), or_null=False)


def is_little(model: Sizes, plan: Node, *rows: int | None) -> bool:
    version = SourceVersion(1, "1")
    changes = [SourceChange(("s", "a"), version, version, Change.GENERAL, rows=n) for n in rows]
    known: Any = model
    return ReadVolume(known, changes).is_little(plan)


def test_few_rows_and_few_bytes_are_little() -> None:
    half = Sizes({"s.b": FEW_BYTES})
    assert is_little(half, joined(), FEW_ROWS)
    assert not is_little(Sizes({"s.b": FEW_BYTES + 1}), joined(), FEW_ROWS)
    assert not is_little(Sizes({"s.b": None}), joined(), 1)
    assert not is_little(Sizes({STATE: None}), joined(), 1)
    half.asked.clear()
    assert not is_little(half, joined(), FEW_ROWS, 1)
    assert not is_little(half, joined(), None)
    assert half.asked == []


def test_bytes_of_a_state_count_for_more() -> None:
    bytes_ = FEW_BYTES // STATE_WEIGHT
    assert is_little(Sizes({STATE: bytes_}), joined(), 1)
    assert not is_little(Sizes({STATE: bytes_ + 1}), joined(), 1)
    assert is_little(Sizes({"s.b": bytes_}, states=("s.b",)), joined(), 1)
    assert not is_little(Sizes({"s.b": bytes_ + 1}, states=("s.b",)), joined(), 1)


@pytest.mark.parametrize(
    ("conditions", "little"),
    [
        ([], False),
        (keys(7), True),
        (keys(3, 5), True),
        (keys(-9, 990, every=False), True),
        (keys(-9, 991, every=False), False),
        (keys(-9, 991), True),
        (
            Range("date", "1999-05-01", "2024-05-01").holds(KEY.expression(), or_null=True),
            True,
        ),
        ([exp.EQ(this=KEY.expression(), expression=exp.Literal.number(7))], False),
        (Range("int", 7, 7).holds(ColumnRef("a", "v").expression(), or_null=True), False),
    ],
)
def test_a_key_among_literals_bounds_a_read(conditions: list[exp.Expr], little: bool) -> None:
    """A user's own condition does not: it may leave most of the table."""
    assert is_little(Sizes({"s.b": 2**40}), joined(*conditions), 1) is little


def files(*ends: tuple[object, object]) -> dict[str, list[DataFile]]:
    return {"s.b": [DataFile({"k": low}, {"k": high}) for low, high in ends]}


@pytest.mark.parametrize(
    ("ends", "little"),
    [
        ([(1, 10), (11, 20), (21, 30)], True),
        ([(1, 14), (10, 20), (19, 30)], True),
        ([(1, 30), (1, 30), (1, 30)], False),
        ([(1, 30), (2, 29), (11, 12)], False),
        ([("2024-01-01", "2024-06-30"), ("2024-07-01", "2024-12-31")], True),
        ([("2024-01-01", "2024-12-30"), ("2024-01-02", "2024-12-31")], False),
        ([(1, 10), (None, None)], False),
        ([(5, 5), (5, 5)], False),
        ([("a", "b"), ("b", "c")], False),
        ([(1, 10)], False),
    ],
)
def test_a_bound_helps_where_a_table_is_laid_out_by_its_column(
    ends: list[tuple[object, object]], little: bool
) -> None:
    sizes = {"s.b": 3 * FEW_BYTES}
    assert is_little(Sizes(sizes, files(*ends)), joined(*keys(7)), 1) is little


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
