"""Delta leaves out the files that lie between the intervals of changed keys."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

import pytest

from python_ivm.algebra.columns import ColumnRef
from python_ivm.optimize.analysis.bounds import Range
from python_ivm.parse.parser import DIALECT
from tests.spark.workbench import Bench


def whole_number(value: int) -> str:
    return str(value)


def day(value: int) -> str:
    return str(dt.date(2024, 1, 1) + dt.timedelta(value))


@pytest.mark.parametrize(
    ("kind", "text", "column"),
    [
        ("bigint", whole_number, "id"),
        ("date", day, "date'2024-01-01' + cast(id as int)"),
    ],
    ids=["numbers", "days"],
)
def test_the_files_in_the_gaps_are_not_read(
    bench: Bench, kind: str, text: Callable[[int], str], column: str
) -> None:
    """Of ten keys from everywhere, nearly all files were read: a list skips by its ends only."""
    bench.sql(
        "create table t using delta as "
        f"select {column} as k, id div 100 as file from range(0, 1000, 1, 10)"
    )
    rows = bench.handle.session.table(f"{bench.schema}.t").alias("t")
    for values, files in [
        ([5], {0}),
        ([5, 950], {0, 9}),
        ([5, 150, 320, 555, 777, 999], {0, 1, 3, 5, 7, 9}),
        ([*range(100, 200, 3), *range(801, 899, 3)], {1, 8}),
        ([*range(-900, -90), 640], {6}),
        ([-5, 1_001], set()),
    ]:
        found = Range.of(kind, map(text, values), every=True)
        assert found is not None
        for or_null in (False, True):
            held = found.holds(ColumnRef("t", "k").expression(), or_null)
            read = rows
            for condition in held:
                read = read.where(condition.sql(dialect=DIALECT))
            assert len(read.inputFiles()) == len(files)
            got = read.collect()
            assert {row["file"] for row in got} == files
            there = {text(value) for value in values if 0 <= value < 1_000}
            assert sorted(str(row["k"]) for row in got) == sorted(there)
