"""What Spark gives to a loop, as rows that can be looked up."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

Row = tuple[Any, ...]


class Table(list[Row]):
    """Rows that can be looked up, as the adapter's can."""

    asked = 0

    def find(self, column: int, values: Collection[Any]) -> Iterator[Row]:
        assert values and None not in values
        Table.asked += 1
        return (row for row in self if row[column] in values)
