"""Paths into variants become calls of variant_get; other colons stay what they are."""

from __future__ import annotations

import pytest

from python_ivm.errors import NotParsed
from python_ivm.parse.parser import DIALECT, parse

PATHS = {
    "v:a": ("v", "$.a"),
    "t.v:a.B": ("t.v", "$.a.B"),
    "v:Date.key": ("v", "$.Date.key"),
    "v:['x y'].b": ("v", "$['x y'].b"),
    'v:[0]["it\'s"]': ("v", '$[0]["it\'s"]'),
    "v:`c d`.e[1].f": ("v", "$['c d'].e[1].f"),
    "m['k']:a": ("m['k']", "$.a"),
    "parse_json(j):a.b": ("PARSE_JSON(j)", "$.a.b"),
    "(v):a": ("(v)", "$.a"),
}


@pytest.mark.parametrize("text", PATHS)
@pytest.mark.parametrize(
    ("around", "written"),
    [
        ("{}", "{}"),
        ("{}::int + 1", "CAST({} AS INT) + 1"),
        ("sum({}::int)", "SUM(CAST({} AS INT))"),
        ("CASE WHEN {}::int > 1 THEN {} END", "CASE WHEN CAST({} AS INT) > 1 THEN {} END"),
    ],
)
def test_a_path(text: str, around: str, written: str) -> None:
    of, path = PATHS[text]
    literal = path.replace("'", "\\'")
    call = f"VARIANT_GET({of}, '{literal}', 'variant')"
    sql = parse(f"select {around.replace('{}', text)} as x from t").sql(dialect=DIALECT)
    assert sql == f"SELECT {written.replace('{}', call)} AS x FROM t"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("v:a", "a"), ("v:a.bC", "bC"), ("v:a['x y'][0]", "x y"), ("v:a.b::int", "b"),
        ("v:[0]", ""), ("v:a as c", "c"), ("v:a + 1", ""),
    ],
)  # fmt: skip
def test_a_column_is_named_by_its_last_field(text: str, name: str) -> None:
    assert parse(f"select {text} from t").selects[0].alias == name


@pytest.mark.parametrize(
    "text",
    [
        "SELECT CAST(x AS STRUCT<a: INT, b: MAP<STRING, STRUCT<c: INT>>>) AS y FROM t",
        "SELECT CAST(x AS ARRAY<STRUCT<a: STRUCT<b: INT>>>) AS y FROM t WHERE k < 3",
    ],
)
def test_the_colon_of_a_type(text: str) -> None:
    assert parse(text).sql(dialect=DIALECT) == text


@pytest.mark.parametrize("text", ["v:a.['b']", "v:[k]", "v:1"])
def test_what_is_no_path(text: str) -> None:
    with pytest.raises(NotParsed):
        parse(f"select {text} from t")
