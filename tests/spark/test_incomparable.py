"""Maps, variants and collated strings: Spark cannot compare them, and the views follow them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from dbt.adapters.sparkivm.bridge.warehouse import SparkWarehouse
from python_ivm.refresh.consistency import consistency_query
from tests.spark.workbench import Bench, View

COLUMNS = (
    "id int, k int, v int, m map<string, int>, n struct<mm: map<string, array<map<int, string>>>>, "
    "st array<struct<a: int, m: map<string, int>>>, j variant, s string"
)
ROW = (
    "({id}, {k}, {v}, {m}, named_struct('mm', map('x', array(map({v}, 'y')))), "
    "array(struct({id}, {m})), parse_json('{j}'), '{s}')"
)


def row(id: int, k: int, v: int, m: str, j: str, s: str = "s") -> str:
    return ROW.format(id=id, k=k, v=v, m=f"map({m})", j=j, s=s)


MAINTAINED = {
    "deduplicated": "select * from r qualify row_number() over (partition by k order by v desc, "
    "id) = 1",
    "numbered": "select k, m, n, st, j, row_number() over (partition by k order by v) as n1 from r",
    "limited": "select k, v, m, j from (select * from r order by v limit 4) where k > 0",
    "chosen": "select k, first(m) as m, first(v) as v, last(n) as n, max_by(j, v) as j, "
    "min_by(st, v) as st from r group by k",
    "any_of_them": "select k, any_value(j) as j, count(*) as n from r group by k",
    "least": "select k, first(m) as m from r group by k",
    "above_groups": "select j:a::int as a, count(*) as n from (select k, last(j) as j from r "
    "group by k) group by j:a::int",
    "running": "select k, first_value(m) over (partition by k order by v) as f, last_value(j) "
    "over (partition by k order by v) as l, sum(v) over (partition by k order by v rows between "
    "1 preceding and current row) as t, m from r",
    "shown": "select k, m, n, st, j, array(j) as js from r where v > 0",
    "united": "select n, j from r where k = 1 union all select n, parse_json('{\"a\": 1}') from r",
    "ordered": "select n, j, v from r order by v, k",
    "collated": "select k, s collate UTF8_LCASE as c from r",
    "collated_ties": "select k, s collate UTF8_LCASE as c, row_number() over (partition by k "
    "order by v) as n from r",
    "intervals": "select k, extract(month from i) as mo, n from (select k, i, row_number() over "
    "(partition by k order by v) as n from (select k, v, make_interval(0, id) as i from r))",
    "paths": "select id, j:a::int as a, j:['b c'][0].d::string as d from r where j:a::int > 0",
    "paths_named": "select q.a, q.x from (select j:a, j:['b c'][0].d as x from r) q",
}
USUAL = ("chosen", "deduplicated", "shown")


@pytest.mark.thorough
@pytest.mark.parametrize(
    "names",
    [USUAL, sorted(MAINTAINED.keys() - {*USUAL})],
    ids=["usual", "others"],
)
def test_values_without_an_order(bench: Bench, names: Sequence[str]) -> None:
    bench.table(
        "r", COLUMNS,
        row(1, 1, 5, "'a', 1, 'b', 2", '{"a": 1, "b c": [{"d": "x"}]}'),
        row(2, 1, 5, "'b', 2, 'a', 1", '{"b c": [], "a": 1}', "S"),
        row(2, 1, 5, "'a', 1, 'b', 2", '{"a": "1"}'),
        row(3, 2, 7, "'c', 3", "null"),
        "(4, 2, 7, null, null, null, null, null)",
        "(5, 3, 1, null, named_struct('mm', null), array(null), parse_json('[1.5, 2]'), 't')",
    )  # fmt: skip
    for name in names:
        bench.view(MAINTAINED[name])
    bench.sql(
        f"insert into r values {row(9, 1, 6, chr(39) + 'z' + chr(39) + ', 1', '7')}, "
        f"{row(3, 2, 7, chr(39) + 'c' + chr(39) + ', 4', 'null')}, "
        f"{row(2, 1, 5, chr(39) + 'a' + chr(39) + ', 2', '{}', 'S')}",
        "delete from r where id = 1",
    )
    bench.refresh()
    bench.sql(
        "update r set j = parse_json('{\"a\": 3}'), s = 'T' where id = 5",
        "delete from r where id = 9",
        "update r set m = map('q', 9) where k = 2",
    )
    bench.refresh()
    for view in bench.views:
        asked = consistency_query((bench.schema, view.name), SparkWarehouse(bench.query))
        assert not bench.sql(asked)


def test_a_view_with_a_variant_is_read_by_another_one(bench: Bench) -> None:
    bench.table(
        "r", COLUMNS, row(1, 1, 5, "'a', 1", '{"a": 1}'), row(1, 1, 5, "'a', 1", '{"a": 1}'),
        row(2, 2, 6, "'b', 1", '{"a": 2}'),
    )  # fmt: skip
    below = bench.view("select id, j, n from r")
    above = View(bench, "above", f"select id, j:a::int as a, n from {below.name} where id > 0")
    above.refresh("full")
    bench.sql("delete from r where id = 2", "update r set j = parse_json('{\"a\": 4}')")
    below.refresh()
    above.refresh()
    assert [r[:2] for r in above.rows()] == [(1, 4), (1, 4)]
