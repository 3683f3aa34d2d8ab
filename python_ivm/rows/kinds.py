"""The types of values that the row engine computes with, as Spark has them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

from python_ivm.errors import NotYetImplemented

_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_NAMES = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint",
          "varchar": "string", "dec": "decimal", "numeric": "decimal"}  # fmt: skip
_PLAIN = frozenset({"boolean", "string", "date", "void"})
_DECIMAL = re.compile(r"decimal\((\d+),\s*(-?\d+)\)")
_EXACT = Context(prec=100, rounding=ROUND_HALF_UP)


@dataclass(frozen=True)
class ValueType:
    """A type.

    Attributes:
        name: As Spark writes it, without precision and scale.
        precision: Of a decimal.
        scale: Of a decimal.
    """

    name: str
    precision: int = 0
    scale: int = 0

    @staticmethod
    def of(text: str) -> ValueType:
        """A type by Spark's name for it.

        Raises:
            NotYetImplemented: If the row engine has no such values.
        """
        lowered = text.strip().lower()
        lowered = "decimal(10,0)" if lowered in ("decimal", "dec", "numeric") else lowered
        base = lowered.partition("(")[0]
        name = _NAMES.get(base, base)
        found = _DECIMAL.fullmatch(lowered.replace(base, name, 1))
        if found is not None:
            return ValueType("decimal", int(found[1]), int(found[2]))
        if name in _BITS or (name in _PLAIN and "collate" not in lowered):
            return ValueType(name)
        raise NotYetImplemented(
            f"A value of type {text} in a loop",
            hint="Loops compute with whole numbers, decimals, texts, dates and booleans: "
            "cast to one of these.",
        )

    @property
    def is_whole(self) -> bool:
        """Whether it is a type of whole numbers."""
        return self.name in _BITS

    @property
    def is_number(self) -> bool:
        """Whether it is a type of numbers."""
        return self.is_whole or self.name == "decimal"

    @property
    def bounds(self) -> tuple[int, int]:
        """The least and the greatest value of a type of whole numbers."""
        half = 1 << (_BITS[self.name] - 1)
        return -half, half - 1

    @property
    def as_decimal(self) -> ValueType:
        """The decimal type that holds every value of a type of numbers."""
        digits = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 20}
        return self if self.name == "decimal" else ValueType("decimal", digits[self.name], 0)

    def __str__(self) -> str:
        """Spark's name."""
        if self.name == "decimal":
            return f"decimal({self.precision},{self.scale})"
        return self.name


VOID, BOOLEAN, INT, BIGINT, STRING = map(ValueType, ("void", "boolean", "int", "bigint", "string"))


def common(kinds: Iterable[ValueType]) -> ValueType:
    """The type to which values of several types are brought, as in UNION, COALESCE and CASE.

    Raises:
        NotYetImplemented: If it is not plain what Spark does.
    """
    result = VOID
    for kind in kinds:
        result = _wider(result, kind)
    return result


def _wider(one: ValueType, other: ValueType) -> ValueType:
    if one == other or other == VOID:
        return one
    if one == VOID:
        return other
    if one.is_whole and other.is_whole:
        return max(one, other, key=lambda kind: _BITS[kind.name])
    if one.is_number and other.is_number:
        first, second = one.as_decimal, other.as_decimal
        scale = max(first.scale, second.scale)
        digits = max(first.precision - first.scale, second.precision - second.scale) + scale
        if digits <= 38:
            return ValueType("decimal", digits, scale)
    raise NotYetImplemented(
        f"In a loop, {one} beside {other} in one column or comparison",
        hint="Cast one of them to the other's type.",
    )


def fit(kind: ValueType, ansi: bool) -> Callable[[Any], Any]:
    """What makes the exact result of a calculation a value of a type.

    What does not fit is an error under ANSI; else whole numbers wrap around, and decimals are NULL.

    Args:
        kind: The type.
        ansi: Whether ANSI mode is on.
    """
    if kind.is_whole:
        least, greatest = kind.bounds

        def whole(value: int) -> int:
            if least <= value <= greatest:
                return value
            if ansi:
                raise Overflow(f"{value} is no {kind.name}")
            return (value - least) % (greatest - least + 1) + least

        return whole
    return _to_scale(kind, ansi)


def _to_scale(kind: ValueType, ansi: bool) -> Callable[[Any], Any]:
    step = Decimal(1).scaleb(-kind.scale)
    limit = Decimal(10) ** (kind.precision - kind.scale)

    def decimal(value: Any) -> Any:
        rounded = Decimal(value).quantize(step, context=_EXACT)
        if abs(rounded) < limit:
            return rounded
        if ansi:
            raise Overflow(f"{value} is no {kind}")
        return None

    return decimal


class Overflow(ArithmeticError):
    """A number that does not fit its type, under ANSI."""


def exactly(one: Any, other: Any, sign: str) -> Any:
    """The exact sum, difference or product of two decimals or whole numbers."""
    a, b = Decimal(one), Decimal(other)
    if sign == "+":
        return _EXACT.add(a, b)
    return _EXACT.subtract(a, b) if sign == "-" else _EXACT.multiply(a, b)
