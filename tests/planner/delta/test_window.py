"""Windows above windows: computed together where the upper one's partitions lie within."""

from __future__ import annotations

import pytest

from python_ivm.refresh.plan import Strategy
from tests.planner.lake import Lake
from tests.planner.stories import View


def reads(lake: Lake, below: str, where: str = "true") -> int:
    """How often the refresh of two windows reads a table's states; the upper one is by k."""
    lake.create("t", {"k": "int", "v": "int"}, [(1, 1), (1, 2), (2, 5), (2, 5), (None, 1)])
    view = View(
        lake,
        "select k as key, v, r, sum(r) over (partition by k order by v) as s from "
        f"(select k, v, rank() over ({below} order by v) as r from s.t) x where {where}",
    )
    lake.change("t", delete=[(1, 2), (2, 5)], insert=[(1, 4), (3, 1)])
    planned = view.planned().sql
    view.refresh(Strategy.INCREMENTAL)
    return planned.count("VERSION AS OF")


@pytest.mark.parametrize("below", ["partition by k", ""])
@pytest.mark.parametrize("where", ["true", "r < 3"])
def test_partitions_within_those_below_read_each_state_once(
    lake: Lake, below: str, where: str
) -> None:
    assert reads(lake, below, where) == 2


def test_partitions_that_hold_several_of_those_below_are_found_by_their_key(lake: Lake) -> None:
    assert reads(lake, "partition by k, v") == 2


@pytest.mark.parametrize("below", ["partition by k + 0", "partition by v"])
def test_partitions_across_those_below_look_for_their_rows(lake: Lake, below: str) -> None:
    assert reads(lake, below) > 2
