"""What the planner must know of the tables that a model reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from python_ivm.parse.parser import table_key


@dataclass(frozen=True)
class TableSchema:
    """A source table.

    Attributes:
        parts: The name's parts as the catalog spells them (schema and name, or with a catalog).
        columns: Column name to Spark type, in the table's order and spelling.
    """

    parts: tuple[str, ...]
    columns: Mapping[str, str]

    @property
    def key(self) -> str:
        """The name by which the planner knows the table."""
        return table_key(self.parts)

    def spelling(self, lower: str) -> str:
        """A column's name as the table spells it."""
        return next((name for name in self.columns if name.lower() == lower), lower)


Schemas = Mapping[str, TableSchema]
"""Table schemas by :attr:`TableSchema.key`."""


def column_names(schemas: Schemas) -> set[str]:
    """The names of all columns of all tables, in lower case."""
    return {name.lower() for table in schemas.values() for name in table.columns}


def kind_of(schemas: Schemas, source: str, column: str) -> str | None:
    """The Spark type of a source's column; None where it is not known."""
    schema = schemas.get(source)
    return None if schema is None else schema.columns.get(schema.spelling(column))
