"""Strings are read as Spark reads them, and written so that Spark reads the same."""

from __future__ import annotations

import pytest
import sqlglot

from python_ivm.parse.parser import DIALECT, parse

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


@pytest.mark.parametrize(
    "text",
    [
        "TO_CHAR(x, '999')", "PARSE_JSON(x)", "UNIX_DATE(x)", "ARRAY_SIZE(x)", "LOG10(x)",
        "LEVENSHTEIN(x, 'a', 2)", "COLLATE(x, 'UTF8_LCASE')", "x COLLATE UTF8_LCASE",
        "CAST(x AS STRING COLLATE UTF8_LCASE)",
        "GET_JSON_OBJECT(x, 'A')", "GET_JSON_OBJECT(x, '')", "GET_JSON_OBJECT(x, '$[\\'k y\\']')",
        "GET_JSON_OBJECT(x, '$[\"k y\"]')", "GET_JSON_OBJECT(x, '$..z')", "GET_JSON_OBJECT(x, y)",
        "TRUNC(x, 'Q')", "TRUNC(x, y)", "DATE_TRUNC('Q', x)", "DATE_TRUNC(y, x)",
        "DATE_TRUNC('MONTH', x)", "DATE_FORMAT(x, '\\'%Y\\'yyyy')", "DATE_FORMAT(x, 'yyyy-MM-dd')",
        "TO_DATE(x, 'yyyy-MM-dd')", "TO_DATE(x)", "TO_TIMESTAMP(x, '\\'%\\'yyyy')",
        "FROM_UNIXTIME(x, '%s')", "UNIX_TIMESTAMP(x, '%s')",
        "DATE_FORMAT(TO_DATE(x, 'yyyy-MM-dd'), TO_CHAR(y, 'y'))",
    ],
)  # fmt: skip
def test_a_function_is_written_as_it_was(text: str) -> None:
    assert sqlglot.parse_one(text, read=DIALECT).sql(dialect=DIALECT) == text


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("x - interval 1 day 2 hours", "x - (INTERVAL '1' DAY + INTERVAL '2' HOURS)"),
        ("x - interval 1 day + y", "x - INTERVAL '1' DAY + y"),
        ("timediff(hour, x, y)", "TIMESTAMPDIFF(HOUR, x, y)"),
        ("any(to_char(x, 'y') > 'a')", "BOOL_OR(TO_CHAR(x, 'y') > 'a')"),
        ("x like any ('a', 'b')", "x LIKE ANY ('a', 'b')"),
        ("x >>> 1 + y", "SHIFTRIGHTUNSIGNED(x, 1 + y)"),
        ("x >>> 2 >>> -y", "SHIFTRIGHTUNSIGNED(SHIFTRIGHTUNSIGNED(x, 2), -y)"),
        ("cast(x as array<array<array<int>>>)", "CAST(x AS ARRAY<ARRAY<ARRAY<INT>>>)"),
    ],
)
def test_a_call_is_written_with_the_same_meaning(text: str, written: str) -> None:
    assert sqlglot.parse_one(text, read=DIALECT).sql(dialect=DIALECT) == written


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("from a join b using (k) select k", "SELECT k FROM a JOIN b USING (k)"),
        (
            "from a lateral view explode(xs) q as x select x where x > 1 order by x",
            "SELECT x FROM a LATERAL VIEW EXPLODE(xs) q AS x WHERE x > 1 ORDER BY x",
        ),
        (
            "select x from a, (from a full join b on a.k = b.k select a.k as x) q",
            "SELECT x FROM a CROSS JOIN (SELECT a.k AS x FROM a FULL JOIN b ON a.k = b.k) AS q",
        ),
        ("select x from values 1, 2 q(x)", "SELECT x FROM VALUES (1), (2) AS q(x)"),
        ("select col1 from values 1, 2 as q", "SELECT col1 FROM VALUES (1), (2) AS q"),
        ("values 1, 2 limit 1", "SELECT * FROM VALUES (1), (2) LIMIT 1"),
    ],
)
def test_a_query_is_written_with_the_same_meaning(text: str, written: str) -> None:
    assert parse(text).sql(dialect=DIALECT) == written
