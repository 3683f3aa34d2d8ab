"""Of which rows the bindings of correlated subqueries are taken."""

from __future__ import annotations

import pytest

from python_ivm.algebra.nodes import Bindings, Node
from python_ivm.bind.binder import bind
from python_ivm.parse.parser import parse
from python_ivm.qualify.schema import TableSchema
from python_ivm.render.plan_text import tree

TABLES = (
    TableSchema(("s", "a"), {"k": "int", "v": "int"}),
    TableSchema(("s", "b"), {"k": "int", "w": "int"}),
)
ASKS = "select 1 from s.b where b.w > {} group by b.k having count(*) > {}"


def bindings(sql: str) -> list[Node]:
    """The rows of which the bindings of each subquery are taken, the outermost first."""
    plan = bind(parse(sql), {table.key: table for table in TABLES}).plan
    return [node.input for node in plan.walk() if isinstance(node, Bindings)]


def rows(sql: str) -> set[str]:
    return {tree(node) for node in bindings(sql)}


def test_subqueries_side_by_side_share_the_rows_that_ask() -> None:
    conditions = [f"exists ({ASKS.format('a.v', n)})" for n in range(3)]
    sql = f"select k from s.a where k > 5 and {' and '.join(conditions)}"
    found = bindings(sql)
    assert len(found) == 3
    assert all(node is found[0] for node in found)
    assert "s.b" not in tree(found[0])


def test_marks_and_values_are_looked_through() -> None:
    mark = f"(exists ({ASKS.format('a.v', 1)}) or a.k = 1)"
    value = "(select count(*) from s.b where b.w < a.v)"
    (found,) = rows(f"select k, {value} as n from s.a where {mark} and not {mark}")
    assert "Scan s.a" in found and "s.b" not in found


def test_values_of_group_keys_are_those_of_the_rows_below() -> None:
    above = "(select count(*) from s.b where b.w < q.k)"
    below = f"select k, sum(v) as v from s.a where exists ({ASKS.format('a.v', 1)}) group by k"
    (found,) = rows(f"select k, {above} as n from ({below}) q")
    assert "Scan s.a" in found and "s.b" not in found


@pytest.mark.parametrize(
    ("above", "asks_with"),
    [
        ("(select count(*) from s.b where b.w < q.v)", "Aggregate"),
        ("(select count(*) from s.b where b.w < q.n)", "Mark"),
    ],
    ids=["an aggregate", "what another one found"],
)
def test_values_that_the_rows_have_not_are_those_of_the_rows_above(
    above: str, asks_with: str
) -> None:
    mark = f"exists ({ASKS.format('a.v', 1)})"
    below = f"select k, max(v) as v, max(cast({mark} as int)) as n from s.a group by k"
    if asks_with == "Mark":
        below = f"select k, cast({mark} as int) as n from s.a"
    found = rows(f"select k, {above} as m from ({below}) q")
    assert len(found) == 2
    assert sum(asks_with in text for text in found) == 1
