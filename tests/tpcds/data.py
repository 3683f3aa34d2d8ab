"""Few rows at which a query aims: values that its conditions name, and keys that meet.

On a small sample of generated data most of the 99 queries have no result. So each table gets rows
of values that are drawn from the literals with which the query compares its columns, of surrogate
keys that exist, and else of few values, so that rows meet in joins, share groups and repeat.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.optimizer.simplify import simplify

Row = tuple[Any, ...]

KEYS = 20
"""Surrogate keys are 1 … KEYS."""
FACTS = (
    "catalog_returns", "catalog_sales", "inventory", "store_returns", "store_sales",
    "web_returns", "web_sales",
)  # fmt: skip

_MONEY = [Decimal(v) for v in ("0.00", "1.50", "10.00", "10.00", "99.99", "250.00", "-4.25")]
_ALWAYS: Mapping[str, Sequence[Any]] = {
    "d_week_seq": [1, 2, 53, 54, 55, 106],
    "d_day_name": ["Sunday", "Monday", "Friday", "Saturday"],
    "d_qoy": [1, 2, 3, 4],
    "d_moy": [1, 2, 3, 11, 12],
    "d_date": [date(2000, 1, 31), date(2000, 2, 1), date(2000, 3, 15), date(2001, 1, 2)],
    "i_category": ["Books", "Music", "Home"],
    "ca_zip": ["24128", "76232-1", "65084", "1"],
    "s_zip": ["24128", "76232-1", "65084", "1"],
    "cd_gender": ["M", "F"],
    "c_preferred_cust_flag": ["Y", "N"],
}
"""Columns that are compared with one another rather than with literals."""
_COMPARISONS = (
    exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Between, exp.In, exp.Like,
)  # fmt: skip


def aims(sql: str) -> dict[str, list[Any]]:
    """The literals with which a query compares each column, by the column's name."""
    tree = sqlglot.parse_one(sql, read="spark")
    shown: dict[str, set[str]] = {}
    for alias in tree.find_all(exp.Alias):
        names = {c.name for c in alias.this.find_all(exp.Column)}
        shown.setdefault(alias.alias, set()).update(names)
    found: dict[str, list[Any]] = {}
    for comparison in tree.find_all(*_COMPARISONS):
        if comparison.find(exp.Query):
            continue
        literals = _literals(comparison)
        for column in comparison.find_all(exp.Column):
            for name in (column.name, *shown.get(column.name, ())):
                found.setdefault(name, []).extend(literals)
    return found


def _literals(comparison: exp.Expression) -> list[Any]:
    values: list[Any] = []
    for node in simplify(comparison.copy()).find_all(exp.Literal):
        text = str(node.this).replace("%", "")
        if node.is_string:
            values.append(text)
        else:
            values.append(Decimal(text) * (-1 if isinstance(node.parent, exp.Neg) else 1))
    numbers = [v for v in values if isinstance(v, Decimal)]
    if isinstance(comparison, exp.Between) and len(numbers) == 2:
        values.append((numbers[0] + numbers[1]) // 2)
    return values


def _cast(value: Any, kind: str) -> Any:
    """A literal as a value of a column's type; None if it is none."""
    try:
        if kind == "date":
            return date.fromisoformat(value)
        if kind in ("int", "bigint"):
            return int(value) if Decimal(value) == int(Decimal(value)) else None
        if kind.startswith("decimal"):
            precision, scale = kind[8:-1].split(",")
            number = round(Decimal(value), int(scale))
            return number if abs(number) < 10 ** (int(precision) - int(scale)) else None
        return str(value)
    except (ValueError, ArithmeticError, TypeError):
        return None


@dataclass
class Shooter:
    """Makes rows of tables, aimed at a query.

    Attributes:
        tables: Columns and types of the tables.
        aims: The query's literals by column.
        rng: Where chance comes from.
        facts: How many rows a table of facts gets first; others get one for each key.
        first: The lowest surrogate key.
    """

    tables: Mapping[str, Mapping[str, str]]
    aims: Mapping[str, Sequence[Any]]
    rng: random.Random
    facts: int = 600
    first: int = 1
    _pools: dict[str, list[Any]] = field(default_factory=dict)
    _days: set[date] = field(default_factory=set)

    def rows(self, table: str) -> list[Row]:
        """The table's first rows."""
        if table in FACTS:
            return [self.row(table) for _ in range(self.facts)]
        keys = range(self.first, self.first + KEYS)
        return [self.row(table, key) for key in keys]

    def row(self, table: str, key: int | None = None) -> Row:
        """One row; a dimension's has the given surrogate key, or some."""
        values = [self.value(name, kind) for name, kind in self.tables[table].items()]
        return self._consistent(table, [key, *values[1:]] if key is not None else values)

    def _consistent(self, table: str, values: list[Any]) -> Row:
        """A day is one row of the calendar and has one month and one week.

        Queries ask for the one month of a year's month and the one week of a day, and add up rows
        in the order of days, which must not have ties.
        """
        if table != "date_dim":
            return tuple(values)
        row = dict(zip(self.tables[table], values, strict=True))
        if row.get("d_date") is None or row["d_date"] in self._days:
            row["d_date"] = date(1990, 1, 1) + timedelta(days=len(self._days))
        self._days.add(row["d_date"])
        if "d_month_seq" in row and "d_moy" in row:
            known = row.get("d_year") is not None and row["d_moy"] is not None
            row["d_month_seq"] = 12 * (row["d_year"] - 1900) + row["d_moy"] - 1 if known else None
        return tuple(row[name] for name in self.tables[table])

    def value(self, name: str, kind: str) -> Any:
        """A value for a column."""
        if self.rng.random() < 0.05:
            return None
        if name not in self._pools:
            self._pools[name] = self._pool(name, kind)
        return self.rng.choice(self._pools[name])

    def _pool(self, name: str, kind: str) -> list[Any]:
        keys = list(range(self.first, self.first + KEYS))
        if name.endswith("_sk"):
            return keys
        if name.endswith(("_order_number", "_ticket_number")):
            return list(range(self.first, self.first + self.facts // 4))
        aimed = [_cast(value, kind) for value in self.aims.get(name, ())]
        pool = [value for value in aimed if value is not None]
        if kind == "date":
            pool += [day + timedelta(days=n) for day in pool for n in (0, 5, 20, -10)]
        usual = list(_ALWAYS.get(name, ()))
        if pool:
            return pool * 3 + (usual or self._usual(name, kind))
        return usual or self._usual(name, kind)

    def _usual(self, name: str, kind: str) -> list[Any]:
        if kind == "date":
            return [date(2000, 1, 1), date(2001, 6, 30)]
        if kind.startswith("decimal"):
            return list(_MONEY)
        if kind in ("int", "bigint"):
            return [self.first, self.first + 1, self.first + 2]
        return [f"{name[-4:]}{self.first}a", f"{name[-4:]}{self.first}b"]

    # -- changes ---------------------------------------------------------------------------

    def change(self, table: str, rows: Sequence[Row]) -> tuple[list[Row], list[Row]]:
        """A change of a table: which rows go, and which come."""
        gone: list[Row] = []
        came: list[Row] = []
        chosen = self.rng.sample(list(rows), min(len(rows), 6 + len(rows) // 10))
        for row in chosen:
            kind = self.rng.choice(["delete", "update", "update", "null", "keep"])
            if kind == "keep":
                continue
            gone.append(row)
            if kind != "delete":
                came.append(self.updated(table, row, kind == "null"))
        for _ in range(self.rng.randint(1, 4)):
            came.append(self.row(table))
        return gone, came

    def updated(self, table: str, row: Row, lose: bool) -> Row:
        """A row of which some values change, become NULL, or are known again."""
        values = list(row)
        for n, (name, kind) in enumerate(self.tables[table].items()):
            if values[n] is None or self.rng.random() < 0.3:
                values[n] = None if lose else self.value(name, kind)
        return self._consistent(table, values)
