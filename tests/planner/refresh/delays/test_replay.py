"""ivm_consistent of a model that reads its own rows: each of its runs, from the one before."""

from __future__ import annotations

import pytest

from python_ivm.errors import InvalidModel
from python_ivm.refresh.consistency import consistency_query
from tests.planner.lake import Lake

SQL = (
    "select i, least(sum(v), 100) as v from (select i, v from s.x union all "
    "select i, v from s.m) q group by i"
)


@pytest.fixture
def runs(lake: Lake) -> Lake:
    lake.create("x", {"i": "int", "v": "int"}, [(1, 1), (2, 2)])
    for number in range(4):
        lake.run("m", SQL)
        lake.change("x", insert=[(number, number)])
    return lake


def differing(lake: Lake, runs: int | None = None) -> list[tuple[object, ...]]:
    query = consistency_query(("s", "m"), lake, runs)
    return lake.db.execute(lake.duck(query)).fetchall()


def test_every_run_is_replayed(runs: Lake) -> None:
    assert consistency_query(("s", "m"), runs).count("AS refresh") == 4
    assert differing(runs) == []


def test_a_wrong_run_is_found_though_the_last_one_follows_from_it(runs: Lake) -> None:
    name = 's."m__ivm_state@2"'
    runs.db.execute(f"update {name} set __ivm_sum_1__ = __ivm_sum_1__ + 1 where i = 1")
    assert {row[0] for row in differing(runs)} == {3, 4}  # that run, and the one that read it
    assert {row[0] for row in differing(runs, 1)} == set()


def test_a_full_refresh_begins_a_new_history(runs: Lake) -> None:
    runs.run("m", SQL, full_refresh=True)
    assert consistency_query(("s", "m"), runs).count("AS refresh") == 1
    assert differing(runs) == []


def test_a_history_that_is_gone(runs: Lake) -> None:
    kept = runs.commits["x"]
    runs.commits["x"] = kept[:-2]
    with pytest.raises(InvalidModel, match=r"s.x has forgotten its version 1, which refresh 3 "):
        differing(runs)
    assert differing(runs, 2) == []
    runs.commits["x"] = kept
    runs.commits["m__ivm_state"] = runs.commits["m__ivm_state"][:-1]
    with pytest.raises(InvalidModel, match="does not go back to its build any more"):
        differing(runs)
