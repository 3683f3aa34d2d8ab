"""Stars inside functions, and of structs."""

from __future__ import annotations

import pytest

from python_ivm.parse.parser import DIALECT, parse
from python_ivm.qualify.qualify import qualify
from python_ivm.qualify.schema import Schemas, TableSchema

SCHEMAS: Schemas = {
    "s.a": TableSchema(("s", "a"), {"k": "int", "v": "int"}),
    "s.d": TableSchema(
        ("s", "d"), {"k": "int", "p": "struct<x:int,Y:string>", "e": "struct<ev:struct<f:int>>"}
    ),
}

SAME = {
    "select hash(*) as h from s.a": "select hash(k, v) as h from s.a",
    "select hash(A.*) as h from s.a": "select hash(k, v) as h from s.a",
    "select hash(s.a.*) as h from s.a": "select hash(k, v) as h from s.a",
    "select concat_ws('|', *, v) as c from s.a": "select concat_ws('|', k, v, v) as c from s.a",
    "select coalesce(*) as c, array(* except (k)) as r from s.a": "select coalesce(k, v) as c, "
    "array(v) as r from s.a",
    "select count(*) as n, count(distinct *) as d from s.a": "select count(*) as n, "
    "count(distinct k, v) as d from s.a",
    "select k from s.a where greatest(*) > 1": "select k from s.a where greatest(k, v) > 1",
    "select hash(b.*) as h, hash(*) as g from s.a join s.a b on a.k = b.v": "select "
    "hash(b.k, b.v) as h, hash(a.k, a.v, b.k, b.v) as g from s.a join s.a b on a.k = b.v",
    "with c as (select v as z from s.a) select hash(*) as h from (select * from c) q": "with c as "
    "(select v as z from s.a) select hash(z) as h from (select * from c) q",
    "select k, (select max(hash(*)) from s.a b) as h from s.a": "select k, "
    "(select max(hash(k, v)) from s.a b) as h from s.a",
    "select p.* from s.d": "select p.x as x, p.y as y from s.d",
    "select k, d.p.* from s.d": "select k, p.x as x, p.y as y from s.d",
    "select t.e.ev.* from s.d t": "select t.e.ev.f as f from s.d t",
    "select e.ev.* from (select e from s.d) q": "select e.ev.f as f from (select e from s.d) q",
    "select p.* from s.a p": "select k, v from s.a p",
    "select a.* from (s.a join s.d on a.k = d.k)": "select a.k, a.v from (s.a join s.d on "
    "a.k = d.k)",
}


@pytest.mark.parametrize("star", SAME)
def test_a_star_is_what_it_stands_for(star: str) -> None:
    found, expected = (qualify(parse(sql), SCHEMAS) for sql in (star, SAME[star]))
    assert found.sql(dialect=DIALECT, identify=True) == expected.sql(dialect=DIALECT, identify=True)
