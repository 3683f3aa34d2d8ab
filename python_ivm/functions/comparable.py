"""Values of any type in a form that Spark can compare, group by and sort.

Spark compares no maps, variants and calendar intervals, and takes strings for equal that their
collation does not tell apart. Two values are the same if their forms are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError

from python_ivm.errors import NotYetImplemented
from python_ivm.parse.parser import DIALECT
from python_ivm.parse.trees import spark_call

_INCOMPARABLE = re.compile(r"\bmap<|\bvariant\b(?!:)|\binterval\b(?! (?:year|month|day|hour|minute"
                           r"|second)|:)|\bcollate\b(?!:)", re.IGNORECASE)  # fmt: skip

_WITHOUT_ORDER = (exp.DType.MAP, exp.DType.VARIANT, exp.DType.INTERVAL)

_MAY_MAKE = re.compile(
    r"\b(map\w*|\w+_map|variant\w*|\w*_variant\w*|\w+_json|from_xml)\b", re.IGNORECASE
)
"""Types, and functions that may make them, whose values Spark cannot compare at all."""

_MAY_LEAVE_TIES = re.compile(r"\b(collate|collation|make_interval)\b", re.IGNORECASE)


def may_be_incomparable(texts: Iterable[str]) -> bool:
    """Whether a type or a query's text names what Spark may not be able to compare."""
    return any(_MAY_MAKE.search(text) for text in texts)


def may_leave_ties(texts: Iterable[str]) -> bool:
    """Whether texts name what :func:`is_comparable` may not be true of."""
    return any(p.search(text) for text in texts for p in (_MAY_MAKE, _MAY_LEAVE_TIES))


def is_comparable(kind: str) -> bool:
    """Whether Spark can compare values of a type, and tells any two of them apart."""
    return _INCOMPARABLE.search(kind) is None


def comparable(value: exp.Expr, kind: str) -> exp.Expr:
    """The form of a value by which it is compared; NULL for NULL.

    Args:
        value: The value.
        kind: Its Spark type; one that is comparable leaves it as it is.

    Raises:
        NotYetImplemented: If the type cannot be read: Spark cuts wide structs short.
    """
    if is_comparable(kind):
        return value.copy()
    try:
        cast = sqlglot.parse_one(f"CAST(x AS {kind})", read=DIALECT)
    except ParseError as error:
        raise NotYetImplemented(f"An order of values of type {kind}") from error
    return _form(value, cast.args["to"], 1)


def entries(value: exp.Expr) -> exp.Expr:
    """A map as the array of its entries, which can be compared: two maps are equal if these are."""
    return _sorted(spark_call("map_entries", value))


def _form(value: exp.Expr, kind: exp.Expr, depth: int) -> exp.Expr:
    """A value's form.

    Args:
        value: The value.
        kind: Its type, or the field of a struct that has it.
        depth: The number of its lambda functions' first argument.
    """
    if not _differs(kind):
        return value.copy()
    if isinstance(kind, exp.ColumnDef):
        inner: exp.Expr = kind.args["kind"]
        return _form(value, inner, depth) if _differs(inner) else _binary(value)
    inside = kind.expressions
    if kind.this is exp.DType.MAP:
        if not any(_differs(part) for part in inside):
            return entries(value)
        parts = dict(zip(("key", "value"), inside, strict=True))
        pairs = _each(
            spark_call("map_entries", value), lambda e: _fields(e, parts, depth + 1), f"e{depth}"
        )
        return _sorted(pairs)
    if kind.this is exp.DType.ARRAY:
        return _each(value, lambda e: _form(e, inside[0], depth + 1), f"e{depth}")
    if kind.this is exp.DType.STRUCT:
        fields = {field.name: field for field in inside}
        return exp.Case().when(_present(value), _fields(value, fields, depth))
    if kind.this is exp.DType.VARIANT:
        told = _struct([spark_call("to_json", value), spark_call("schema_of_variant", value)])
        return exp.Case().when(_present(value), told)
    if kind.this is exp.DType.INTERVAL:
        return exp.cast(value.copy(), "string")
    return _binary(value)


def _differs(kind: exp.Expr) -> bool:
    """Whether a value of a type has a form other than itself."""
    return any(
        isinstance(part, exp.CollateColumnConstraint)
        or (
            isinstance(part, exp.DataType)
            and (part.this in _WITHOUT_ORDER or bool(part.args.get("collate")))
        )
        for part in kind.walk()
    )


def _each(array: exp.Expr, form: Callable[[exp.Expr], exp.Expr], name: str) -> exp.Expr:
    """The array of the forms of an array's elements, each called by a name."""
    body = form(exp.to_identifier(name))
    return exp.Transform(
        this=array.copy(),
        expression=exp.Lambda(this=body, expressions=[exp.to_identifier(name)]),
    )


def _fields(value: exp.Expr, kinds: dict[str, exp.Expr], depth: int) -> exp.Expr:
    return _struct(
        [
            _form(
                exp.Dot(this=value.copy(), expression=exp.to_identifier(name, quoted=True)),
                kind,
                depth,
            )
            for name, kind in kinds.items()
        ]
    )


def _binary(value: exp.Expr) -> exp.Expr:
    """A string as its bytes."""
    return spark_call("collate", value, exp.Literal.string("UTF8_BINARY"))


def _struct(values: list[exp.Expr]) -> exp.Struct:
    return exp.Struct(
        expressions=[
            exp.PropertyEQ(this=exp.to_identifier(f"c{number}"), expression=value)
            for number, value in enumerate(values, 1)
        ]
    )


def _present(value: exp.Expr) -> exp.Expr:
    return exp.Not(this=exp.Is(this=value.copy(), expression=exp.Null()))


def _sorted(array: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this="sort_array", expressions=[array])
