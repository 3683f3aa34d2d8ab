"""What happens to a business: changes of the source tables, the same ones for the same seed.

From this project's folder: `python -m tpch.changes --round "a busy day"`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from . import load

_COPY = 1_000_000_000  # added to the keys of copied orders, once for each batch


@dataclass
class Business:
    """The source tables, and ways to change them by plain SQL.

    Attributes:
        sql: runs a statement in the source tables' schema.
        seed: which rows are chosen, and where changed keys point to.
        one_in: how rare a chosen order is: 100 means every hundredth.
    """

    sql: load.Sql
    seed: int = 1
    one_in: int = 20

    def chosen(self, key: str, what: str, one_in: int | None = None) -> str:
        """A condition that holds for few values of a key, others for each `what`."""
        return f"pmod({self._hash(key, what)}, {one_in or self.one_in}) = 0"

    def version(self, table: str) -> int:
        """A table's present version."""
        return int(self.sql(f"describe history {table} limit 1")[0]["version"])

    def order(self, batch: int) -> None:
        """New orders with their lines, from any customer: two commits."""
        copied, customer = f"new {batch}", self._any_key("o_orderkey", "customer", "c_custkey")
        added = _COPY * batch
        self.sql(
            f"insert into orders select o_orderkey + {added}, {customer}, 'O', o_totalprice, "
            "o_orderdate, o_orderpriority, o_clerk, o_shippriority, o_comment from orders "
            f"where o_orderkey < {_COPY} and {self.chosen('o_orderkey', copied)}"
        )
        self.sql(
            f"insert into lineitem select l_orderkey + {added}, l_partkey, l_suppkey, "
            "l_linenumber, l_quantity, l_extendedprice, l_discount, l_tax, l_returnflag, "
            "l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode, "
            "l_comment "
            f"from lineitem where l_orderkey < {_COPY} and {self.chosen('l_orderkey', copied)}"
        )

    def cancel(self, what: str = "cancelled") -> None:
        """Delete orders with their lines."""
        self.sql(f"delete from orders where {self.chosen('o_orderkey', what)}")
        self.sql(f"delete from lineitem where {self.chosen('l_orderkey', what)}")

    def cancel_by_mistake(self) -> None:
        """Delete orders with their lines, and insert the same rows again."""
        what = "cancelled by mistake"
        before = {table: self.version(table) for table in ("orders", "lineitem")}
        self.cancel(what)
        for table, version in before.items():
            lost = self.chosen(f"{table[0]}_orderkey", what)
            self.sql(
                f"insert into {table} select * from {table} version as of {version} where {lost}"
            )

    def redirect_lines(self) -> None:
        """Lines get another part, others another supplier."""
        part = self._any_key("l_orderkey + l_linenumber", "part", "p_partkey")
        supplier = self._any_key("l_orderkey + l_linenumber", "supplier", "s_suppkey")
        self._update("lineitem", f"l_partkey = {part}", self.chosen("l_orderkey", "part"))
        self._update("lineitem", f"l_suppkey = {supplier}", self.chosen("l_orderkey", "supplier"))

    def hand_over_orders(self) -> None:
        """Orders get another customer."""
        customer = self._any_key("o_orderkey", "customer", "c_custkey")
        self._update("orders", f"o_custkey = {customer}", self.chosen("o_orderkey", "customer"))

    def move_customers(self) -> None:
        """Customers move to another nation, and with them all of their orders."""
        where = self.chosen("c_custkey", "moved")
        self._update("customer", "c_nationkey = pmod(c_nationkey + 5, 25)", where)

    def move_suppliers(self) -> None:
        """Suppliers move to another nation."""
        where = self.chosen("s_suppkey", "moved")
        self._update("supplier", "s_nationkey = pmod(s_nationkey + 5, 25)", where)

    def return_lines(self) -> None:
        """Lines are sent back: they change the group in Q1, and enter or leave Q10."""
        flag = "case l_returnflag when 'R' then 'A' else 'R' end"
        self._update("lineitem", f"l_returnflag = {flag}", self.chosen("l_orderkey", "returned"))

    def change_prices(self) -> None:
        """Prices and discounts of lines are corrected."""
        discount = "case when l_discount < 0.09 then l_discount + 0.01 else 0.05 end"
        new = f"l_extendedprice = l_extendedprice + 10, l_discount = {discount}"
        self._update("lineitem", new, self.chosen("l_orderkey", "price"))

    def enlarge_orders(self) -> None:
        """Quantities grow: parts' averages move for Q17, and orders become large for Q18."""
        where = self.chosen("l_orderkey", "enlarged")
        self._update("lineitem", "l_quantity = l_quantity + 40", where)

    def miss_deadlines(self) -> None:
        """Lines are received late, others in time after all: Q4, Q12 and Q21."""
        late = self.chosen("l_orderkey + l_linenumber", "late")
        self._update("lineitem", "l_receiptdate = l_commitdate + interval 3 days", late)
        punctual = self.chosen("l_orderkey + l_linenumber", "in time")
        self._update("lineitem", "l_receiptdate = l_commitdate - interval 1 day", punctual)

    def complain(self) -> None:
        """Suppliers get complaints, which Q16 excludes, and orders special requests for Q13."""
        where = self.chosen("s_suppkey", "complaint")
        self._update("supplier", "s_comment = 'Customer has Complaints'", where)
        special = self.chosen("o_orderkey", "special")
        self._update("orders", "o_comment = 'special are the requests'", special)

    def settle_accounts(self) -> None:
        """Balances of customers and suppliers change: the average in Q22, the order in Q2."""
        for table, key in (("customer", "c_custkey"), ("supplier", "s_suppkey")):
            column = f"{table[0]}_acctbal"
            self._update(table, f"{column} = {column} + 500", self.chosen(key, "settled"))

    def repackage_parts(self) -> None:
        """Parts get a type, a container and a size that Q8, Q14 and Q19 look for."""
        for brand, container in (("12", "SM BOX"), ("23", "MED BOX"), ("34", "LG BOX")):
            self._update(
                "part",
                f"p_container = '{container}', p_size = 4",
                f"p_brand = 'Brand#{brand}' and {self.chosen('p_partkey', 'packed', 3)}",
            )
        kind = (
            "if(p_type = 'ECONOMY ANODIZED STEEL', 'PROMO POLISHED TIN', 'ECONOMY ANODIZED STEEL')"
        )
        self._update("part", f"p_type = {kind}", self.chosen("p_partkey", "type"))

    def change_costs(self) -> None:
        """Supply costs change, and some suppliers stop to supply a part."""
        where = self.chosen("ps_partkey", "cost")
        self._update("partsupp", "ps_supplycost = ps_supplycost * 1.1", where)
        self.sql(f"delete from partsupp where {self.chosen('ps_partkey', 'dropped', 50)}")

    def rename_nations(self, names: Mapping[str, str]) -> None:
        """Nations get another name, which many orders show."""
        for old, new in names.items():
            self._update("nation", f"n_name = '{new}'", f"n_name = '{old}'")

    def lose_values(self) -> None:
        """Values that are summed, grouped and joined by become NULL."""
        self._update("lineitem", "l_discount = null", self.chosen("l_orderkey", "discount"))
        self._update("lineitem", "l_extendedprice = null", self.chosen("l_orderkey", "extended"))
        self._update("lineitem", "l_returnflag = null", self.chosen("l_orderkey", "flag"))
        self._update("lineitem", "l_suppkey = null", self.chosen("l_orderkey", "lost supplier"))
        self._update("orders", "o_custkey = null", self.chosen("o_orderkey", "lost customer"))

    def find_values(self) -> None:
        """What was lost gets a value again."""
        supplier = self._any_key("l_orderkey", "supplier", "s_suppkey")
        customer = self._any_key("o_orderkey", "customer", "c_custkey")
        for table, column, value in (
            ("lineitem", "l_discount", "0.06"),
            ("lineitem", "l_extendedprice", "1000"),
            ("lineitem", "l_returnflag", "'R'"),
            ("lineitem", "l_suppkey", supplier),
            ("orders", "o_custkey", customer),
        ):
            self._update(table, f"{column} = {value}", f"{column} is null")

    def touch(self) -> None:
        """An update that changes nothing: Delta rewrites rows, and they are the same."""
        where = self.chosen("l_orderkey", "touched")
        self._update("lineitem", "l_quantity = l_quantity", where)

    def optimize(self, table: str) -> None:
        """Rewrite a table's files without changing a row."""
        self.sql(f"optimize {table}")

    def _update(self, table: str, new: str, where: str) -> None:
        self.sql(f"update {table} set {new} where {where}")

    def _any_key(self, of: str, table: str, key: str) -> str:
        """An expression for some key of another table; their keys are 1, 2, 3, ..."""
        highest = int(self.sql(f"select max({key}) from {table}")[0][0])
        return f"1 + pmod({self._hash(of, table)}, {highest})"

    def _hash(self, key: str, what: str) -> str:
        return f"xxhash64({key}, '{what} {self.seed}')"


def a_busy_day(business: Business) -> None:
    """Two batches of new orders, and the files are compacted in between."""
    business.order(1)
    business.optimize("lineitem")
    business.order(2)


def second_thoughts(business: Business) -> None:
    """Keys and values of orders change, some become NULL, and some orders are cancelled.

    Nations are renamed, too: Q5 shows the new name, and Q7 loses its rows.
    """
    business.redirect_lines()
    business.hand_over_orders()
    business.move_customers()
    business.return_lines()
    business.change_prices()
    business.lose_values()
    business.cancel()
    business.cancel_by_mistake()
    business.touch()
    business.rename_nations({"INDIA": "BHARAT", "GERMANY": "DEUTSCHLAND", "BRAZIL": "BRASIL"})


def catalogue(business: Business) -> None:
    """Only suppliers, their costs and nations change: most models have nothing to do."""
    business.move_suppliers()
    business.change_costs()
    business.rename_nations({"DEUTSCHLAND": "GERMANY", "BRASIL": "BRAZIL"})
    business.optimize("orders")


def all_at_once(business: Business) -> None:
    """What was NULL is known again, parts are packed anew, and orders come, go and change hands."""
    business.find_values()
    business.order(3)
    business.repackage_parts()
    business.hand_over_orders()
    business.move_customers()
    business.return_lines()
    business.cancel("cancelled later")


def the_auditors_come(business: Business) -> None:
    """New orders, late corrections of nearly everything, and values that become NULL once more."""
    business.order(4)
    business.enlarge_orders()
    business.miss_deadlines()
    business.complain()
    business.settle_accounts()
    business.change_costs()
    business.change_prices()
    business.lose_values()
    business.rename_nations({"BHARAT": "INDIA", "DEUTSCHLAND": "GERMANY", "BRASIL": "BRAZIL"})


ROUNDS: Mapping[str, Callable[[Business], None]] = {
    "a busy day": a_busy_day,
    "second thoughts": second_thoughts,
    "catalogue": catalogue,
    "all at once": all_at_once,
    "the auditors come": the_auditors_come,
}
"""Rounds of changes by name, to be applied in this order."""


def in_schema(session: Any, schema: str) -> load.Sql:
    """Runs statements in a Spark session on the tables of one schema."""
    session.sql(f"use {schema}")
    return load.sql_of(session)


def main() -> None:
    """Change the loaded tables, as asked for on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--round", choices=ROUNDS, default=next(iter(ROUNDS)))
    parser.add_argument("--schema", default=load.SCHEMA, help="where the tables are")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--one-in", type=int, default=20, help="how rare a chosen order is")
    given = parser.parse_args()
    sql = in_schema(load.session_of_profile(), given.schema)
    change = ROUNDS[given.round]
    change(Business(sql, given.seed, given.one_in))
    print(change.__doc__)


if __name__ == "__main__":
    main()
