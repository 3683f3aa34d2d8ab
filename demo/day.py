"""What happens in the demo's shop, by plain SQL on the source tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from integration_tests.tpch.changes import Business
from integration_tests.tpch.load import Sql

Told = tuple[str, Callable[[], None]]
"""A change in words, and the change."""


@dataclass
class Day:
    """Small changes, as a warehouse gets them between two runs.

    Attributes:
        sql: runs a statement in the source tables' schema.
        one_in: how rare a changed order is.
    """

    sql: Sql
    one_in: int = 1000

    def first(self) -> list[Told]:
        """A quiet day."""
        business = Business(self.sql, seed=1, one_in=self.one_in)
        return [
            ("new orders come in, with their lines", lambda: business.order(1)),
            ("orders are cancelled: they are deleted, with their lines", business.cancel),
        ]

    def second(self) -> list[Told]:
        """A day with late corrections."""
        business = Business(self.sql, seed=2, one_in=self.one_in)
        return [
            ("new orders come in, with their lines", lambda: business.order(2)),
            ("orders are cancelled: they are deleted, with their lines", business.cancel),
            ("lines get another part or supplier: join keys change", business.redirect_lines),
            ("lines are returned: they move to another group of Q1", business.return_lines),
            (
                "customers move to another nation, and all their orders with them",
                business.move_customers,
            ),
        ]
