"""What happens in the demo's shop, by plain SQL on the source tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from integration_tests.tpch.changes import Business
from integration_tests.tpch.load import Sql

Told = tuple[str, Callable[[], None]]
"""A change in words, and the change."""

ONE_IN = 2400
"""TPC-H's orders are those of 2,406 days: so many come in on one of them."""


@dataclass
class Day:
    """Changes as a warehouse gets them between two runs.

    Attributes:
        sql: runs a statement in the source tables' schema.
        number: the day's number from 1 on; it chooses the rows.
        one_in: how rare a changed order is.
    """

    sql: Sql
    number: int = 1
    one_in: int = ONE_IN

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
        return Business(self.sql, seed=self.number, one_in=self.one_in)
