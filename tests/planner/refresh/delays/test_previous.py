"""Another model's rows as they were before the run."""

from __future__ import annotations

import random
from typing import Any

import pytest

from python_ivm.errors import InvalidModel
from python_ivm.parse.previous import MARK
from python_ivm.refresh.plan import Strategy
from python_ivm.refresh.request import Previous
from tests.planner.lake import Lake, bag
from tests.planner.test_operators import some

COLUMNS = {"i": "int", "v": "bigint"}


def looking_at(*models: str, **columns: Any) -> dict[str, Any]:
    """What a request tells of the models that its query reads as before the run."""
    return {
        "previous": {f"s.{m}": Previous(("s", f"{m}__ivm_state"), columns or {}) for m in models}
    }


CIRCLES = {
    "sums": (
        f"select x.i, sum(x.v) + coalesce(max(b.v), 0) as v from s.x "
        f"left join s.b {MARK} on b.i = x.i group by x.i",
        "select i, least(v, 50) as v from s.a where v > 2",
    ),
    "alternating": (
        f"select i, cast(v as bigint) as v from s.x where i not in "
        f"(select i from s.b {MARK} where i is not null)",
        "select distinct i, v from s.a where i is not null",
    ),
    "union": (
        f"select i, cast(v as bigint) as v from s.x union select i, v + 1 from s.b {MARK} "
        "where v < 8",
        "select i, max(v) as v from s.a group by i",
    ),
}


@pytest.mark.parametrize("name", CIRCLES)
def test_two_models_in_a_circle(lake: Lake, name: str) -> None:
    rng = random.Random(name)
    lake.create("x", {"i": "int", "v": "int"}, [some(rng) for _ in range(6)])
    first, second = CIRCLES[name]
    lake.db.execute("create schema before")
    lake.db.execute("create table before.b (i bigint, v bigint)")
    naive_first = first.replace(f"s.b {MARK}", "before.b")
    for number in range(8):
        if number and rng.random() < 0.6:
            gone = rng.sample(lake.rows["x"][-1], rng.choice([0, 1]))
            lake.change("x", delete=gone, insert=[some(rng)])
        a = lake.run("a", first, **looking_at("b", **COLUMNS))
        assert lake.view("a") == bag(lake.db.execute(lake.duck(naive_first)).fetchall()), number
        b = lake.run("b", second)
        lake.check("b")
        lake.db.execute("create or replace table before.b as select i, v from s.b")
        if number:
            assert Strategy.FULL not in (a.strategy, b.strategy), a.explanation


@pytest.mark.parametrize(
    ("sql", "more", "told"),
    [
        (f"select i\nfrom s.x {MARK}", {}, r"line 2, column 6: s.x is no maintained model"),
        (f"select i\nfrom s.b {MARK}", looking_at("b"), r"line 2, column 6: s.b was not built"),
        (
            f"select c.i from s.c join s.c {MARK} as d on c.i = d.i",
            looking_at("c"),
            r"line 1, column 26: s.c__ivm_state is read both as it is now and",
        ),
    ],
)
def test_what_cannot_be_read_so(lake: Lake, sql: str, more: dict[str, Any], told: str) -> None:
    lake.create("x", {"i": "int"}, [(1,)])
    lake.run("c", "select i from s.x")
    with pytest.raises(InvalidModel, match=told):
        lake.run("m", sql, **more)


def test_when_a_table_is_read_is_part_of_the_query(lake: Lake) -> None:
    lake.create("x", {"i": "int"}, [(1,)])
    lake.run("c", "select i from s.x")
    lake.run("m", "select i from s.c")
    refresh = lake.run("m", f"select i from s.c {MARK}", **looking_at("c"))
    assert refresh.reason == "QUERY_CHANGED"
