"""Conditions on the column that orders a source's rows, by time points (config ``ivm_step``)."""

from __future__ import annotations

from sqlglot import exp

from python_ivm.parse.parser import DIALECT
from python_ivm.sources.history import Until

MICROSECONDS = "timestamp"
"""Of this type a time point is written as its microseconds since 1970: texts have two meanings
where clocks are set back."""


def literal(until: Until) -> exp.Expr:
    """A time point, which has to have a value."""
    if until.kind == MICROSECONDS:
        number = exp.Literal.number(until.value)
        return exp.Anonymous(this="timestamp_micros", expressions=[number])
    text = _text(str(until.value))
    return text if until.kind == "string" else exp.cast(text, until.kind, dialect=DIALECT)


def _text(value: str) -> exp.Expr:
    """A text as it stands in a table: for ``${name}`` Spark would put a setting's value."""
    first, *others = value.split("${")
    parts = [first, *(f"{{{other}" for other in others)]
    ends = ["$"] * len(others) + [""]
    texts = [exp.Literal.string(part + end) for part, end in zip(parts, ends, strict=True)]
    return texts[0] if len(texts) == 1 else exp.Concat(expressions=texts)


def as_text(until: Until, value: exp.Expr) -> exp.Expr:
    """A value of the column as the text that :func:`literal` reads."""
    if until.kind == MICROSECONDS:
        value = exp.Anonymous(this="unix_micros", expressions=[value])
    return exp.cast(value, "string")


def column(until: Until) -> exp.Column:
    """The column."""
    return exp.column(until.column, quoted=True)


def seen(until: Until) -> exp.Expr:
    """Whether a row is seen at a time point."""
    unknown = exp.Is(this=column(until), expression=exp.Null())
    if until.value is None:
        return unknown
    return exp.or_(unknown, exp.LTE(this=column(until), expression=literal(until)))


def later(until: Until) -> exp.Expr:
    """Whether a row comes after a time point."""
    if until.value is None:
        return exp.Not(this=exp.Is(this=column(until), expression=exp.Null()))
    return exp.GT(this=column(until), expression=literal(until))
