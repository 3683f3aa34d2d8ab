"""Inner joins of any number of inputs: Δ(A⋈B)."""

from __future__ import annotations

import re

import pytest

from python_ivm.refresh.statement import Strategy
from tests.planner.lake import Lake
from tests.planner.stories import View


@pytest.fixture
def rs(lake: Lake) -> Lake:
    lake.create("r", {"k": "int", "a": "string"}, [(1, "r1"), (2, "r2"), (None, "rn")])
    lake.create("s", {"k": "int", "b": "string"}, [(1, "s1"), (1, "s1"), (3, "s3"), (None, "sn")])
    return lake


JOIN = "select r.a, s.b from s.r join s.s on r.k = s.k"


def test_inserts_into_both_sides_at_once_meet_each_other_once(rs: Lake) -> None:
    view = View(rs, JOIN)
    rs.change("r", insert=[(5, "r5")])
    rs.change("s", insert=[(5, "s5"), (2, "s2")])
    view.refresh()
    view.shows(("r1", "s1"), ("r1", "s1"), ("r2", "s2"), ("r5", "s5"))


def test_deletes_from_both_sides_at_once_take_each_pair_once(rs: Lake) -> None:
    view = View(rs, JOIN)
    rs.change("r", delete=[(1, "r1")])
    rs.change("s", delete=[(1, "s1")])
    view.refresh()
    view.shows()


def test_a_join_key_is_updated_on_one_side_and_the_match_deleted_on_the_other(rs: Lake) -> None:
    view = View(rs, JOIN)
    rs.change("r", delete=[(1, "r1")], insert=[(3, "r1")])
    rs.change("s", delete=[(1, "s1")], insert=[(2, "s9")])
    view.refresh()
    view.shows(("r1", "s3"), ("r2", "s9"))


def test_null_keys_do_not_join(rs: Lake) -> None:
    view = View(rs, JOIN)
    rs.change("r", insert=[(None, "ro")])
    rs.change("s", delete=[(None, "sn")], insert=[(None, "so")])
    assert view.touched() == []
    view.refresh()


def test_null_safe_equality_joins_nulls(rs: Lake) -> None:
    view = View(rs, "select r.a, s.b from s.r join s.s on r.k <=> s.k")
    view.shows(("r1", "s1"), ("r1", "s1"), ("rn", "sn"))
    rs.change("s", delete=[(None, "sn")], insert=[(None, "so"), (None, "so")])
    view.refresh()
    view.shows(("r1", "s1"), ("r1", "s1"), ("rn", "so"), ("rn", "so"))


def test_a_row_without_a_match_touches_nothing(rs: Lake) -> None:
    view = View(rs, JOIN)
    rs.change("r", insert=[(77, "r77"), (None, "x")])
    rs.change("s", delete=[(3, "s3")], insert=[(78, "s78")])
    assert view.touched() == []
    view.refresh()


def test_a_self_join_whose_old_image_equals_another_new_image(lake: Lake) -> None:
    """x(i,v) = (3,3),(3,1); set v = 3 where v = 1: the view must be (3,4)."""
    lake.create("x", {"i": "int", "v": "int"}, [(3, 3), (3, 1)])
    view = View(lake, "select a.v, count(*) n from s.x a join s.x b on a.i = b.i group by a.v")
    view.shows((3, 2), (1, 2))
    lake.change("x", delete=[(3, 1)], insert=[(3, 3)])
    view.refresh()
    view.shows((3, 4))


def test_a_self_join_of_three(lake: Lake) -> None:
    lake.create("e", {"f": "int", "t": "int"}, [(1, 2), (2, 3), (3, 1)])
    view = View(
        lake, "select a.f, b.f g, c.f h from s.e a join s.e b on a.t = b.f join s.e c on b.t = c.f"
    )
    lake.change("e", delete=[(2, 3)], insert=[(2, 2), (3, 3)])
    view.refresh()
    lake.change("e", delete=[(3, 3), (3, 1)], insert=[(3, 1), (1, 1)])
    view.refresh()


@pytest.mark.parametrize(
    "sql",
    [
        "select r.a, s.b from s.r, s.s where r.k = s.k",
        "select r.a, s.b from s.r cross join s.s",
        "select r.a, s.b from s.r, s.s",
        "select r.a, s.b from s.r join s.s on r.k < s.k",
        "select r.a, s.b from s.r join s.s on r.k <> s.k and s.b > r.a",
        "select r.a, s.b from s.r join s.s on r.k = s.k or r.k is null",
        "select r.a, s.b from s.r inner join s.s on true",
        "select r.a, s.b from s.r join s.s on r.k = s.k and r.a = 'r1' where s.b like 's%'",
        "select k, a, b from s.r join s.s using (k)",
        "select * from s.r join s.s using (k)",
        "select r.k, s.k as sk, a from s.r join s.s using (k)",
        "select * from s.r natural join s.s",
        "select k, count(*) n from s.r join s.s using (k) group by k",
        "select q.a, s.b from (select k + 1 as k, a from s.r where k > 0) q join s.s on q.k = s.k",
        "with c as (select k, a from s.r where k is not null) "
        "select x.a, y.a as b from c x join c y on x.k <= y.k",
        "select count(*) n from s.r cross join s.s",
    ],
)
def test_every_spelling_of_an_inner_join(rs: Lake, sql: str) -> None:
    view = View(rs, sql)
    rs.change("r", insert=[(3, "r3"), (None, "ro")], delete=[(2, "r2")])
    view.keep_up()
    rs.change("s", insert=[(2, "s2"), (3, "s3")], delete=[(1, "s1"), (None, "sn")])
    view.keep_up()
    rs.change("r", insert=[(2, "r2")], delete=[(1, "r1")])
    rs.change("s", insert=[(1, "s1")], delete=[(3, "s3"), (3, "s3")])
    view.keep_up()


def test_a_join_of_four_tables_that_all_change(lake: Lake) -> None:
    for name in "abcd":
        lake.create(name, {"k": "int", name: "int"}, [(1, 1), (2, 2), (2, 2)])
    view = View(
        lake,
        "select k, a + b + c + d as t from s.a join s.b using (k) join s.c using (k) "
        "join s.d using (k)",
    )
    for name in "abcd":
        lake.change(name, delete=[(2, 2)], insert=[(1, 7), (3, 3)])
    view.refresh()
    lake.change("b", delete=[(1, 1)])
    lake.change("d", delete=[(1, 7)], insert=[(2, 9)])
    view.refresh()


def test_terms_of_tables_that_did_not_change_are_left_out(rs: Lake) -> None:
    view = View(rs, JOIN)
    rs.change("r", insert=[(1, "new")])
    sql = view.planned().sql.lower()
    assert sql.count("table_changes(") == 1
    assert "table_changes('`s`.`r`', 1, 1)" in sql


def test_a_join_in_parentheses_is_a_join(rs: Lake) -> None:
    sql = "select r.a, t.b as c from s.r join (s.s join s.s t on s.k = t.k) on r.k = s.k"
    rs.run("m", sql)
    rs.change("r", insert=[(3, "r3")])
    assert rs.run("m", sql).strategy is Strategy.INCREMENTAL
    rs.check("m")


CYCLE = """
    select nation.name, sum(lines.price) as revenue
    from s.customers, s.orders, s.lines, s.suppliers, s.nations nation
    where customers.id = orders.customer and lines.id = orders.id
      and lines.supplier = suppliers.id and customers.nation = suppliers.nation
      and suppliers.nation = nation.id
    group by nation.name
"""


@pytest.mark.parametrize(
    ("changed", "others"),
    [
        ("nations", ["suppliers", "lines", "orders", "customers"]),
        ("suppliers", ["lines", "orders", "customers", "nations"]),
        ("lines", ["orders", "customers", "suppliers", "nations"]),
        ("customers", ["orders", "lines", "suppliers", "nations"]),
    ],
)
def test_from_a_delta_outwards_to_what_stands_nearest(
    lake: Lake, changed: str, others: list[str]
) -> None:
    """All customers of a supplier's nation were joined to it before its lines were looked up."""
    lake.create("customers", {"id": "int", "nation": "int"}, [(1, 1)])
    lake.create("orders", {"id": "int", "customer": "int"}, [(1, 1)])
    lake.create("lines", {"id": "int", "supplier": "int", "price": "int"}, [(1, 1, 5)])
    lake.create("suppliers", {"id": "int", "nation": "int"}, [(1, 1)])
    lake.create("nations", {"id": "int", "name": "string"}, [(1, "n")])
    view = View(lake, CYCLE)
    row = {"nations": (1, "m"), "lines": (1, 1, 6)}.get(changed, (1, 1))
    lake.change(changed, insert=[row])
    assert re.findall(r"JOIN s\.(\w+)", view.planned().sql) == others
    view.refresh()
    lake.change(changed, delete=[row])
    view.refresh()
