"""Generators, PIVOT and UNPIVOT: what a row makes comes and goes with it."""

from __future__ import annotations

import pytest

from python_ivm.bind.binder import bind
from python_ivm.bind.query import Query
from python_ivm.errors import NotYetImplemented
from python_ivm.parse.parser import parse
from python_ivm.qualify.schema import TableSchema

WIDE = TableSchema(
    ("s", "w"),
    {
        "k": "int", "xs": "array<int>", "m": "map<string,int>", "j": "string",
        "st": "array<struct<a:int,b:string>>", "p": "struct<a:int,q:struct<c:int>>",
    },
)  # fmt: skip


def bound(sql: str) -> Query:
    return bind(parse(sql), {WIDE.key: WIDE})


@pytest.mark.parametrize(
    ("sql", "columns"),
    [
        ("select explode(xs) from s.w", ("col",)),
        ("select explode(m) from s.w", ("key", "value")),
        ("select posexplode(m) from s.w", ("pos", "key", "value")),
        ("select posexplode_outer(xs) from s.w", ("pos", "col")),
        ("select inline(st) from s.w", ("a", "b")),
        ("select stack(2, k, 1, k + 1, 2) from s.w", ("col0", "col1")),
        ("select json_tuple(j, 'a', 'b') from s.w", ("c0", "c1")),
        ("select l.* from s.w lateral view inline_outer(st) l", ("a", "b")),
        ("select u.col from s.w, lateral explode(w.xs) u", ("col",)),
        ("select * from range(3) where exists (select 1 from s.w)", ("id",)),
        ("select *, explode(xs) as x from (select k, xs from s.w)", ("k", "xs", "x")),
        ("with c as (select xs as ys from s.w) select explode(ys) from c", ("col",)),
    ],
)
def test_columns_without_a_name_get_sparks(sql: str, columns: tuple[str, ...]) -> None:
    assert tuple(name.lower() for name in bound(sql).columns) == columns


def test_fields_of_structs_with_and_without_the_tables_name() -> None:
    assert bound("select p.a, p.q.c, w.p.q.c as d, s.w.k from s.w").columns == ("a", "c", "d", "k")


@pytest.mark.parametrize(
    ("sql", "operator"),
    [
        ("select k, explode(xs) x, count(*) n from s.w group by k, xs", "explode()"),
        ("select explode(xs) x, explode(xs) y from s.w", "explode()"),
        ("select explode(xs) + 1 as x from s.w", "A generator function inside an expression"),
        ("select explode(from_json(j, 'array<int>')) from s.w", "explode()"),
        ("select k from s.w left join lateral explode(xs) as u(x) on x > k", "LATERAL"),
        ("select k from s.w right join lateral explode(xs) as u(x) on true", "LATERAL"),
        ("select a.k from s.w a join s.w b on a.k = b.k pivot (sum(x) for y in (1))", "PIVOT"),
        ("select * from (select k, j from s.w) pivot (first(j) for k in (1))", "PIVOT"),
        ("select w.k from s.w, lateral (select k from s.w v where v.k < w.k limit w.k) u",
         "correlated subquery"),
    ],
)  # fmt: skip
def test_what_has_no_rule_says_so(sql: str, operator: str) -> None:
    with pytest.raises(NotYetImplemented) as caught:
        bound(sql)
    assert caught.value.operator == operator
