"""Generators, PIVOT and UNPIVOT: what a row makes comes and goes with it."""

from __future__ import annotations

import pytest

from python_ivm.bind.binder import bind
from python_ivm.bind.query import Query
from python_ivm.errors import NotYetImplemented
from python_ivm.parse.parser import parse
from python_ivm.qualify.schema import TableSchema
from python_ivm.refresh.statement import Strategy
from tests.planner.lake import Lake
from tests.planner.stories import View

COLUMNS = {"k": "int", "xs": "array<int>", "note": "string"}
WIDE = TableSchema(
    ("s", "w"),
    {
        "k": "int", "xs": "array<int>", "m": "map<string,int>", "j": "string",
        "st": "array<struct<a:int,b:string>>", "p": "struct<a:int,q:struct<c:int>>",
    },
)  # fmt: skip


@pytest.fixture
def arrays(lake: Lake) -> Lake:
    lake.create("t", COLUMNS, [(1, [1, 2, 2], "a"), (1, [1, 2, 2], "a"), (2, [], "b")])
    return lake


def bound(sql: str) -> Query:
    return bind(parse(sql), {WIDE.key: WIDE})


def test_made_rows_go_with_each_copy_of_their_row(arrays: Lake) -> None:
    view = View(arrays, "select k, x from s.t lateral view explode(xs) l as x")
    view.shows(*[(1, 1)] * 2, *[(1, 2)] * 4)
    arrays.change("t", delete=[(1, [1, 2, 2], "a")], insert=[(3, None, "c"), (2, [None], "b")])
    view.refresh()
    view.shows((1, 1), (1, 2), (1, 2), (2, None))


def test_an_outer_row_stays_until_its_array_is_filled(arrays: Lake) -> None:
    view = View(arrays, "select k, x from s.t lateral view outer explode(xs) l as x where k > 1")
    view.shows((2, None))
    arrays.change("t", delete=[(2, [], "b")], insert=[(2, [5], "b")])
    view.refresh()
    view.shows((2, 5))


def test_a_change_that_makes_the_same_rows_writes_nothing(arrays: Lake) -> None:
    view = View(arrays, "select k, x from s.t lateral view explode(xs) l as x")
    arrays.change("t", delete=[(1, [1, 2, 2], "a")], insert=[(1, [2, 1, 2], "z"), (7, [], "z")])
    assert view.touched() == []
    view.refresh()


def test_the_least_element_of_a_group_that_lost_it(arrays: Lake) -> None:
    """The groups are looked up behind LATERAL VIEWs, where no join can stand."""
    view = View(arrays, "select k, min(x) lo from s.t lateral view explode(xs) l as x group by k")
    arrays.change("t", delete=[(1, [1, 2, 2], "a")] * 2, insert=[(1, [3, 2], "a"), (2, [4], "b")])
    view.refresh()
    view.shows((1, 2), (2, 4))


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


def test_a_pivoted_count_without_rows_is_null_beside_numbers(lake: Lake) -> None:
    """Spark groups by the value first; DuckDB counts 0, so that it is no judge here."""
    lake.create("t", {"k": "int", "g": "int", "v": "int"}, [(1, 1, 5), (2, 1, None)])
    sql = "select * from s.t pivot (count(v) as n, sum(v) as t for k in (1, 2 as two, 3))"
    lake.run("m", sql)
    assert lake.view("m") == {(1, 1, 5, 0, None, None, None): 1}
    lake.change("t", delete=[(1, 1, 5)], insert=[(3, 1, 1), (9, 2, 2)])
    assert lake.run("m", sql).strategy is Strategy.INCREMENTAL
    assert lake.view("m") == {
        (1, None, None, 0, None, 1, 1): 1,
        (2, None, None, None, None, None, None): 1,
    }


def test_a_pivoted_count_without_rows_is_zero_beside_text(lake: Lake) -> None:
    lake.create("t", {"k": "int", "g": "int", "v": "string"}, [(1, 1, "x")])
    sql = "select * from s.t pivot (count(v) as n, max(v) as hi for k in (1, 2))"
    lake.run("m", sql)
    assert lake.view("m") == {(1, 1, "x", 0, None): 1}
    lake.change("t", delete=[(1, 1, "x")], insert=[(2, 1, "y")])
    assert lake.run("m", sql).strategy is Strategy.INCREMENTAL
    assert lake.view("m") == {(1, 0, None, 1, "y"): 1}


def test_unpivot_leaves_out_rows_of_nulls_only(lake: Lake) -> None:
    """DuckDB leaves out rows with any NULL."""
    lake.create("t", {"a": "int", "b": "int"}, [(1, None), (None, None)])
    sql = "select * from s.t unpivot ((x, y) for name in ((a, b), (b, a) as other))"
    lake.run("m", sql)
    assert lake.view("m") == {("a_b", 1, None): 1, ("other", None, 1): 1}
    lake.change("t", delete=[(1, None)])
    assert lake.run("m", sql).strategy is Strategy.INCREMENTAL
    assert lake.view("m") == {}
