"""Which states of tables a MERGE reads, and which of their keys are bounded by literals."""

from __future__ import annotations

import pytest

from python_ivm.algebra.nodes import Node
from python_ivm.bind.binder import bind
from python_ivm.bind.union_types import known
from python_ivm.optimize.analysis.reads import Read, reads
from python_ivm.optimize.cost import Cost, Execution
from python_ivm.parse.parser import parse
from python_ivm.qualify.schema import TableSchema
from python_ivm.state.layout import STATE
from tests.planner.lake import Lake
from tests.planner.stories import View

Told = tuple[str, str, str]


@pytest.fixture
def shop(lake: Lake) -> Lake:
    """Orders and their lines, by order, and customers, by customer."""
    lake.create("c", {"ck": "int", "city": "string"}, [(1, "x"), (2, "y")])
    lake.create("o", {"id": "int", "ck": "int", "d": "date"}, [(1, 1, "2024-01-01")])
    lake.create("p", {"id": "int", "q": "int"}, [(1, 1), (2, 5)])
    lake.create("l", {"id": "int", "q": "int"}, [(1, 1), (1, 2), (2, 5)])
    return lake


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> list[Node]:
    """The plans of which is asked how much they read."""
    plans: list[Node] = []

    def execution(volume: Cost, *asked: Node, merges: bool = True) -> Execution:
        plans.extend(asked)
        return Execution.USUAL

    monkeypatch.setattr(Cost, "execution", execution)
    return plans


def told(read: Read) -> Told:
    """A read: its table, what bounds it beyond a group, and what does so right there."""
    return (
        read.source,
        ",".join(sorted(key for key, b in read.keys.items() if not b.joined)),
        ",".join(sorted(key for key, b in read.keys.items() if b.joined)),
    )


CASES: list[tuple[str, str, list[Told]]] = [
    ("select l.q, o.d from s.o join s.l on o.id = l.id", "l", [("s.o", "", "id")]),
    (
        "select o.id, c.city, l.q from s.o, s.l, s.c where o.id = l.id and o.ck = c.ck",
        "l",
        [("s.c", "", ""), ("s.o", "", "id")],
    ),
    (
        "select c.city, l.q from s.c, s.o, s.l where o.id = l.id and c.ck = o.id",
        "l",
        [("s.c", "", "ck"), ("s.o", "", "id")],
    ),
    (
        "select o.ck, n from s.o join (select id, sum(q) n from s.l group by id) x on o.id = x.id",
        "l",
        [("s.l", "id", ""), ("s.l", "id", ""), ("s.o", "", "id")],
    ),
    (
        "select n, count(*) m from (select ck, count(*) n from s.o group by ck) group by n",
        "o",
        [("s.o", "ck", ""), ("s.o", "ck", "")],
    ),
    (
        "select id, q, row_number() over (partition by id order by q) r from s.l",
        "l",
        [("s.l", "id", ""), ("s.l", "id", "")],
    ),
    ("select id, max(q) m from s.l group by id", "l", [(STATE, "", "id"), ("s.l", "", "id")]),
    ("select q, max(id) m from s.l group by q + 1, q", "l", [(STATE, "", "q"), ("s.l", "", "q")]),
    (
        "select d, count(*) from s.o where exists (select 1 from s.l where l.id = o.id) group by d",
        "l",
        [("s.l", "id", ""), ("s.l", "id", ""), ("s.o", "", "id")],
    ),
    ("select l.q, o.d from s.l left join s.o on o.id = l.id", "l", [("s.o", "", "id")]),
    (
        # What is known of the lines' orders holds of their payments.
        "select l.q, o.d, p.q as p from s.o join s.l on o.id = l.id left join s.p on p.id = o.id",
        "l",
        [("s.o", "", "id"), ("s.p", "", "id")],
    ),
    (
        "select x.id, p.q from (select id, max(q) q from s.l group by id) x "
        "left join s.p on p.id = x.id",
        "l",
        [("s.l", "id", ""), ("s.l", "id", ""), ("s.p", "", "id")],
    ),
    (
        "select coalesce(o.id, l.id) as id, d, q from s.o full join s.l on o.id = l.id",
        "l",
        [("s.l", "id", ""), ("s.l", "id", ""), ("s.o", "", "id")],
    ),
    (
        # A customer without an order has no line: they are not looked for.
        "select c.city, o.d, l.q from s.c full join s.o on c.ck = o.ck "
        "full join s.l on o.id = l.id",
        "o",
        [("s.c", "", "ck"), ("s.l", "", "id"), *2 * [("s.o", "ck", "")], *2 * [("s.o", "id", "")]],
    ),
    ("select l.q, o.d from s.o join s.l on o.id > l.id", "l", [("s.o", "", "")]),
    ("select l.q, o.d from s.o join s.l on o.id = l.id + 1", "l", [("s.o", "", "")]),
]


@pytest.mark.parametrize(("sql", "changed", "expected"), CASES)
def test_what_bounds_each_read(
    shop: Lake, noted: list[Node], sql: str, changed: str, expected: list[Told]
) -> None:
    view = View(shop, sql)
    row = {"l": (2, 5), "o": (1, 1, "2024-01-01")}[changed]
    shop.change(changed, delete=[row], insert=2 * [(row[0], 7, *row[2:])])
    view.refresh()
    assert sorted(map(told, reads(noted[-1]))) == sorted(expected)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("select d, q from s.o join s.l on o.id = l.id and false", []),
        ("select d, q from s.o left join (select * from s.l where false) l on o.id = l.id",
         ["s.o"]),
        ("select d, q from (select * from s.o where false) o left join s.l on o.id = l.id", []),
        ("select d from s.o where exists (select 1 from s.l where l.id = o.id and false)", []),
        ("select d from s.o where not exists (select 1 from s.l where l.id = o.id and false)",
         ["s.o"]),
        ("select id from s.o where false union all select id from s.l", ["s.l"]),
        ("select n, d from (select id, count(*) as n from s.l where false group by id) g "
         "join s.o on o.id = g.id", []),
        ("select n, d from (select count(*) as n from s.l where false) g join s.o on o.id = g.n",
         ["s.o"]),
    ],
)  # fmt: skip
def test_where_a_condition_is_false_nothing_is_read(
    shop: Lake, sql: str, expected: list[str]
) -> None:
    schemas = {f"s.{name}": TableSchema(("s", name), shop.types[name]) for name in ("o", "l")}
    plan = bind(parse(sql), schemas, known({})).plan
    assert sorted(read.source for read in reads(plan)) == expected
