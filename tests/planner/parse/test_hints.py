"""Hints stand beside the tree, say how a build is computed, and are no part of the query."""

from __future__ import annotations

import re

import pytest
from sqlglot import exp

from python_ivm.parse.hints import Hint, hints_of
from python_ivm.parse.parser import essence, parse, table_references
from python_ivm.refresh.plan import Strategy
from tests.planner.lake import Lake

READ = {
    "BROADCAST(b)": [Hint("BROADCAST", (("b",),))],
    "broadcastjoin(s.b), MapJoin(`a b`)": [
        Hint("BROADCASTJOIN", (("s", "b"),)),
        Hint("MAPJOIN", (("a b",),)),
    ],
    "MERGE(a, b) COALESCE(2)": [Hint("MERGE", (("a",), ("b",))), Hint("COALESCE", (("2",),))],
    "SHUFFLE_HASH('b') */ /*+ REBALANCE": [Hint("SHUFFLE_HASH", (("b",),)), Hint("REBALANCE")],
    "REPARTITION_BY_RANGE(3, k, v)": [Hint("REPARTITION_BY_RANGE", (("3",), ("k",), ("v",)))],
    "SHUFFLE_REPLICATE_NL(b)": [Hint("SHUFFLE_REPLICATE_NL", (("b",),))],
    "SKEW('a', 'k'), RANGE_JOIN(b, 10), STREAMTABLE(b)": [],
    "UNKNOWN, another(b, 1, f(x))": [],
}


@pytest.mark.parametrize("text", READ)
def test_a_hint_is_read_and_is_no_table(text: str) -> None:
    sql = f"select /*+ {text} */ a.k, b.w from s.a join s.b on a.k = b.k"
    query = parse(sql)
    assert list(hints_of(query)) == READ[text]
    assert query.find(exp.Hint) is None
    assert [t.key for t in table_references(query)] == ["s.a", "s.b"]
    assert essence(sql) == essence(sql.replace(f"/*+ {text} */", ""))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("select payload:Timestamp from s.x", "select payload:timestamp from s.x"),
        ("select payload:a.Date from s.x", "select payload:a.date from s.x"),
        ("select to_json(struct(date, k)) from s.x", "select to_json(struct(Date, k)) from s.x"),
        ("select struct(Index) from s.x", "select struct(index) from s.x"),
    ],
)
def test_a_name_is_another_one_in_another_case_though_it_is_a_keyword(one: str, other: str) -> None:
    assert essence(one) != essence(other)


def test_keywords_and_functions_are_the_same_in_any_case() -> None:
    one = "select Struct(case when a then NULL end, null, True), MIN(Date) from s.x order by 1"
    other = "SELECT STRUCT(CASE when a then null END, NULL, true), min(date) FROM s.x ORDER BY 1"
    assert essence(one) == essence(other)


def test_each_select_has_its_own_hints() -> None:
    query = parse(
        "with q as (select /*+ MERGE(x) */ x.k from s.a x join s.b on x.k = b.k) "
        "select /*+ REPARTITION(2) */ distinct k, (select /*+ COALESCE(1) */ max(w) from s.b) "
        "from q union all from s.b |> select /*+ BROADCAST(b) */ k, w"
    )
    found = {hints_of(select) for select in query.find_all(exp.Select)}
    names = {hint.name for hints in found for hint in hints}
    assert names == {"MERGE", "REPARTITION", "COALESCE", "BROADCAST"}
    assert all(len(hints) <= 1 for hints in found)


@pytest.fixture
def lake() -> Lake:
    lake = Lake()
    lake.create("a", {"k": "int", "v": "int"}, [(1, 2), (2, 3)])
    lake.create("b", {"k": "int", "w": "int"}, [(1, 5)])
    return lake


def test_a_build_keeps_the_hints_and_a_refresh_does_not(lake: Lake) -> None:
    sql = (
        "with q as (select /*+ BROADCAST(y) */ x.k, y.w from s.a x join s.b y on x.k = y.k) "
        "select /*+ REPARTITION(2, k, gone), MERGE(g), SKEW('q') */ q.k as k, g.n from q "
        "left join (select k, count(*) as n from s.b group by k) g on q.k = g.k"
    )
    build = lake.run("m", sql).statements[0].sql
    assert hints_in(build) == ["BROADCAST(y)", "MERGE(g), REPARTITION(2, k)"]
    lake.change("b", insert=[(2, 7)])
    refresh = lake.refresh_and_check("m", sql, Strategy.INCREMENTAL)
    assert hints_in(refresh.statements[0].sql) == []


def test_other_hints_are_the_same_query(lake: Lake) -> None:
    sql = "select /*+ {} */ a.k, b.w from s.a join s.b on a.k = b.k"
    lake.run("m", sql.format("COALESCE(1)"))
    assert lake.run("m", sql.format("BROADCAST(a)")).reason == "UNCHANGED"
    build = lake.run("m", sql.format("BROADCAST(a)"), full_refresh=True).statements[0].sql
    assert hints_in(build) == ["BROADCAST(a)"]


@pytest.mark.parametrize(
    ("hint", "kept"),
    [
        ("REPARTITION(n)", ["REPARTITION(__ivm_count__)"]),
        ("REPARTITION_BY_RANGE(K)", ["REPARTITION_BY_RANGE(k)"]),
        ("REPARTITION(twice)", []),
        ("REPARTITION(3, twice)", ["REPARTITION(3)"]),
        ("REBALANCE", ["REBALANCE"]),
        ("BROADCAST", []),
    ],
)
def test_a_hint_over_columns_that_the_state_lacks(lake: Lake, hint: str, kept: list[str]) -> None:
    sql = f"select /*+ {hint} */ k, count(*) as n, count(*) * 2 as twice from s.a group by k"
    assert hints_in(lake.run("m", sql).statements[0].sql) == kept


def hints_in(sql: str) -> list[str]:
    """The hints of a statement, each on one line, without those of the text that it keeps."""
    body = sql.partition("\nAS\n")[2] or sql
    return [" ".join(found.split()) for found in re.findall(r"/\*\+ (.*?) \*/", body, re.DOTALL)]
