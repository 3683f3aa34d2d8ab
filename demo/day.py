"""What happens in the demo's shop, by plain SQL on the source tables.

As in most shops, what changes is recent: new orders get the highest keys, and it is those of the
last weeks that are cancelled, returned and corrected.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from integration_tests.tpch.changes import Business
from integration_tests.tpch.load import Sql

Told = tuple[str, Callable[[], None]]
"""A change in words, and the change."""

DAYS = 2_400
"""TPC-H's orders are those of 2,406 days: so many come in on one of them."""
RECENT = 50
"""What changes is among the newest orders, one in so many of all: those of seven weeks."""


class Recent(Business):
    """A business in which only recent orders change."""

    def chosen(self, key: str, what: str, one_in: int | None = None) -> str:
        """A condition that holds for few values of a key, of orders only for recent ones."""
        condition = super().chosen(key, what, one_in)
        column = key.split(" ")[0]
        return f"{column} >= {self._first} and {condition}" if "orderkey" in column else condition

    @cached_property
    def _first(self) -> int:
        """The lowest key of a recent order."""
        highest = self.sql("select max(o_orderkey) from orders where o_orderkey < 1000000000")
        return int(highest[0][0]) * (RECENT - 1) // RECENT


@dataclass
class Day:
    """Changes as a warehouse gets them between two runs.

    Attributes:
        sql: runs a statement in the source tables' schema.
        number: the day's number from 1 on; it chooses the rows.
        one_in: how rare a changed order is among the recent ones.
    """

    sql: Sql
    number: int = 1
    one_in: int = DAYS // RECENT

    def plain(self) -> list[Told]:
        """A quiet day."""
        business = self._business()
        return [
            ("a day's new orders come in, with their lines", lambda: business.order(self.number)),
            ("as many are cancelled: they are deleted, with their lines", business.cancel),
        ]

    def corrected(self) -> list[Told]:
        """A day with late corrections."""
        business = self._business()
        return [
            *self.plain(),
            ("lines are returned: they move to another group of Q1", business.return_lines),
            ("lines get another part or supplier: join keys change", business.redirect_lines),
        ]

    def _business(self) -> Business:
        return Recent(self.sql, seed=self.number, one_in=self.one_in)
