"""What a change of orders does with each table that keeps them."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.catalog import OrdersChange
from benchmarks.orders import OF_TPCDS, OF_TPCH, Orders, OrdersChanges


class Statements:
    """Remembers statements; of 3,000 orders the last is 9,000, and the newest begin with 8,000."""

    def __init__(self) -> None:
        self.run: list[str] = []

    def __call__(self, sql: str) -> list[Any]:
        self.run.append(sql)
        if "count(distinct" in sql:
            return [(3000, 9000)]
        return [(8000,)] if sql.startswith("select min(") else []

    def starting(self, verb: str) -> list[str]:
        """What some did, without what they read to do so."""
        return [sql.split(" ")[2] for sql in self.run if sql.startswith(verb)]


@pytest.mark.parametrize("orders", [OF_TPCH, OF_TPCDS], ids=["TPC-H", "TPC-DS"])
def test_inserts_bring_orders_to_each_table(orders: tuple[Orders, ...]) -> None:
    statements = Statements()
    changed = OrdersChanges(statements, "s", orders).apply(OrdersChange("inserts", 0.01))
    assert changed == 30 * len(orders)
    assert statements.starting("insert into") == [f"s.{t}" for o in orders for t in o.keys]
    assert not statements.starting("delete from") and not statements.starting("update")
    picked = [sql for sql in statements.run if sql.startswith("create or replace table s.picked")]
    assert len(picked) == len(orders)
    assert all("9000 + row_number()" in sql and sql.endswith("limit 30)") for sql in picked)


@pytest.mark.parametrize("orders", [OF_TPCH, OF_TPCDS], ids=["TPC-H", "TPC-DS"])
def test_a_third_of_a_mixed_change_goes_a_third_is_updated_and_a_third_comes(
    orders: tuple[Orders, ...],
) -> None:
    statements = Statements()
    OrdersChanges(statements, "s", orders).apply(OrdersChange("mixed", 0.01))
    tables = [f"s.{table}" for of in orders for table in of.keys]
    assert statements.starting("insert into") == statements.starting("delete from") == tables
    updates = [sql for sql in statements.run if sql.startswith("update ")]
    assert [sql.split(" ")[1] for sql in updates] == tables
    assert all(sql.endswith(">= 8000") for sql in updates)
    limits = [sql for sql in statements.run if sql.startswith("select min(")]
    assert all(sql.endswith("limit 10)") for sql in limits)


def test_one_mixed_order_is_updated() -> None:
    statements = Statements()
    assert OrdersChanges(statements, "s", OF_TPCH).apply(OrdersChange("mixed", 0.0)) == 1
    assert not statements.starting("insert into") and not statements.starting("delete from")
    assert len([sql for sql in statements.run if sql.startswith("update ")]) == 2
