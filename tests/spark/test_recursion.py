"""Recursions that follow what changed, on Spark."""

from __future__ import annotations

import random

import pytest

from python_ivm.refresh import rounds_in_memory
from tests.spark.workbench import Bench

CHAIN = """with recursive chain as (
    select id, 0 as depth, cast(name as string) as path from staff where boss is null
    union all
    select s.id, c.depth + 1, concat(c.path, '/', s.name)
    from staff s join chain c on s.boss = c.id
) """


def staff(bench: Bench) -> None:
    bench.table(
        "staff", "id int, boss int, name string",
        "(1, null, 'a')", "(2, 1, 'b')", "(3, 1, 'c')", "(4, 2, 'd')", "(4, 2, 'd')",
        "(5, 4, 'e')", "(6, 3, null)",
    )  # fmt: skip


def test_what_hangs_on_a_changed_row_is_followed(bench: Bench) -> None:
    staff(bench)
    tree = bench.view(f"{CHAIN} select id, depth, path from chain")
    bench.sql("update staff set boss = 3 where id = 2")
    outcome = tree.refresh()
    assert outcome.response._message == (
        "incremental: +0 ~3 -0 rows from staff@1→2; a recursion of 3 rounds in memory"
    )


@pytest.mark.thorough
def test_rounds_over_large_tables_are_sparks(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds_in_memory, "MOST_READ", 3)
    staff(bench)
    tree = bench.view(f"{CHAIN} select id, depth, path from chain")
    bench.sql("update staff set boss = 3 where id = 2")
    outcome = tree.refresh()
    assert outcome.response._message == "incremental: +0 ~3 -0 rows from staff@1→2"


@pytest.mark.thorough
def test_recursions_below_other_operators_follow(bench: Bench) -> None:
    staff(bench)
    tree = bench.view(f"{CHAIN} select id, depth, path from chain")
    bench.view(f"{CHAIN} select id, upper(path) as path from chain where depth > 0")
    bench.view(f"{CHAIN} select depth, count(*) as n, max(path) as m from chain group by depth")
    bench.view(f"select depth, count(*) as n from {tree.name} group by depth")
    seeded = random.Random(7)
    for _ in range(2):
        moved, under = seeded.sample(range(2, 7), 2)
        low, high = sorted((moved, under))
        bench.sql(
            f"update staff set boss = {low} where id = {high}",
            f"delete from staff where id = {seeded.randint(2, 6)} and name = 'd'",
            f"insert into staff values ({high + 3}, {low}, 'n'), (null, {low}, null)",
        )
        bench.refresh(None)


@pytest.mark.thorough
@pytest.mark.parametrize("most_read", [0, 1000], ids=["in Spark", "in memory"])
def test_a_circle_that_nothing_leads_to_is_recomputed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, most_read: int
) -> None:
    """The rows that vanish would hang on each other for ever."""
    monkeypatch.setattr(rounds_in_memory, "MOST_READ", most_read)
    bench.sql("set spark.sql.cteRecursionLevelLimit = 12")
    staff(bench)
    tree = bench.view(f"{CHAIN} select id, depth from chain")
    bench.sql("update staff set boss = 5 where id = 2")
    outcome = tree.refresh("recompute")
    assert outcome.refresh.reason == "RECURSION_LIMIT"
    assert sorted(row[0] for row in tree.rows()) == [1, 3, 6]
    bench.sql("update staff set boss = 1 where id = 2")
    tree.refresh()
