"""Changes of orders with all that belongs to them, by how many of the orders change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.catalog import OrdersChange
from integration_tests.tpch.load import Sql


@dataclass(frozen=True)
class Orders:
    """Orders as some tables keep them.

    Attributes:
        keys: by table, its column with the order's number. The first table has each order.
        updates: by table, what an update of an order sets.
    """

    keys: Mapping[str, str]
    updates: Mapping[str, str]


OF_TPCH = (
    Orders(
        {"orders": "o_orderkey", "lineitem": "l_orderkey"},
        {
            "orders": "o_totalprice = o_totalprice + 1",
            "lineitem": "l_quantity = l_quantity + 1, l_extendedprice = l_extendedprice + 1",
        },
    ),
)


def _channel(name: str, short: str, order: str, returned: str) -> Orders:
    """The sales and returns of one of TPC-DS's channels."""
    added = (f"{short}s_quantity", f"{short}s_sales_price", f"{short}s_ext_sales_price")
    added += (f"{short}s_net_paid", f"{short}s_net_profit")
    return Orders(
        {f"{name}_sales": f"{short}s_{order}", f"{name}_returns": f"{short}r_{order}"},
        {
            f"{name}_sales": ", ".join(f"{column} = {column} + 1" for column in added),
            f"{name}_returns": f"{short}r_{returned} = {short}r_{returned} + 1",
        },
    )


OF_TPCDS = (
    _channel("store", "s", "ticket_number", "return_amt"),
    _channel("catalog", "c", "order_number", "return_amount"),
    _channel("web", "w", "order_number", "return_amt"),
)


class OrdersChanges:
    """Changes the orders of a schema: those that go and are updated are the newest ones.

    Args:
        sql: runs a statement.
        schema: with the tables.
        orders: which of its tables keep orders.
    """

    def __init__(self, sql: Sql, schema: str, orders: Sequence[Orders]) -> None:
        """Remember where; nothing changes yet."""
        self._sql, self._schema, self._orders = sql, schema, orders
        self._applied = 0

    def apply(self, change: OrdersChange) -> int:
        """Change orders, with all that the tables keep of them.

        Returns:
            How many orders.
        """
        self._applied += 1
        return sum(self._apply(change, orders) for orders in self._orders)

    def _apply(self, change: OrdersChange, orders: Orders) -> int:
        keys = {f"{self._schema}.{table}": key for table, key in orders.keys.items()}
        first, order = next(iter(keys.items()))
        total, last = self._sql(f"select count(distinct {order}), max({order}) from {first}")[0]
        number = max(1, round(change.ratio * total))
        third = number // 3 if change.kind == "mixed" else 0
        some = number if change.kind == "inserts" else third
        if third:
            oldest = self._oldest_of_newest(first, order, third)
            for table, key in keys.items():
                self._sql(f"delete from {table} where {key} >= {oldest}")
        updated = number - some - third
        if updated:
            oldest = self._oldest_of_newest(first, order, updated)
            for table, new in orders.updates.items():
                where = f"{orders.keys[table]} >= {oldest}"
                self._sql(f"update {self._schema}.{table} set {new} where {where}")
        if some:
            picked = f"{self._schema}.picked"
            self._sql(
                f"create or replace table {picked} using delta as select {order} as old, {last} "
                f"+ row_number() over (order by {order}) as new from (select distinct {order} from "
                f"{first} order by xxhash64({order}, {self._applied}) limit {some})"
            )
            for table, key in keys.items():
                self._sql(
                    f"insert into {table} by name select t.* except ({key}), new as {key} "
                    f"from {table} t join {picked} on {key} = old"
                )
        for table in keys:  # who comes first would read what is new of the log
            self._sql(f"select count(*) from {table}")
        return int(number)

    def _oldest_of_newest(self, table: str, order: str, number: int) -> int:
        newest = f"select distinct {order} from {table} order by 1 desc limit {number}"
        return int(self._sql(f"select min({order}) from ({newest})")[0][0])
