"""Spark's types, as far as sums depend on them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")
_INTEGRAL = {"tinyint", "smallint", "int", "integer", "bigint", "long", "short", "byte"}
_FLOATING = {"float", "double", "real"}


class SumKind(Enum):
    """How the type of a summed argument adds up."""

    INTEGRAL = "integral"
    DECIMAL = "decimal"
    FLOATING = "floating"
    OTHER = "other"


@dataclass(frozen=True)
class SqlType:
    """A Spark type, as far as sums depend on it."""

    kind: SumKind
    precision: int = 0
    scale: int = 0

    @staticmethod
    def of(name: str) -> SqlType:
        """Read a type's name, such as ``decimal(15,2)``."""
        lowered = name.strip().lower()
        found = _DECIMAL.match(lowered)
        if found:
            return SqlType(SumKind.DECIMAL, int(found.group(1)), int(found.group(2)))
        if lowered in _INTEGRAL:
            return SqlType(SumKind.INTEGRAL)
        if lowered in _FLOATING:
            return SqlType(SumKind.FLOATING)
        return SqlType(SumKind.OTHER)
