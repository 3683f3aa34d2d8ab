"""Recursive sets on Spark: a UNION that closes itself follows what changed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from tests.spark.workbench import Bench, View

pytestmark = pytest.mark.spark

CHANGES = (
    "delete from edge where a = '2'",  # what is behind it has another way
    "insert into edge values ('4', 'it''s', 1.5), (null, '9', 1.0), ('4', null, 2.0)",
    "update edge set b = '1' where b = '4'",  # and what is behind it has none
    "insert into start values (null, 0), ('5', 0)",
    "delete from start where n = '1'",
)


def reached(start: Iterable[Any], edges: Iterable[tuple[Any, Any]]) -> set[Any]:
    found = set(start)
    while more := {b for a, b in edges if a is not None and a in found} - found:
        found |= more
    return found


@pytest.mark.parametrize("delayed", ["ivm_delay.", pytest.param("", marks=pytest.mark.thorough)])
def test_a_graph_whose_edges_come_and_go(bench: Bench, delayed: str) -> None:
    bench.table("start", "n string, k int", "('1', 0), ('1', 0)")
    bench.table(
        "edge", "a string, b string, w decimal(3, 1)",
        "('1', '2', 1.0), ('2', '3', 1.0), ('3', '1', 1.0), ('1', '3', 1.0), ('3', '4', 1.0)",
    )  # fmt: skip
    view = View(
        bench,
        "m",
        "with recursive reached as (select n from start union "
        f"select e.b from {delayed}reached r join edge e on e.a = r.n where e.w < 9) "
        "select upper(n) as n from reached",
    )
    above = View(bench, "above", f"select count(*) as n, count(n) as known from {view.name}")
    assert view.run().refresh.strategy.value == "full"
    above.run()
    for change in CHANGES:
        bench.sql(change)
        assert view.run().refresh.strategy.value == "incremental"
        edges = [(row.a, row.b) for row in bench.sql("select a, b from edge")]
        expected = reached([row.n for row in bench.sql("select n from start")], edges)
        shown = [row.n for row in bench.sql(f"select n from {view.name}")]
        assert sorted(shown, key=str) == sorted((n and n.upper() for n in expected), key=str)
        assert above.run().refresh.strategy.value in ("incremental", "noop")
        assert above.rows() == [(len(shown), len([n for n in shown if n is not None]))]
    assert view.run().refresh.strategy.value == "noop"


def followed(view: View, change: str) -> list[tuple[Any, ...]]:
    """The rows of a view after a change that it follows; its rebuild has the same."""
    view.bench.sql(change)
    assert view.run().refresh.strategy.value == "incremental"
    follows = view.rows()
    view.run(full_refresh=True)
    assert repr(view.rows()) == repr(follows)
    return follows


@pytest.mark.thorough
def test_pairs_of_several_types(bench: Bench) -> None:
    bench.table(
        "part", "whole int, part int, number decimal(10, 2), since date",
        "(1, 2, 2.00, date'2024-01-01'), (2, 3, 3.50, null), (3, 4, 0.10, date'2024-02-29')",
    )  # fmt: skip
    view = View(
        bench,
        "m",
        "with recursive bom as (select whole, part, number, since from part union "
        "select b.whole, p.part, cast(b.number * p.number as decimal(10, 2)), p.since "
        "from bom b join part p on p.whole = b.part) select * from bom",
    )
    view.run()
    for change in (
        "update part set number = 2.50 where whole = 2",
        "insert into part values (4, 5, 1.00, null), (1, 2, 7.00, null)",
        "delete from part where whole = 3",
    ):
        followed(view, change)


@pytest.mark.thorough
def test_bindings_that_feed_each_other(bench: Bench) -> None:
    bench.table("start", "n int", "(1)")
    bench.table("edge", "a int, b int", "(1, 2), (2, 3), (3, 4), (4, 1), (5, 3)")
    view = View(
        bench,
        "m",
        "with recursive even(n) as (select n from start union "
        "select e.b from odd o join edge e on e.a = o.m union "
        "select e.a from odd o join edge e on e.b = o.m and e.b > 3), "
        "odd(m, why) as (select distinct e.b, 'edge' from even v join edge e on e.a = v.n) "
        "select m, why from odd",
    )
    assert view.run().refresh.strategy.value == "full"
    for change in (
        "insert into edge values (4, 5), (2, 2)",
        "delete from edge where a = 2",
        "insert into start values (2), (null)",
        "update edge set b = 2 where a = 4",
    ):
        shown = {m for m, _ in followed(view, change)}
        edges = [(row.a, row.b) for row in bench.sql("select a, b from edge")]
        even, odd = {row.n for row in bench.sql("select n from start")}, set()
        for _ in range(9):
            odd |= {b for a, b in edges if a in even}
            even |= {b for a, b in edges if a in odd} | {a for a, b in edges if b in odd and b > 3}
        assert shown == odd
    assert view.run().refresh.strategy.value == "noop"
