"""The statements that dbt's suites run by themselves, in Spark's dialect: they speak Postgres."""

from __future__ import annotations

import re
from collections.abc import Iterator

import sqlparse

_TYPES = {
    "text": "string",
    "timestamp without time zone": "timestamp",
    r"varchar\(\d+\)": "string",
}
_LITERAL = r"'(?:[^']|'')*'"
_REPLACED = re.compile(
    rf"""{_LITERAL}|--[^\n]*|"(?P<quoted>\w+)"|\b(?P<type>{"|".join(_TYPES)})(?!\w)""",
    re.IGNORECASE,
)


def statements(sql: str) -> Iterator[str]:
    """Split a text, and translate each statement: types, quotes, and names without a database."""
    for statement in sqlparse.split(sql.replace("{database}.", "")):
        if text := statement.strip().rstrip(";"):
            yield to_spark(text)


def to_spark(sql: str) -> str:
    """A text with Spark's names of types, and its quotes; literals and comments stay."""
    return _REPLACED.sub(_translated, sql)


def _translated(found: re.Match[str]) -> str:
    if found["quoted"]:
        return f"`{found['quoted']}`"
    if not found["type"]:
        return found[0]
    return next(new for old, new in _TYPES.items() if re.fullmatch(old, found[0].lower()))
