"""A sample of a view against its query."""

from __future__ import annotations

import pytest

from python_ivm.errors import InvalidModel
from python_ivm.operate.audit import audit, most_wrong, statement
from tests.planner.lake import Lake

QUERIES = {
    "groups": "select k, j, sum(v) as t from s.x group by k, j",
    "hidden key": "select j, sum(v) as t from s.x group by k, j",
    "bag": "select k, v from s.x where v >= 0",
    "one row": "select count(*) as n from s.x",
    "renamed": "select k as `The Key`, count(*) as n from s.x group by k having count(*) > 0",
}
PARTS = 4


@pytest.fixture
def xs(lake: Lake) -> Lake:
    columns = {"k": "int", "j": "int", "v": "int"}
    lake.create("x", columns, [(n % 40, n % 2, n) for n in range(100)])
    lake.db.execute("create macro xxhash64(a) as hash(a)")
    lake.db.execute("create macro pmod(a, b) as a % b")
    return lake


def differing(lake: Lake, sql: str, parts: int = PARTS) -> list[int]:
    """How many rows differ in each part."""
    found = [audit(lake.request("m", sql), lake, parts, seed) for seed in range(parts)]
    return [len(lake.db.execute(lake.duck(one.sql)).fetchall()) for one in found]


def counted(lake: Lake, sql: str) -> list[tuple[int, int]]:
    found = [audit(lake.request("m", sql), lake, PARTS, seed) for seed in range(PARTS)]
    return [lake.db.execute(lake.duck(one.counted)).fetchone() for one in found]  # type: ignore[misc]


@pytest.mark.parametrize("name", QUERIES)
def test_the_parts_of_a_sample_are_the_whole_view(xs: Lake, name: str) -> None:
    sql = QUERIES[name]
    xs.run("m", sql)
    xs.change("x", insert=[(1, 1, 7), (99, 1, 1)])
    xs.run("m", sql)
    assert differing(xs, sql) == [0] * PARTS
    numbers = counted(xs, sql)
    if name != "one row":
        assert sum(sampled for sampled, _ in numbers) == numbers[0][1] == len(
            list(xs.view("m").elements())
        )  # fmt: skip
        assert all(0 < sampled < whole for sampled, whole in numbers)


def test_a_wrong_group_is_found_by_its_part_alone(xs: Lake) -> None:
    sql = QUERIES["groups"]
    xs.run("m", sql)
    xs.db.execute("update s.m__ivm_state set t = t + 1 where k = 3")
    found = differing(xs, sql)
    assert sorted(found) == [0, 0, 0, 2], "the row that is there, and the one that should be"
    xs.db.execute("delete from s.m__ivm_state where k = 3")
    assert sorted(differing(xs, sql)) == [0, 0, 0, 1], "a group that is missing is found, too"


def test_a_view_that_is_not_built_has_nothing_to_audit(xs: Lake) -> None:
    with pytest.raises(InvalidModel, match="not built"):
        audit(xs.request("m", QUERIES["bag"]), xs, PARTS, 0)
    with pytest.raises(InvalidModel, match="at most"):
        audit(xs.request("m", QUERIES["bag"]), xs, 0, 0)


def test_the_statement_says_what_the_sample_is_worth() -> None:
    assert statement("groups", 299, 10_000, 0) == (
        "299 groups of 10,000 equal the query: with 95% confidence, fewer than 1.00% of all groups "
        "(about 100) are wrong"
    )
    assert (1 - most_wrong(50)) ** 50 == pytest.approx(0.05)
    assert statement("rows", 5, 5, 0) == "all 5 rows equal the query"
    assert statement("rows", 5, 50, 2) == "2 rows differ among 5 rows of 50"
    assert "larger" in statement("rows", 0, 50, 0)
