"""``identifier()`` with a constant is the name that it spells."""

from __future__ import annotations

import pytest

from python_ivm.errors import Unsupported
from python_ivm.parse.parser import DIALECT, parse, pin_versions, table_references
from tests.planner.lake import Lake

TABLES = {
    "identifier('a')": ("a",),
    "identifier('s.a')": ("s", "a"),
    "IDENTIFIER ( 's' || '.' || \"a\" )": ("s", "a"),
    "identifier(concat('s.', ('a')))": ("s", "a"),
    "identifier('s.' 'a')": ("s", "a"),
    "identifier(r's.a')": ("s", "a"),
    "identifier('`my catalog`.s.`a``b`')": ("my catalog", "s", "a`b"),
}


@pytest.mark.parametrize("text", TABLES)
def test_a_table(text: str) -> None:
    sql = f"select x.k\n  from {text} as x"
    (found,) = table_references(parse(sql))
    assert found.parts == TABLES[text]
    assert sql[found.start : found.end] == text
    assert (found.line, found.column) == (2, 8)
    assert pin_versions(sql, {found.key: 3}) == sql.replace(text, f"{text} VERSION AS OF 3")


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("identifier('k')", "`k`"),
        ("identifier('a.k')", "`a`.`k`"),
        ("identifier('a').k", "`a`.k"),
        ("identifier('upper')(k)", "UPPER(k)"),
        ("k as identifier('other')", "k AS `other`"),
        ("identifier(k)", "IDENTIFIER(k)"),
        ("identifier('not a name')", "IDENTIFIER('not a name')"),
    ],
)
def test_columns_functions_and_aliases(text: str, written: str) -> None:
    query = parse(f"select {text} from a group by identifier('k')")
    assert query.sql(dialect=DIALECT) == f"SELECT {written} FROM a GROUP BY `k`"


def test_a_model_follows_such_a_table() -> None:
    lake = Lake()
    lake.create("a", {"k": "int", "v": "int"}, [(1, 2), (2, 3)])
    sql = (
        "with q as (select identifier('k') as k, v from identifier('s' || '.a')) "
        "select k, identifier('sum')(v) as t from identifier('q') group by identifier('k')"
    )
    lake.run("m", sql)
    lake.change("a", insert=[(1, 5)], delete=[(2, 3)])
    assert lake.run("m", sql).strategy.value == "incremental"
    assert sorted(lake.db.execute("select * from s.m").fetchall()) == [(1, 7)]


def test_what_is_no_constant_may_be_any_table() -> None:
    lake = Lake()
    lake.create("a", {"k": "int"}, [(1,)])
    with pytest.raises(Unsupported, match="identifier"):
        lake.run("m", "select k from identifier(lower('S.A'))")
