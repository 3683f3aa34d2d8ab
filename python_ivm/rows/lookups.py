"""Joins with a table of which few rows are needed: they are looked up by key, and not indexed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from python_ivm.rows.operators import Bag, Key, Operator, Row

_LOOKUPS = 20
"""After this many lookups an index of all rows costs less than further lookups."""


@runtime_checkable
class Lookup(Protocol):
    """The rows of a table, by column: those that have some values are found without the others."""

    def __len__(self) -> int:
        """How many rows there are."""

    def __iter__(self) -> Iterator[Row]:
        """All rows."""

    def find(self, column: int, values: Collection[Any]) -> Iterable[Row]:
        """The rows of which a column has one of some values, none of which is None."""


class MadeRows:
    """The rows that are made of those of a table, each by itself, when they are asked for.

    Attributes:
        table: The table.
        made: The row that is made of one of the table's; None if it goes.
        columns: For each column of a made row the table's column that it is; None if it is another
            value.
    """

    def __init__(
        self, table: Lookup, made: Callable[[Row], Row | None], columns: Sequence[int | None]
    ) -> None:
        """Take the table, and what is made of its rows."""
        self.table = table
        self.made = made
        self.columns = columns

    def __len__(self) -> int:
        """How many rows there are."""
        return sum(1 for _ in self)

    def __iter__(self) -> Iterator[Row]:
        """All rows."""
        return self._made_of(self.table)

    def find(self, column: int, values: Collection[Any]) -> Iterable[Row]:
        """The rows of which a column has one of some values, none of which is None."""
        place = self.columns[column]
        if place is not None:
            return self._made_of(self.table.find(place, values))
        return (row for row in self if row[column] in values)

    def _made_of(self, rows: Iterable[Row]) -> Iterator[Row]:
        for row in rows:
            made = self.made(row)
            if made is not None:
                yield made


class LookedUp(Operator):
    """The pairs of rows of an input and of a table that have equal keys; the table never changes.

    Attributes:
        table: The table.
        column: The column of the table that is looked up.
        keys: The key of a row of the input, and of a row of the table.
        value: The value of the input's row that equals the column.
        is_left: Whether the table's columns stand before those of the input.
        nulls: Whether NULL equals NULL; such rows are not looked up.
    """

    def __init__(
        self,
        table: Lookup,
        column: int,
        keys: tuple[Key, Key],
        value: Key,
        is_left: bool,
        nulls: bool = False,
    ) -> None:
        """Take the table, and how its rows are found."""
        self.table = table
        self.column = column
        self.keys = keys
        self.value = value
        self.is_left = is_left
        self.nulls = nulls
        self._asked = 0
        self._index: dict[Any, Bag] | None = None

    def step(self, changes: Mapping[int, Bag]) -> Bag:
        """The changed rows, each with the table's rows that have its key."""
        key_of, change = self.keys[0], changes[0]
        matches = self._matches(change)
        return {
            match + row if self.is_left else row + match: times * number
            for row, times in change.items()
            for match, number in matches.get(key_of(row), {}).items()
        }

    def _matches(self, rows: Iterable[Row]) -> Mapping[Any, Bag]:
        """The table's rows by key, at least those that rows of the input are joined with."""
        if self._index is not None:
            return self._index
        self._asked += 1
        values = {self.value(row) for row in rows}
        if self._asked > _LOOKUPS or (self.nulls and None in values):
            self._index = _by_key(self.table, self.keys[1])
            return self._index
        values.discard(None)
        return _by_key(self.table.find(self.column, values) if values else (), self.keys[1])


def _by_key(rows: Iterable[Row], key_of: Key) -> dict[Any, Bag]:
    found: dict[Any, Bag] = {}
    for row, times in Counter(rows).items():
        key = key_of(row)
        if key is not None:
            found.setdefault(key, {})[row] = times
    return found
