"""Columns of Spark's tables, and what dbt asks of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

from dbt.adapters.base import BaseRelation
from dbt.adapters.base.column import Column
from dbt.adapters.base.meta import AdapterMeta
from dbt.adapters.spark.column import SparkColumn

_WHOLE = frozenset(("tinyint", "byte", "smallint", "short", "int", "integer", "bigint", "long"))
_FLOAT = frozenset(("float", "real", "double"))
_DECIMAL = frozenset(("decimal", "dec", "numeric"))
_TEXT = frozenset(("string", "varchar", "char", "character"))

_OF_TREES = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint"}
"""SQL's names of the types that Spark names otherwise where it draws a schema as a tree, from which
dbt-spark reads them."""


@dataclass
class SparkIvmColumn(SparkColumn):
    """A column whose type is known by Spark's names; dbt-spark knows those of Postgres."""

    def is_integer(self) -> bool:
        """Whether its values are whole numbers."""
        return self._kind in _WHOLE

    def is_float(self) -> bool:
        """Whether its values are floating-point numbers."""
        return self._kind in _FLOAT

    def is_numeric(self) -> bool:
        """Whether its values are decimals."""
        return self._kind in _DECIMAL

    def is_string(self) -> bool:
        """Whether its values are texts."""
        return self._kind in _TEXT

    def can_expand_to(self, other_column: Column) -> bool:
        """Never: of a column that may be too short, Spark keeps no sizes that dbt could compare."""
        return False

    @property
    def _kind(self) -> str:
        """The type's name in lower case, without its sizes."""
        return str(self.dtype).lower().split("(")[0].strip()


class ColumnsMixin(metaclass=AdapterMeta):
    """The adapter's columns, wherever dbt-spark reads them."""

    def parse_describe_extended(self, relation: BaseRelation, raw_rows: Any) -> list[SparkColumn]:
        """The columns in the rows of DESCRIBE EXTENDED."""
        return _ours(super().parse_describe_extended(relation, raw_rows))  # type: ignore[misc]

    def parse_columns_from_information(self, relation: BaseRelation) -> list[SparkColumn]:
        """The columns in what SHOW TABLE EXTENDED says of a relation."""
        return _ours(super().parse_columns_from_information(relation))  # type: ignore[misc]


def _ours(columns: Iterable[SparkColumn]) -> list[SparkColumn]:
    made: list[SparkColumn] = []
    for column in columns:
        known = {field.name: getattr(column, field.name) for field in fields(column)}
        known["dtype"] = _OF_TREES.get(column.dtype, column.dtype)
        made.append(SparkIvmColumn(**known))
    return made
