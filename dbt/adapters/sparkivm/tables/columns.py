"""Columns of Spark's tables, and what dbt asks of them."""

from __future__ import annotations

from dataclasses import dataclass

from dbt.adapters.base.column import Column
from dbt.adapters.spark.column import SparkColumn

_WHOLE = frozenset(("tinyint", "byte", "smallint", "short", "int", "integer", "bigint", "long"))
_FLOAT = frozenset(("float", "real", "double"))
_DECIMAL = frozenset(("decimal", "dec", "numeric"))
_TEXT = frozenset(("string", "varchar", "char", "character"))


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
