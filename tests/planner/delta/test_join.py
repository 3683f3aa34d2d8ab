"""Inner joins of any number of inputs: Δ(A⋈B)."""

from __future__ import annotations

import re

import pytest

from tests.planner.lake import Lake
from tests.planner.stories import View


@pytest.fixture
def rs(lake: Lake) -> Lake:
    lake.create("r", {"k": "int", "a": "string"}, [(1, "r1"), (2, "r2"), (None, "rn")])
    lake.create("s", {"k": "int", "b": "string"}, [(1, "s1"), (1, "s1"), (3, "s3"), (None, "sn")])
    return lake


JOIN = "select r.a, s.b from s.r join s.s on r.k = s.k"


def test_terms_of_tables_that_did_not_change_are_left_out(rs: Lake) -> None:
    view = View(rs, JOIN)
    rs.change("r", insert=[(1, "new")])
    sql = view.planned().sql.lower()
    assert sql.count("table_changes(") == 1
    assert "table_changes('`s`.`r`', 1, 1)" in sql


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
