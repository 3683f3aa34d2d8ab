"""What random tables hold: types, their values and literals, and names for their columns."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal

INT, TEXT, DATE, DECIMAL, WIDE, DOUBLE = "int", "string", "date", "decimal", "wide", "double"
ARRAY, STRUCT = "array", "struct"
SPARK_TYPES = {
    INT: "int",
    TEXT: "string",
    DATE: "date",
    DECIMAL: "decimal(8,2)",
    DOUBLE: "double",
    ARRAY: "array<int>",
    STRUCT: "struct<a: int, b: string>",
}
LITERALS = {
    INT: ("1", "2", "0", "-1"),
    TEXT: ("'a'", "'b'", "''"),
    DATE: ("date '2024-01-01'", "date '2024-02-29'"),
    DECIMAL: ("cast(1.50 as decimal(8,2))", "cast(0 as decimal(8,2))"),
    WIDE: ("cast(2.5 as decimal(8,2))",),
    DOUBLE: ("cast(0.25 as double)", "cast(-1.5 as double)"),
    ARRAY: ("array(1, 2)",),
    STRUCT: ("struct(1 as a, 'a' as b)",),
}
# Few values, so that rows meet in joins, share groups and repeat; what is listed twice is twice
# as likely.
VALUES = {
    INT: (1, 1, 2, 2, 0, 3, None),
    TEXT: ("a", "a", "b", "", None),
    DATE: (date(2024, 1, 1), date(2024, 1, 1), date(2024, 2, 29), None),
    DECIMAL: (Decimal("1.50"), Decimal("1.50"), Decimal("-0.25"), Decimal("7.01"), None),
    DOUBLE: (0.25, 0.25, -1.5, 3.0, 0.0, -0.0, float("nan"), float("inf"), float("-inf"), None),
    ARRAY: ([1, 2], [1, 2], [], [2, None, 2], None),
    STRUCT: ({"a": 1, "b": "a"}, {"a": 1, "b": "a"}, {"a": 2, "b": None}, None),
}
NAMES = {
    INT: ("k", "i", "j", "b_k", "tag"),
    TEXT: ("s",),
    DATE: ("d",),
    DECIMAL: ("m",),
    DOUBLE: ("f",),
    ARRAY: ("xs",),
    STRUCT: ("p",),
}
# Names that the planner itself uses in what it emits are as good as any other.
ALIASES = (
    "a", "b", "c", "delta", "lost", "changed", "recomputed", "net_delta", "source", "state",
    "stored", "change", "q_rows", "q_keys", "delta_t1", "ivm_view", "ivm_view_groups", "a_b",
    "a_rows", "a_keys", "exists_changed", "exists_tags", "exists_tagged", "in_list_nulls",
)  # fmt: skip
LARGEST = 1000
"""Upper bound for the estimated rows of an intermediate result."""


@dataclass(frozen=True)
class Column:
    """A column in scope: how it is named there, and its type."""

    ref: str
    type: str

    @property
    def name(self) -> str:
        """Its name without the relation's."""
        return self.ref.split(".")[-1]


@dataclass(frozen=True)
class Relation:
    """Something that can stand in FROM."""

    sql: str
    columns: tuple[Column, ...]
    size: int

    def under(self, alias: str) -> list[Column]:
        """Its columns as they are named under an alias."""
        return [Column(f"{alias}.{c.ref}", c.type) for c in self.columns]


@dataclass(frozen=True)
class Item:
    """An item of a SELECT list."""

    name: str
    sql: str
    type: str
    aggregated: bool = False


def fresh(number: int, scope: list[Column]) -> str:
    """A name that FROM has not: GROUP BY would mean FROM's column by it."""
    taken = {c.name[0] for c in scope}
    return next(letter for letter in "cbaxyzuvwpq" if letter not in taken) + str(number)


def listed(items: list[Item]) -> str:
    """A SELECT list."""
    return ", ".join(f"{i.sql} as {i.name}" for i in items)


def columns_of(items: list[Item]) -> tuple[Column, ...]:
    """The columns that a SELECT list gives."""
    return tuple(Column(i.name, i.type) for i in items)
