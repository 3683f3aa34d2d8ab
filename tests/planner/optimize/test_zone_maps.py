"""Which part of a table is read."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from python_ivm.optimize.analysis.bounds import Range
from python_ivm.optimize.analysis.reads import reads
from python_ivm.optimize.analysis.zone_maps import share
from python_ivm.sources.history import DataFile
from tests.planner.optimize.test_cost import KEY, files, joined, keys

LAID_OUT = [(0, 500_000), (500_001, 10**6)]


@pytest.mark.parametrize(
    ("ends", "first", "last", "part"),
    [
        ([(0, 49_000), (50_000, 100_000)], 60_000, 70_000, 0.1),
        ([(0, 49_000), (50_000, 100_000)], 90_000, 120_000, 0.1),
        ([(0, 49_000), (50_000, 100_000)], 110_000, 120_000, 0),
        ([(0, 100_000), (0, 100_000)], 60_000, 70_000, 1),
        ([(0, 100_000), (0, 80_000), (5_000, 50_000)], 60_000, 70_000, 2 / 3),
        (
            [("2000-01-01", "2010-01-01"), ("2010-01-02", "2019-12-31")],
            "2001-01-01",
            "2005-01-01",
            0.2,
        ),
    ],
    ids=["within", "beyond", "apart", "not laid out", "of some files", "days"],
)
def test_of_many_keys_a_part_is_read_as_wide_as_their_range(
    ends: list[tuple[object, object]], first: int | str, last: int | str, part: float
) -> None:
    """Each of the 15,000 orders' keys of 60,000 lines was taken for no bound at all."""
    kind = "int" if isinstance(first, int) else "date"
    bounds = Range(kind, first, last).holds(KEY.expression(), or_null=True)
    (read,) = reads(joined(*bounds))
    listed = files(*ends)
    assert share(read, listed.get, 0.5) == pytest.approx(part, abs=0.001)
    assert share(read, lambda source: None, 0.5) == 0.5


@pytest.mark.parametrize(
    ("ends", "values", "part"),
    [
        (LAID_OUT, [7], 0),
        (LAID_OUT, [0, 10**6], 2 / 50),
        (LAID_OUT, range(0, 10**6, 100_000), 10 / 50),
        (LAID_OUT, range(0, 10**6, 10_000), 0.99),
        (LAID_OUT, range(0, 10_000, 10), 0.01),
        (LAID_OUT, [2 * 10**6, 3 * 10**6], 0),
        (LAID_OUT, [*range(0, 40_000, 10), *range(960_001, 10**6, 10)], 0.08),
        ([(0, 10**6), (0, 10**6), (0, 10**6)], [7], 1),
        ([(0, 600_000), (100_000, 800_000), (400_000, 10**6)], [7], 1 / 3),
        ([(0, 600_000), (100_000, 800_000), (400_000, 10**6)], [500_000], 1.9 / 3),
        ([(0, 600_000), (100_000, 800_000), (400_000, 10**6)], [7, 900_000], 2 / 3),
    ],
    ids=[
        "one",
        "two pages of fifty",
        "ten",
        "all pages",
        "side by side",
        "beyond",
        "at both ends",
        "not laid out",
        "in one file of three",
        "in about two",
        "here and there",
    ],
)
def test_of_few_keys_as_many_pages_are_read(
    ends: list[tuple[object, object]], values: Sequence[int], part: float
) -> None:
    """A thousand keys all over a table leave none of its pages out: they counted as nothing."""
    (read,) = reads(joined(*keys(*values)))
    assert share(read, files(*ends).get, 0.5) == pytest.approx(part, abs=0.001)


def test_a_value_that_many_rows_have_is_more_than_a_page() -> None:
    (read,) = reads(joined(*keys(0, 12)))
    assert share(read, files((0, 12), (13, 24)).get, 0.5) == pytest.approx(2 / 25)


def test_without_counts_of_rows_a_part_is_as_wide_as_the_range_of_keys() -> None:
    listed = [DataFile(None, {"k": low}, {"k": high}) for low, high in LAID_OUT]
    (read,) = reads(joined(*keys(0, 500_000)))
    assert share(read, {"s.b": listed}.get, 0.5) == 0.5


def test_the_bound_that_leaves_fewer_values_tells() -> None:
    listed = files(*LAID_OUT)
    few = keys(7)
    for conditions in (keys(0, 10**6), keys(*range(0, 10**6, 1000))), (few, keys(7, 10**6)):
        for both in ([*conditions[0], *conditions[1]], [*conditions[1], *conditions[0]]):
            (read,), (fewer,) = reads(joined(*both)), reads(joined(*conditions[0]))
            assert share(read, listed.get, 0.5) == share(fewer, listed.get, 0.5)
