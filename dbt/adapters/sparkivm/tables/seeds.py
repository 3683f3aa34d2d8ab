"""The rows of seeds, as any Spark takes them by a statement, and their columns."""

from __future__ import annotations

import datetime as dt
import json
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from dbt.adapters.base.meta import AdapterMeta, available

if TYPE_CHECKING:
    import agate

BATCH = 3_000_000
"""Characters of JSON in a statement: of what a server takes at once, the least that is known are
16 MB, of a text that Base64 made longer by a third."""

# Spark pads a char where it is read, and does not compare variants.
_INCOMPARABLE = re.compile(r"(char|character|variant)\b")


@dataclass(frozen=True)
class SeedColumn:
    """A column of a seed.

    Attributes:
        name: Its name.
        dtype: Its type: what `column_types` says, else what dbt makes of the values.
        position: Its number, from 0.
    """

    name: str
    dtype: str
    position: int

    @property
    def quoted(self) -> str:
        """Its name in SQL."""
        return "`" + self.name.replace("`", "``") + "`"


class SeedsMixin(metaclass=AdapterMeta):
    """The adapter's methods for seeds."""

    @available
    def ivm_seed_columns(
        self, table: agate.Table, column_types: Mapping[str, str] | None
    ) -> list[SeedColumn]:
        """The columns of a seed's table.

        Args:
            table: The seed's rows, as dbt reads them.
            column_types: The config of this name.
        """
        told = column_types or {}
        return [
            SeedColumn(name, told.get(name) or self.convert_type(table, position), position)  # type: ignore[attr-defined]
            for position, name in enumerate(table.column_names)
        ]

    @available
    def ivm_seed_batches(self, table: agate.Table) -> Iterator[str]:
        """The rows of a seed, in pieces of which each fits into a statement: see `batches`."""
        return batches(table.rows)

    @available
    def ivm_seed_signature(self, columns: Sequence[SeedColumn]) -> str | None:
        """By which a table is known that was made for such columns: see `signature`."""
        return signature(columns)


def batches(rows: Iterable[Sequence[Any]], size: int = BATCH) -> Iterator[str]:
    """Rows as texts that stand in a statement as they are.

    Each is JSON (an array of rows, a row an array of texts) in Base64. So Spark's parser sees one
    literal, where it would take a minute for a literal a value; and no method, driver or setting
    finds a quote, a backslash, a placeholder or a variable in it.

    Args:
        rows: Values as agate has them.
        size: Characters of JSON in a text, about.

    Returns:
        The texts, in order; none if there are no rows.
    """
    lines: list[str] = []
    length = 0
    for row in rows:
        line = json.dumps([_text(value) for value in row], ensure_ascii=False)
        if lines and length + len(line) > size:
            yield _encoded(lines)
            lines, length = [], 0
        lines.append(line)
        length += len(line)
    if lines:
        yield _encoded(lines)


def _encoded(lines: Sequence[str]) -> str:
    return b64encode(f"[{','.join(lines)}]".encode()).decode("ascii")


def _text(value: Any) -> str | None:
    """A value of agate as a text that Spark casts to its type."""
    if value is None:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Decimal) and value.is_finite():
        return format(value, "f")
    if isinstance(value, dt.datetime):
        return value.isoformat(sep=" ")
    return str(value)


def signature(columns: Iterable[SeedColumn]) -> str | None:
    """The columns of a seed as a text, which its table keeps among its properties.

    Spark does not tell of a Delta table which of its columns are a `varchar`.

    Returns:
        None if rows with these columns cannot be compared.
    """
    if any(_INCOMPARABLE.match(column.dtype.strip().lower()) for column in columns):
        return None
    return ", ".join(f"{column.quoted} {column.dtype}" for column in columns)
