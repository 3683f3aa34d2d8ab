"""Fields of structs and keys of maps keep their spelling, which Spark shows or looks for."""

from __future__ import annotations

import pytest

from python_ivm.algebra.nodes import Project
from python_ivm.bind.binder import bind
from python_ivm.errors import NotYetImplemented
from python_ivm.parse.parser import DIALECT, parse
from python_ivm.qualify.schema import TableSchema
from python_ivm.render.renderer import bare

COLUMNS = {
    "Id": "int", "p": "struct<Aa:int,m:map<string,int>>", "m": "map<string,string>",
    "ms": "array<map<string,string>>", "ps": "array<struct<Xy:int>>", "xs": "array<int>",
    "js": "string", "s": "string", "d": "date", "ts": "timestamp",
}  # fmt: skip
SCHEMAS = {"t": TableSchema(("t",), COLUMNS)}

FIELDS = {
    "struct(ID, t.Id as Nn, p.AA, m.Foo, m['Foo'], Id + 1)": "STRUCT(t.id AS `ID`, t.id AS `Nn`, "
    "t.p.aa AS `AA`, t.m.`Foo` AS `Foo`, t.m['Foo'] AS `Foo`, t.id + 1 AS col6)",
    "named_struct('orderId', Id, 'b c', 1)": "STRUCT(t.id AS `orderId`, 1 AS `b c`)",
    "named_struct(concat(s, 'a'), 1)": "NAMED_STRUCT(CONCAT(t.s, 'a'), 1)",
    "transform(ps, X -> struct(X.Xy as XX, X))": "TRANSFORM(t.ps, x -> STRUCT(x.`Xy` AS `XX`, "
    "x AS `X`))",
    "cast(p as struct<Qq: array<struct<A: int>>>)": "CAST(t.p AS STRUCT<`Qq`: ARRAY<STRUCT<`A`: "
    "INT>>>)",
    "m.Foo": "t.m.`Foo`",
    "T.M.Foo": "t.m.`Foo`",
    "ms[0].Foo": "t.ms[0].`Foo`",
    "P.AA": "t.p.aa",
    "P.M.Foo": "t.p.m.`Foo`",
    "ps[0].XY": "t.ps[0].xy",
    "ps.XY": "t.ps.xy",
    "transform(ms, x -> x.Foo)": "TRANSFORM(t.ms, x -> x.`Foo`)",
    "from_json(js, 'map<string, string>').Foo": "FROM_JSON(t.js, 'map<string, string>').`Foo`",
    "arrays_zip(XS, ps.xy, array(1))": "ARRAYS_ZIP(STRUCT(t.xs AS `XS`).`XS`, "
    "STRUCT(t.ps.xy AS xy).xy, STRUCT(ARRAY(1) AS `2`).`2`)",
}


def rendered(expression: str) -> str:
    """An expression over a table as the planner writes it."""
    plan = bind(parse(f"select {expression} as x from t"), SCHEMAS).plan
    assert isinstance(plan, Project)
    return bare(plan.items[0].expression).sql(dialect=DIALECT)


@pytest.mark.parametrize("text", FIELDS)
def test_fields_and_keys_are_spelled_as_in_the_query(text: str) -> None:
    assert rendered(text) == FIELDS[text]


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("select to_json(struct(*)) as js from t", "\\* here"),
        ("select arrays_zip(*) as z from t", "\\* here"),
        ("select cast(s as time) as c from t", "time"),
        ("select ms[0].A as a from t group by ms[0].a", "another spelling"),
        ("select p.m.A as a from t group by P.m.a", "another spelling"),
    ],
)
def test_what_the_planner_cannot_tell_is_not_done(sql: str, told: str) -> None:
    with pytest.raises(NotYetImplemented, match=told):
        bind(parse(sql), SCHEMAS)


def test_a_field_of_a_struct_is_one_group_in_all_spellings() -> None:
    sql = "select p.aA as a, P.AA + 1 as b, count(*) as n from t group by p.Aa, p.aa + 1"
    assert bind(parse(sql), SCHEMAS).columns == ("a", "b", "n")
