"""Strings are read as Spark reads them, and written so that Spark reads the same."""

from __future__ import annotations

import pytest
import sqlglot

from python_ivm.sql.parse import DIALECT

STRINGS = {
    "'it''s'": "it's",
    "''''": "'",
    "''": "",
    '"say ""hi"""': 'say "hi"',
    "\"it''s\"": "it''s",
    '\'say ""hi""\'': 'say ""hi""',
    r"'it\'s'": "it's",
    r"'back\\slash'": "back\\slash",
    r"'\\''x'": "\\'x",
    r"r'\d'": r"\d",
}


@pytest.mark.parametrize("text", STRINGS)
def test_a_string_literal(text: str) -> None:
    value = STRINGS[text]
    for _ in range(2):
        (literal,) = sqlglot.parse_one(f"select {text}", read=DIALECT).selects
        assert literal.name == value
        text = literal.sql(dialect=DIALECT)


def test_strings_side_by_side_are_concatenated() -> None:
    (item,) = sqlglot.parse_one("select 'a' 'b'", read=DIALECT).selects
    assert item.sql(dialect=DIALECT) == "CONCAT('a', 'b')"
