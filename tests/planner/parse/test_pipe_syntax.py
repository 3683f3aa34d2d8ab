"""The pipe syntax: which SELECT each operator becomes, and what is left to Spark."""

from __future__ import annotations

import pytest

from python_ivm.errors import NotParsed, Unsupported
from python_ivm.parse.parser import DIALECT, parse, pin_versions, table_references
from python_ivm.refresh.strategy import plan_refresh
from tests.planner.lake import Lake
from tests.planner.stories import View


def read(sql: str) -> str:
    return parse(sql).sql(dialect=DIALECT)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("table t", "SELECT * FROM t"),
        ("from t |> where t.x = 1 |> where y or z", "SELECT * FROM t WHERE (t.x = 1) AND (y OR z)"),
        ("from t |> select x |> select x + 1", "SELECT x + 1 FROM (SELECT x FROM t) AS t"),
        (
            "from s.t as u |> where x > 1 |> select distinct u.x",
            "SELECT DISTINCT u.x FROM s.t AS u WHERE (x > 1)",
        ),
        (
            "from t |> extend x as y |> where y = t.x",
            "SELECT * FROM (SELECT *, x AS y FROM t) AS t WHERE (y = t.x)",
        ),
        (
            "from t |> set x = y, y = x |> drop z",
            "SELECT * EXCEPT (z) FROM (SELECT * REPLACE ((x) AS y) FROM (SELECT * REPLACE ((y) AS "
            "x) FROM t) AS t) AS t",
        ),
        ("from t |> as u |> where u.x", "SELECT * FROM (SELECT * FROM t) AS u WHERE (u.x)"),
        (
            "from t |> order by x |> where y |> limit 2 offset 1",
            "SELECT * FROM t WHERE (y) ORDER BY x LIMIT 2 OFFSET 1",
        ),
        (
            "from t |> limit 3 |> where x",
            "SELECT * FROM (SELECT * FROM t LIMIT 3) AS t WHERE (x)",
        ),
        (
            "from t |> left join u using (k) |> join v on t.a = v.a |> where u.b",
            "SELECT * FROM t LEFT JOIN u USING (k) JOIN v ON t.a = v.a WHERE (u.b)",
        ),
        (
            "from t |> where x |> full join u on t.k = u.k",
            "SELECT * FROM (SELECT * FROM t WHERE (x)) AS t FULL JOIN u ON t.k = u.k",
        ),
        (
            "from t, u |> full join v on x = y",
            "SELECT * FROM (SELECT * FROM t CROSS JOIN u) FULL JOIN v ON x = y",
        ),
        (
            "from t lateral view explode(xs) e as x |> where x > 1",
            "SELECT * FROM (SELECT * FROM t LATERAL VIEW EXPLODE(xs) e AS x) WHERE (x > 1)",
        ),
        (
            "from t |> aggregate sum(v) s, count(*) group by k, a + 1 as b, f(c) d",
            "SELECT k, a + 1 AS b, F(c) AS d, SUM(v) AS s, COUNT(*) FROM t GROUP BY k, a + 1, F(c)",
        ),
        ("from t |> aggregate group by k", "SELECT k FROM t GROUP BY k"),
        (
            "from t |> aggregate max(v) as m group by k |> where m > 1",
            "SELECT * FROM (SELECT k, MAX(v) AS m FROM t GROUP BY k) WHERE (m > 1)",
        ),
        ("from t |> aggregate max(v)", "SELECT MAX(v) FROM t"),
        (
            "from t |> select x |> union all table u |> where x",
            "SELECT * FROM ((SELECT x FROM t) UNION ALL SELECT * FROM u) WHERE (x)",
        ),
        (
            "values (1) t(x) |> minus values (2), (3) u(x)",
            "SELECT * FROM ((SELECT * FROM VALUES (1) AS t(x)) EXCEPT SELECT * FROM VALUES (2), "
            "(3) AS u(x))",
        ),
        (
            "select x, f(y) from t group by all |> where x",
            "SELECT * FROM (SELECT x, F(y) FROM t GROUP BY ALL) WHERE (x)",
        ),
        (
            "with q(a) as (from t |> select x), r as (select 1) from q, r |> where a",
            "WITH q(a) AS (SELECT x FROM t), r AS (SELECT 1) SELECT * FROM q CROSS JOIN r "
            "WHERE (a)",
        ),
        (
            "select x in (from u |> select y) from (table t |> select x) t;",
            "SELECT x IN (SELECT y FROM u) FROM (SELECT x FROM t) AS t",
        ),
        (
            "from t |> select sum(x) over w window w as (partition by y)",
            "SELECT SUM(x) OVER w FROM t WINDOW w AS (PARTITION BY y)",
        ),
        (
            "from t |> pivot (sum(x) for y in (1, 2)) |> where z",
            "SELECT * FROM (SELECT * FROM (SELECT * FROM t) AS t PIVOT(SUM(x) FOR y IN (1, 2))) "
            "WHERE (z)",
        ),
    ],
)
def test_each_operator_is_a_select_over_what_stands_before_it(sql: str, expected: str) -> None:
    assert read(sql) == expected


@pytest.mark.parametrize(
    ("sql", "named", "column"),
    [
        ("from t |> order by x |> limit 3 |> offset 1", "offset of rows whose order", 36),
        ("from t |> order by x |> select y |> limit 3", "limit of rows whose order", 37),
        ("select * from t order by x |> limit 3", "limit of rows whose order", 31),
        ("from t |> order by x order by y", "y as an operator", 31),
        ("from t |> frobnicate x", "frobnicate as an operator", 11),
        ("from t |> window w as (order by x)", "window as an operator", 11),
        ("from t |> aggregate count(*) group by rollup(x)", "rollup as an operator", 39),
        ("from t |> aggregate count(*) group by f((table u))", "f as an operator", 39),
        ("from t |> aggregate count(*) group by 1", "1 as an operator", 39),
        ("from t |> set x", "x as an operator", 15),
        ("from t |> as u, v", "u as an operator", 14),
        ("from t |> ", "|> as an operator", 8),
    ],
)
def test_what_is_left_to_spark(sql: str, named: str, column: int) -> None:
    with pytest.raises(NotParsed) as raised:
        parse(sql)
    assert named in raised.value.message
    assert (raised.value.line, raised.value.column) == (1, column)


def test_tables_are_found_where_the_text_names_them() -> None:
    sql = "table s.t |> join u using (k)\n|> union all (from s.v |> where x in (table s.t))"
    assert [sql[r.start : r.end] for r in table_references(parse(sql))] == [
        "s.t", "u", "s.v", "s.t",
    ]  # fmt: skip
    assert pin_versions(sql, {"s.t": 3, "s.v": 5}) == (
        "(SELECT * FROM s.t VERSION AS OF 3) |> join u using (k)\n|> union all (from s.v VERSION "
        "AS OF 5 |> where x in ((SELECT * FROM s.t VERSION AS OF 3)))"
    )


def test_a_pipe_in_a_string_or_a_comment_is_none() -> None:
    assert read("select '|>' as x from t -- |>") == "SELECT '|>' AS x FROM t /* |> */"


def test_a_view_in_pipe_syntax_is_taken_apart(lake: Lake) -> None:
    lake.create("a", {"k": "int", "v": "int"}, [(1, 5), (1, 5), (2, 7)])
    lake.define("keys", "from s.a |> where v > 1 |> select distinct k")
    view = View(lake, "with q as (table s.keys) from q |> aggregate count(*) as n, max(k) as k")
    lake.change("a", insert=[(3, 9), (4, 0)], delete=[(1, 5)])
    view.refresh()
    view.shows((3, 3))
    lake.change("a", delete=[(1, 5), (3, 9)])
    view.refresh()
    view.shows((1, 2))


def test_a_sample_is_refused_as_anywhere(lake: Lake) -> None:
    lake.create("a", {"k": "int"}, [(1,)])
    with pytest.raises(Unsupported, match="TABLESAMPLE"):
        plan_refresh(lake.request("m", "from s.a |> tablesample (50 percent) |> where k > 1"), lake)
