"""What happens in the shop, day by day: the same changes for the same size.

All rows follow from hashes of their numbers, so that Spark makes them, few or many.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SCHEMA = "shop_raw"
DAYS = 30
HISTORY = 200
"""How many days of orders there are when the shop's first day begins."""
_FIRST = "date'2026-03-01'"

TABLES = {
    "customers": "customer_id int, name string, email string, country string, created_on date",
    "products": "product_id int, name string, category string, price decimal(8, 2)",
    "orders": "order_id int, customer_id int, ordered_at timestamp, status string, campaign string",
    "order_items": "item_id int, order_id int, product_id int, quantity int, "
    "unit_price decimal(8, 2)",
    "payments": "payment_id int, order_id int, method string, amount decimal(12, 2), paid_on date",
    "refunds": "refund_id int, order_id int, amount decimal(12, 2), refunded_on date",
    "page_views": "view_id int, customer_id int, viewed_at timestamp, page string",
}
_MOST_ITEMS = 3
_MOST_VIEWS = 4


@dataclass
class Shop:
    """The shop's own systems.

    Args:
        sql: Runs a statement in Spark.
        project: The folder of the dbt project, whose seeds people edit.
        orders: How many orders there are at the beginning.
        daily: How many come each day.
    """

    sql: Callable[[str], Sequence[Any]]
    project: Path
    orders: int = 100_000
    daily: int = 500

    @property
    def customers(self) -> int:
        """How many customers there are at the beginning."""
        return max(10, self.orders // 5)

    def open(self) -> None:
        """Create the sources, with the rows of the days before."""
        self.sql(f"drop schema if exists {SCHEMA} cascade")
        self.sql(f"create schema {SCHEMA}")
        for table, columns in TABLES.items():
            self.sql(
                f"create table {SCHEMA}.{table} ({columns}) using delta "
                "tblproperties (delta.enableChangeDataFeed = true)"
            )
        self._new_customers(0, self.customers)
        self.sql(f"insert into {SCHEMA}.products {self._products(1)}")
        back = self._any("id", "day", HISTORY)
        self._new_orders(0, self.orders, f"date_sub({_FIRST}, {back})", "shipped")

    def day(self, number: int) -> list[str]:
        """One day.

        Args:
            number: Which, from 1.

        Returns:
            What happened, in words.
        """
        told = []
        for every, what, happens in (
            (1, "new customers, orders and page views; orders are shipped", self._business),
            (3, "orders of ten days ago come late, with their items and payments", self._late),
            (4, "items and customers are corrected, and items come back", self._corrected),
            (5, "cancelled orders and customers who leave are deleted", self._deleted),
            (7, "prices change", self._priced),
            (9, "files are compacted", self._compacted),
            (10, "the products' source has a new column", self._column),
            (12, "someone edits the seed of countries", self._edited),
            (20, "the products are loaded anew, as a whole", self._reloaded),
            (25, "the refunds are written anew, as a whole", self._overwritten),
        ):
            once = every >= 10
            if number % 15 == 0:  # a holiday
                break
            if number == every if once else number % every == 0:
                happens(number)
                told.append(what)
        return told or ["nothing"]

    # -- what happens ------------------------------------------------------------------------------

    def _business(self, day: int) -> None:
        today = f"date_add({_FIRST}, {day})"
        new = max(1, self.daily // 10)
        self._new_customers(self.customers + day * new, new)
        self._new_orders(self.orders + day * 10 * self.daily, self.daily, today)
        shipped = f"status = 'placed' and {self._one_in(3, 'order_id', day)}"
        self._update("orders", "status = 'shipped'", f"{shipped} and ordered_at < {today}")

    def _late(self, day: int) -> None:
        first = self.orders + day * 10 * self.daily + 5 * self.daily
        self._new_orders(first, max(1, self.daily // 10), f"date_add({_FIRST}, {day - 10})")

    def _corrected(self, day: int) -> None:
        few = max(2, self.orders // 100)
        where = self._one_in(few, "item_id", day)
        self._update("order_items", "quantity = quantity + 1, unit_price = unit_price * 0.9", where)
        self._update("order_items", "product_id = null", self._one_in(5 * few, "item_id", -day))
        self._update("customers", "country = 'IN'", self._one_in(few, "customer_id", day))
        self.sql(
            f"insert into {SCHEMA}.refunds select payment_id + {day * 10_000_000}, order_id, "
            f"cast(amount / 2 as decimal(12, 2)), date_add({_FIRST}, {day}) "
            f"from {SCHEMA}.payments where {self._one_in(few, 'payment_id', day)}"
        )

    def _deleted(self, day: int) -> None:
        gone = self._one_in(max(2, self.orders // 100), "order_id", f"{day} cancelled")
        for table in ("order_items", "payments", "orders"):
            self.sql(f"delete from {SCHEMA}.{table} where {gone}")
        left = self._one_in(max(2, self.customers // 10), "customer_id", f"{day} left")
        self.sql(f"delete from {SCHEMA}.customers where {left}")
        self._update("page_views", "customer_id = null", left)
        self._update("orders", "customer_id = null", left)

    def _priced(self, day: int) -> None:
        self._update("products", "price = price + 1", self._one_in(4, "product_id", day))

    def _column(self, day: int) -> None:
        self.sql(f"alter table {SCHEMA}.products add columns (weight int)")
        self._update("products", "weight = product_id * 10", "product_id % 2 = 0")

    def _compacted(self, day: int) -> None:
        for table in ("orders", "order_items", "page_views"):
            self.sql(f"optimize {SCHEMA}.{table}")

    def _edited(self, day: int) -> None:
        file = self.project / "seeds" / "countries.csv"
        lines = [line for line in file.read_text().splitlines() if not line.startswith("JP,")]
        file.write_text("\n".join([*lines, "XX,Nowhere,Sea"]) + "\n")

    def _overwritten(self, day: int) -> None:
        half = self._one_in(2, "refund_id", day)
        self.sql(
            f"insert overwrite {SCHEMA}.refunds select refund_id, order_id, "
            f"if({half}, amount, amount + 1), refunded_on from {SCHEMA}.refunds"
        )

    def _reloaded(self, day: int) -> None:
        self.sql(
            f"create or replace table {SCHEMA}.products using delta "
            "tblproperties (delta.enableChangeDataFeed = true) as "
            f"select *, 100 as weight from ({self._products(2)})"
        )

    # -- rows --------------------------------------------------------------------------------------

    def _new_customers(self, first: int, count: int) -> None:
        country = "element_at(array('AT', 'BR', 'DE', 'IN', 'JP', 'US', 'XX'), {})"
        self.sql(
            f"insert into {SCHEMA}.customers select cast(id as int), concat('Customer ', id), "
            f"concat('C', id, '@Example.com'), {country.format(self._any('id', 'country', 7))}, "
            f"date_sub({_FIRST}, {self._any('id', 'since', 900)}) "
            f"from range({first}, {first + count})"
        )

    def _products(self, load: int) -> str:
        category = "element_at(array('books', 'games', 'tools', 'toys'), {})"
        return (
            "select cast(id as int) as product_id, concat('Product ', id) as name, "
            f"{category.format(self._any('id', 'category', 4))} as category, "
            f"cast({self._any('id', f'price {load}', 80)} + 0.99 as decimal(8, 2)) as price "
            "from range(200)"
        )

    def _new_orders(self, first: int, count: int, day: str, status: str = "placed") -> None:
        """Orders with their items, their payments and the page views before them."""
        orders = f"range({first}, {first + count})"
        campaign = "element_at(array('spring', 'search', 'friends', null, null), {})"
        customer = f"pmod(xxhash64(id, 'customer'), {self.customers})"
        at = f"timestampadd(minute, {self._any('id', 'minute', 1439)}, {day})"
        self.sql(
            f"insert into {SCHEMA}.orders select cast(id as int), cast({customer} as int), {at}, "
            f"if({self._any('id', 'status', 20)} = 1, 'cancelled', '{status}'), "
            f"{campaign.format(self._any('id', 'campaign', 5))} from {orders}"
        )
        self.sql(
            f"insert into {SCHEMA}.order_items select cast(id * {_MOST_ITEMS} + n as int), "
            f"cast(id as int), {self._any('id, n', 'product', 199)}, "
            f"{self._any('id, n', 'quantity', 4)}, "
            f"cast({self._any('id, n', 'price', 80)} + 0.99 as decimal(8, 2)) from {orders} "
            f"lateral view explode(sequence(1, cast({self._any('id', 'items', _MOST_ITEMS)} "
            "as int))) as n"
        )
        self.sql(
            f"insert into {SCHEMA}.payments select cast(id as int), cast(id as int), "
            f"element_at(array('card', 'bank', 'voucher'), {self._any('id', 'method', 3)}), "
            f"cast({self._any('id', 'amount', 300)} as decimal(12, 2)), {day} from {orders} "
            f"where {self._any('id', 'pays', 10)} > 1"
        )
        page = "element_at(array('home', 'product', 'cart', 'checkout'), n)"
        self.sql(
            f"insert into {SCHEMA}.page_views select cast(id * {_MOST_VIEWS} + n as int), "
            f"cast({customer} as int), timestampadd(minute, cast(n * {self._any('id', 'wait', 20)} "
            f"as int), {at}), {page} from {orders} lateral view explode(sequence(1, "
            f"{self._any('id', 'views', _MOST_VIEWS)})) as n"
        )

    def _update(self, table: str, new: str, where: str) -> None:
        self.sql(f"update {SCHEMA}.{table} set {new} where {where}")

    @staticmethod
    def _one_in(rare: int, key: str, what: object) -> str:
        return f"pmod(xxhash64({key}, '{what}'), {rare}) = 0"

    @staticmethod
    def _any(of: str, what: str, most: int) -> str:
        """A whole number from 1 to the most."""
        return f"cast(1 + pmod(xxhash64({of}, '{what}'), {most}) as int)"
