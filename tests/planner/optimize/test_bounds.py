"""Values as conditions: a few intervals, cut where the gaps are widest, and a list."""

from __future__ import annotations

import datetime as dt
import random

import duckdb
import pytest

from python_ivm.algebra.columns import ColumnRef
from python_ivm.optimize.analysis import bounds
from python_ivm.optimize.analysis.bounds import Bound, Range, either

KEY = ColumnRef("t", "k").expression()


def held(kind: str, values: list[int | str], or_null: bool = False) -> list[str]:
    found = Range.of(kind, map(str, values), every=True)
    assert found is not None
    return [condition.sql("duckdb").replace('"', "") for condition in found.holds(KEY, or_null)]


@pytest.mark.parametrize(
    ("values", "conditions"),
    [
        ([7], ["t.k = 7"]),
        ([7, 8], ["t.k BETWEEN 7 AND 8"]),
        ([7, 9], ["t.k = 7 OR t.k = 9"]),
        ([-5, 7, 8, 9, 20], ["t.k = -5 OR t.k BETWEEN 7 AND 9 OR t.k = 20"]),
    ],
    ids=["one", "side by side", "a gap", "gaps"],
)
def test_values_are_written_as_intervals_without_gaps(
    values: list[int], conditions: list[str]
) -> None:
    assert held("int", values) == conditions


def test_of_many_gaps_the_widest_are_cut_and_the_values_listed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bounds, "_MOST_INTERVALS", 3)
    between = "t.k BETWEEN 1 AND 5 OR t.k = 100 OR t.k BETWEEN 200 AND 204"
    listed = "t.k IN (1, 3, 5, 100, 200, 204)"
    values = [204, 3, 1, 100, 5, 200]
    assert held("bigint", values) == [between, listed]
    assert held("bigint", values, or_null=True) == [
        f"{between} OR t.k IS NULL",
        f"{listed} OR t.k IS NULL",
    ]


def test_narrow_gaps_of_many_values_are_not_cut() -> None:
    twenty = range(0, 40, 2)
    between, listed = held("int", [*twenty, 10_000])
    assert between == "t.k BETWEEN 0 AND 38 OR t.k = 10000"
    assert listed.startswith("t.k IN (0, 2, 4,")


def test_days_lie_side_by_side_over_the_end_of_a_month() -> None:
    days = ["2024-03-01", "2024-02-28", "2024-02-29", "2024-05-01"]
    assert held("date", [*days]) == [
        "t.k BETWEEN CAST('2024-02-28' AS DATE) AND CAST('2024-03-01' AS DATE) "
        "OR t.k = CAST('2024-05-01' AS DATE)"
    ]


@pytest.mark.parametrize("or_null", [False, True])
@pytest.mark.parametrize("kind", ["int", "date"])
def test_the_conditions_hold_for_these_values_alone(kind: str, or_null: bool) -> None:
    chosen = random.Random(7)
    for _ in range(60):
        most, count = chosen.choice([30, 300, 3_000]), chosen.choice([1, 2, 9, 16, 17, 60, 200])
        ordinals = {
            chosen.randrange(most) - (most // 3 if kind == "int" else 0) for _ in range(count)
        }
        day = dt.date(2023, 11, 20)
        values = [o if kind == "int" else str(day + dt.timedelta(o)) for o in ordinals]
        value = "i" if kind == "int" else f"DATE '{day}' + CAST(i AS INT)"
        rows = f"select {value} from range({-most}, {2 * most}) r(i) union all select null"
        conditions = [f"({condition})" for condition in held(kind, values, or_null)]
        sql = f"select k from ({rows}) t(k) where {' and '.join(conditions)}"
        got = [None if row[0] is None else str(row[0]) for row in duckdb.sql(sql).fetchall()]
        assert sorted(got, key=str) == sorted(map(str, values)) + [None] * or_null


def test_a_bound_holds_where_any_of_several_does() -> None:
    few, other = Bound(((1, 5), (9, 9)), 4), Bound(((4, 7), (20, 30)), 12)
    assert either([few, other]) == Bound(((1, 7), (9, 9), (20, 30)), 16, joined=False)
    assert either([few, few]).intervals == few.intervals
    many = Bound(((0, 10**6),))
    assert either([few, many]) == Bound(((0, 10**6),), None, joined=False)


def test_what_a_bound_reaches() -> None:
    bound = Bound(((3, 5), (9, 9), (20, 30)), 4)
    reached = [
        (low, high) for low in range(35) for high in range(low, 35) if bound.reaches(low, high)
    ]
    values = {3, 4, 5, 9, *range(20, 31)}
    assert reached == [
        (low, high)
        for low in range(35)
        for high in range(low, 35)
        if values.intersection(range(low, high + 1))
    ]
