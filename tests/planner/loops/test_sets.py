"""Recursive sets follow what changed: reachability, ancestors, whatever a UNION closes."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

import pytest

from python_ivm.errors import InvalidModel, LoopNotEnded
from python_ivm.explain.explain import explain
from python_ivm.loops import set_rounds
from python_ivm.refresh.options import Options
from python_ivm.refresh.plan import Strategy
from python_ivm.rows import lookups
from tests.planner.lake import Lake
from tests.planner.loops.tables import Table

COLUMNS = {"a": "int", "b": "int", "w": "int"}
SETS = (
    # Reachability, from a table and from constants.
    """reached(n) as (select a from s.roots union
       select e.b from {late}reached r join s.edges e on e.a = r.n) select n from reached""",
    """reached(n) as (select 1 union select 2 union
       select e.b from {late}reached r, s.edges e where e.a = r.n and e.w > 0)
       select n, n + 1 as m from reached where n > 0""",
    # Pairs, the step's table filtered by a subquery, NULL equal to NULL.
    """closure(a, b) as (select a, b from s.edges where w <> 2 union
       select c.a, e.b from {late}closure c join s.edges e on e.a <=> c.b)
       select * from closure""",
    # Two tables in the step, and rows computed.
    """walk(n, k) as (select a, 0 from s.roots union
       select e.b, w.k + 1 from {late}walk w join s.edges e on e.a = w.n
       join s.roots r on r.b = e.w where w.k < 3) select k, n from walk order by k, n limit 9""",
    # What is joined is an aggregate; the anchor too.
    """big(n) as (select a from s.roots group by a having count(*) > 1 union
       select m.b from {late}big g join (select a, max(b) as b from s.edges group by a) m
       on m.a = g.n) select n from big""",
    # Nothing is joined.
    """upto(n) as (select a from s.roots where a is not null union
       select n + 1 from {late}upto where n < 5) select n from upto""",
    # No equality says where a row comes from.
    """near(n) as (select b from s.roots union
       select e.b from {late}near r join s.edges e on e.a between r.n and r.n + 1)
       select * from near""",
    # Two steps, which follow edges both ways.
    """near(n) as (select a from s.roots union
       select e.b from {late}near r join s.edges e on e.a = r.n union
       select e.a from {late}near r join s.edges e on e.b = r.n and e.w > 1)
       select n from near""",
    # Steps within a bag, within a set.
    """near(n, k) as (select a, 1 from s.roots union (
       select e.b, e.w from {late}near r join s.edges e on e.a = r.n union all
       select r.n, 0 from {late}near r where r.n > 3))
       select n, k from near where k < 3""",
    # Two bindings that read each other, of one shape.
    """even(n) as (select a from s.roots union
       select e.b from {late}odd o join s.edges e on e.a = o.n),
       odd(n) as (select distinct e.b from {late}even v join s.edges e on e.a = v.n)
       select n from odd where n is not null""",
    # Three of other shapes; one reads itself.
    """one(n, w) as (select a, b from s.roots union
       select e.b, e.w from {late}two t join s.edges e on e.a = t.n and e.w <= t.k),
       two(k, t, n) as (select distinct o.w + 1, 'x', o.n from {late}one o where o.n is not null),
       three(t) as (select t || 'y' from {late}two union
       select concat(t, 'z') from {late}three where t = 'xy')
       select t, k from two order by t, k""",
)
OF_DUCKDB = {
    7: """near(n) as (select a from s.roots union (
       select e.b from near r join s.edges e on e.a = r.n union all
       select e.a from near r join s.edges e on e.b = r.n and e.w > 1))
       select n from near""",
    9: """all_of(is_odd, n) as (select false, a from s.roots union
       select not is_odd, e.b from all_of join s.edges e on e.a = n)
       select n from all_of where is_odd and n is not null""",
    10: """all_of(is_two, n, w) as (select false, a, b from s.roots union (
       select true, n, w + 1 from all_of where not is_two and n is not null union all
       select false, e.b, e.w from all_of join s.edges e on e.a = n and e.w <= all_of.w
       where is_two))
       select 'x' as t, w as k from all_of where is_two""",
}
"""The same for DuckDB, which knows one binding and one step."""


def rows(chance: random.Random, most: int) -> list[tuple[int | None, ...]]:
    def value() -> int | None:
        return None if chance.random() < 0.08 else chance.randint(0, 7)

    return [(value(), value(), chance.randint(0, 3)) for _ in range(chance.randint(0, most))]


def life(lake: Lake, number: int, late: str, chance: random.Random) -> Counter[Strategy]:
    """Let tables change, and see each time that the model shows what its query gives."""
    sql = models(late)[number]
    lake.size_of = lambda name: 1000
    for table, most in (("roots", 4), ("edges", 24)):
        lake.create(table, COLUMNS, rows(chance, most))
    judged = "with recursive " + OF_DUCKDB.get(number, SETS[number].format(late=""))
    judged = judged.replace("<=>", "is not distinct from")
    taken: Counter[Strategy] = Counter()
    for _ in range(5):
        taken[lake.run("m", sql).strategy] += 1
        # LIMIT is over all columns, so that the rows left are the same.
        expected = Counter(lake.db.execute(lake.duck(judged)).fetchall())
        assert lake.view("m") == expected, sql
        assert lake.view("m") == Counter(lake.db.execute("from s.m").fetchall())
        for table in chance.choice([("edges",), ("edges",), ("roots",), ("edges", "roots")]):
            gone = chance.sample(lake.rows[table][-1], min(len(lake.rows[table][-1]), 3))
            come = rows(chance, 3)
            lake.change(table, delete=gone[: chance.randint(0, 3)], insert=come)
    return taken


def models(late: str) -> Sequence[str]:
    return ["with recursive " + text.format(late=late) for text in SETS]


@pytest.mark.parametrize("late", ["", "ivm_delay."])
@pytest.mark.parametrize("number", range(len(SETS)))
def test_it_shows_what_its_query_gives(number: int, late: str, pytestconfig: pytest.Config) -> None:
    taken: Counter[Strategy] = Counter()
    for seed in range((pytestconfig.getoption("ivm_examples") or 20) // 10):
        taken += life(Lake(), number, late, random.Random(seed * 1000 + number))
    assert taken[Strategy.INCREMENTAL] > 0
    assert taken[Strategy.RECOMPUTE] == 0 or number == 4  # an aggregate may be dearer to follow


@pytest.mark.usefixtures("looked_up")
@pytest.mark.parametrize("most", [0, 1, 1000])
@pytest.mark.parametrize("number", range(len(SETS)))
def test_it_does_so_where_rows_are_looked_up(
    number: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(set_rounds, "_LOOKUPS", most)
    monkeypatch.setattr(lookups, "_LOOKUPS", most)
    asked = Table.asked
    for seed in range(3):
        life(Lake(), number, "", random.Random(seed * 7000 + number))
    assert most == 0 or number == 5 or Table.asked > asked


def explained(lake: Lake, number: int) -> str:
    lake.create("roots", COLUMNS, [(1, 2, 0)])
    lake.create("edges", COLUMNS, [(1, 2, 0)])
    sql = models("")[number]
    lake.run("m", sql)
    return explain(lake.request("m", sql), lake)


def test_it_is_explained(lake: Lake) -> None:
    told = explained(lake, 0)
    assert "RecursiveSet reached (n, __ivm_round__)" in told
    assert "FROM ivm_loop_reached_changed AS reached_changed" in told
    assert "When s.edges changes" in told
    assert "A change that is too large to follow runs the loop anew" in told


def test_bindings_that_feed_each_other_are_explained_as_one_set(lake: Lake) -> None:
    told = explained(lake, 9)
    assert "RecursiveSet even_odd (n, __ivm_binding__, __ivm_round__)" in told
    assert "ivm_loop_even_odd_changed" in told


@pytest.mark.parametrize(
    ("more", "model"),
    [
        ("select r.n from reached r join s.roots o on o.a = r.n", "a join behind it"),
        ("select count(*) as n from reached", "an aggregate behind it"),
    ],
)
def test_what_reads_more_than_its_rows_is_run_anew(lake: Lake, more: str, model: str) -> None:
    lake.size_of = lambda name: 1000
    lake.create("roots", COLUMNS, [(1, 2, 0)])
    lake.create("edges", COLUMNS, [(1, 2, 0)])
    sql = models("")[0].removesuffix("select n from reached") + more
    lake.run("m", sql)
    lake.change("edges", insert=[(2, 3, 0)])
    assert lake.run("m", sql).reason == "LOOP", model
    assert lake.view("m") == Counter(lake.db.execute(lake.duck(sql)).fetchall())


def test_a_change_without_an_end_is_an_error_and_writes_nothing(lake: Lake) -> None:
    lake.size_of = lambda name: 1000
    lake.create("t", {"n": "int", "most": "int"}, [(1, 5)])
    sql = (
        "with recursive up as (select n from s.t union "
        "select u.n + 1 from up u join s.t on u.n < t.most) select n from up"
    )
    options = Options.of({"ivm_max_rows": 100})
    lake.run("m", sql, options=options)
    lake.change("t", insert=[(1, 2_000_000)])
    before = lake.view("m"), len(lake.commits["m__ivm_state"])
    with pytest.raises(LoopNotEnded, match=r"up has .* rows"):
        lake.run("m", sql, options=options)
    assert len(lake.commits["m__ivm_state"]) == before[1]
    lake.change("t", delete=[(1, 2_000_000)])
    assert lake.run("m", sql, options=options).strategy is Strategy.INCREMENTAL
    assert lake.view("m") == {(n,): 1 for n in range(1, 6)}


def test_a_number_that_does_not_fit_is_an_error(lake: Lake) -> None:
    lake.size_of = lambda name: 1000
    lake.ansi = True
    lake.create("t", {"n": "int", "most": "bigint"}, [(1, 100)])
    sql = (
        "with recursive up as (select n from s.t union "
        "select u.n * 2 from up u join s.t on u.n < t.most) select n from up"
    )
    lake.run("m", sql)
    lake.change("t", insert=[(1, 2**40)])
    with pytest.raises(InvalidModel, match="does not fit its column"):
        lake.run("m", sql)


def test_a_column_without_a_type_is_an_error(lake: Lake) -> None:
    lake.create("edges", COLUMNS, [(1, 2, 0)])
    sql = (
        "with recursive f(a) as (select a from s.edges union select a from f),\n"
        "g(n) as (select distinct n from ivm_delay.g) select n from g"
    )
    with pytest.raises(InvalidModel, match="column n of g has no type") as caught:
        lake.run("m", sql)
    assert caught.value.line == 2


CHAIN = (
    "with recursive r(n) as (select 0 union select e.b from {late}r r join s.e e on e.a = r.n) "
    "select n from r"
)


@pytest.mark.parametrize(
    ("late", "options"),
    [
        ("", {"ivm_max_rows": 5}),
        ("ivm_delay.", {"ivm_max_rows": 5}),
        ("ivm_delay.", {"ivm_max_rounds": 4}),
        ("ivm_delay.", {"ivm_max_rounds": 4, "ivm_on_limit": "return"}),
    ],
)
def test_a_change_ends_at_the_limits_of_the_whole_set(
    late: str, options: dict[str, object]
) -> None:
    def lake_with(edges: Sequence[tuple[int, int]]) -> Lake:
        lake = Lake()
        lake.size_of = lambda name: 1000
        lake.create("e", {"a": "int", "b": "int"}, edges)
        return lake

    def shown(lake: Lake) -> object:
        try:
            lake.run("m", CHAIN.format(late=late), options=Options.of(options))
        except LoopNotEnded as error:
            return str(error)
        return lake.view("m")

    edges = [(0, 1), (1, 2), (2, 3)]
    lake = lake_with(edges)
    assert shown(lake) == {(n,): 1 for n in range(4)}
    for more in ((3, 4), (4, 5), (5, 6)):
        edges.append(more)
        lake.change("e", insert=[more])
        assert shown(lake) == shown(lake_with(edges))


@pytest.mark.parametrize(
    ("sql", "rows"),
    [
        # A binding of which no column is used, and another one that reads it by the same name.
        ("f(n) as (select a from s.roots union select 5 from g), "
         "g(n) as (select n from f union select n from g) select n from f", {1, 2, 5}),
        ("f(n, k) as (select a, b from s.roots union select 0, 1 from g union select k, n from f), "
         "g(n) as (select a from s.roots union select distinct 4 from g "
         "join s.roots z on z.a = g.n union select k from f) select n from g",
         {0, 1, 2, 3, 4, 7}),
        # A table of which no column is used.
        ("f(n) as (select a from s.roots union select n + 1 from f x, s.edges e where n < 4) "
         "select n from f", {1, 2, 3, 4}),
        # An anchor of a narrower type.
        ("f(n) as (select a from s.roots union "
         "select cast(e.b as bigint) from f join s.edges e on e.a = n) select n from f",
         {1, 2, 4, 5}),
    ],
)  # fmt: skip
def test_sets_that_failed_or_were_run_anew(lake: Lake, sql: str, rows: set[int]) -> None:
    lake.size_of = lambda name: 1000
    lake.create("roots", COLUMNS, [(1, 7, 0)])
    lake.create("edges", COLUMNS, [(1, 4, 0), (4, 5, 0), (9, 9, 0)])
    lake.run("m", f"with recursive {sql}")
    lake.change("roots", insert=[(2, 3, 0)])
    assert lake.run("m", f"with recursive {sql}").strategy is Strategy.INCREMENTAL
    assert {n for (n,) in lake.view("m")} == rows, lake.view("m")
