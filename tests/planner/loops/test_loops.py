"""What a user sees of a loop: its rows, its refusal, its limits, its order."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from python_ivm.errors import (
    InvalidModel,
    LoopNotEnded,
    LoopNotExecutable,
    NotYetImplemented,
)
from python_ivm.explain.explain import explain
from python_ivm.loops.run import Relation
from python_ivm.refresh.consistency import consistency_query, loop_to_run
from python_ivm.refresh.options import Options
from python_ivm.refresh.plan import Strategy
from python_ivm.rows.kinds import ValueType
from python_ivm.state.bookmark import cut_off
from tests.planner.lake import Lake

EDGES = [(1, 2), (2, 3), (3, 1), (3, 4), (3, 4), (None, 5), (6, None)]
REACHED = """with recursive reached as (
    select 1 as n
    union
    select e.b from reached r join s.edge e on e.a = r.n
) select n from reached"""


@pytest.fixture
def graph(lake: Lake) -> Lake:
    lake.create("edge", {"a": "int", "b": "int"}, EDGES)
    return lake


@pytest.mark.parametrize("late", ["", "ivm_delay."])
def test_reachability_follows_what_is_cut_and_joined(graph: Lake, late: str) -> None:
    sql = REACHED.replace("from reached r join", f"from {late}reached r join")
    graph.run("m", sql)
    assert graph.view("m") == {(1,): 1, (2,): 1, (3,): 1, (4,): 1}
    graph.change("edge", delete=[(2, 3)])
    assert graph.run("m", sql).strategy is Strategy.RECOMPUTE
    assert graph.view("m") == {(1,): 1, (2,): 1}
    graph.change("edge", insert=[(2, 6), (6, 3)])
    graph.run("m", sql)
    assert graph.view("m") == {(1,): 1, (2,): 1, (6,): 1, (None,): 1, (3,): 1, (4,): 1}
    assert graph.run("m", sql).strategy is Strategy.NOOP


def test_a_circle_within_a_round_forgets_what_it_proved_by_itself(graph: Lake) -> None:
    """Its start goes away in the second round; 2 and 3 lead to each other."""
    graph.create("circle", {"a": "int", "b": "int"}, [(1, 2), (2, 3), (3, 2)])
    sql = """with recursive
        once as (select 1 as n where not exists (select 1 from ivm_delay.late)),
        late as (select 1 as n union select n from ivm_delay.late),
        reached as (select n from once union
            select c.b from reached r join s.circle c on c.a = r.n)
        select n from reached"""
    graph.run("m", sql)
    assert graph.view("m") == {}


def test_bindings_in_any_order_and_a_state_that_goes_on(lake: Lake) -> None:
    """Orders by number, each allowed if the money lasts: what was allowed decides what is left."""
    lake.create("orders", {"n": "int", "price": "decimal(8,2)"},
                [(1, "60.00"), (2, "50.00"), (3, "30.00"), (4, "10.00")])  # fmt: skip
    sql = """with recursive
        step as (select n + 1 as n, cash - coalesce(paid, 0) as cash from paid_for),
        paid_for as (
            select c.n, c.cash, case when o.price <= c.cash then o.price end as paid
            from balance c join s.orders o on o.n = c.n),
        balance(n, cash) as (
            select 1, cast(100 as decimal(12, 2)) union all select n, cash from ivm_delay.step)
        select n, paid from paid_for where paid is not null"""
    lake.run("m", sql)
    assert {n for n, _ in lake.view("m")} == {1, 3, 4}
    lake.change("orders", delete=[lake.rows["orders"][-1][0]])
    lake.change("orders", insert=[(1, "40.00")])
    lake.run("m", sql)
    assert {n for n, _ in lake.view("m")} == {1, 2, 4}


def test_a_loop_without_an_order_is_refused_with_its_way_and_its_mending(graph: Lake) -> None:
    sql = (
        "with recursive\nkept as (\n  select a from s.edge e\n  where not exists (select 1 from\n"
        "    gone g where g.a = e.a)\n),\ngone as (\n  select a from kept where a > 1\n)\n"
        "select a from kept"
    )
    with pytest.raises(LoopNotExecutable) as caught:
        graph.run("m", sql)
    assert str(caught.value) == (
        "[IVM_LOOP_NOT_EXECUTABLE] model m, line 2, column 1: The loop kept's antijoin → "
        "kept (line 2) → gone (line 7) → kept has no delay, and its antijoin may take back the "
        "rows that it follows from. Read the round before by ivm_delay: of gone in kept (line 5) "
        "or of kept in gone (line 8)."
    )
    for name in ("gone g", "kept where"):
        with pytest.raises(LoopNotEnded, match="comes back to the same rows every 2 rounds"):
            graph.run("m", sql.replace(name, f"ivm_delay.{name}"))


@pytest.mark.parametrize(
    ("step", "error", "told"),
    [
        ("select sqrt(k) as k from ivm_delay.r", NotYetImplemented, "SQRT within a loop"),
        ("select k + 1 from ivm_delay.other", InvalidModel, "names no binding"),
        ("select k, 1 from ivm_delay.r", InvalidModel, "columns"),
        ("select rand() from ivm_delay.r", Exception, "rand"),
        ("select 'x' from ivm_delay.r", NotYetImplemented, "string"),
        ("select k * 1000 from ivm_delay.r", InvalidModel, "is no int"),
        ("select k + 1 from ivm_delay.r", LoopNotEnded, "after 20 rounds: r has 18 → 19 → 20 → 21"),
    ],
)
def test_what_a_loop_refuses(lake: Lake, step: str, error: type[Exception], told: str) -> None:
    lake.ansi = True
    lake.create("a", {"k": "int"}, [(1,)])
    sql = f"with recursive r as (select k from s.a union {step}) select k from r"
    with pytest.raises(error, match=told):
        lake.run("m", sql, options=Options.of({"ivm_max_rounds": 20}))


def test_a_result_that_was_cut_off_is_computed_anew(lake: Lake) -> None:
    lake.create("a", {"k": "int"}, [(1,)])
    step = "select k + 1 from ivm_delay.r"
    sql = f"with recursive r as (select k from s.a union {step}) select * from r"
    options = Options.of({"ivm_max_rows": 3, "ivm_on_limit": "return"})
    lake.run("m", sql, options=options)
    assert sorted(lake.view("m")) == [(1,), (2,), (3,), (4,)]
    assert not lake.looped.ended


def test_a_result_that_is_whole_again_is_no_more_computed_anew(lake: Lake) -> None:
    """Each run computed it again, and a view above was refused."""
    lake.create("a", {"k": "int"}, [(1,)])
    step = "select k + 1 from ivm_delay.r where k < 10"
    sql = f"with recursive r as (select k from s.a union all {step}) select * from r"
    lake.run("m", sql, options=Options.of({"ivm_max_rounds": 3, "ivm_on_limit": "return"}))
    newest, *others = lake.commits["m__ivm_state"]
    cut = replace(newest, user_metadata=cut_off(newest.user_metadata or ""))  # as a run does it
    lake.commits["m__ivm_state"] = [cut, *others]
    options = Options.of({"ivm_on_limit": "return"})
    found = [lake.run("m", sql, options=options).reason for _ in range(2)]
    assert found == ["LOOP_CUT_OFF", "UNCHANGED"]
    assert sorted(lake.view("m")) == [(k,) for k in range(1, 11)]


def test_a_circle_of_a_bag_within_a_round_ends_by_the_limit(graph: Lake) -> None:
    sql = REACHED.replace("union", "union all").replace(
        "recursive reached", "recursive x as (select 1 from reached), reached"
    )
    with pytest.raises(LoopNotEnded, match="within one round"):
        graph.run("m", sql, options=Options.of({"ivm_max_rows": 1000}))


@pytest.mark.parametrize("config", [{"ivm_max_rounds": 0}, {"ivm_max_rows": "many"},
                                    {"ivm_on_limit": "stop"}])  # fmt: skip
def test_limits_that_are_none(config: dict[str, object]) -> None:
    with pytest.raises(InvalidModel, match=next(iter(config))):
        Options.of(config)


def test_the_order_is_explained(graph: Lake) -> None:
    told = explain(graph.request("m", REACHED), graph)
    assert "↻ reached: join ←" in told
    assert "reached(n int)" in told
    assert "rows of s.edge (by Spark)" in told
    assert "FROM s.edge VERSION AS OF 0" in told


def test_the_view_is_compared_with_the_loop_run_from_nothing(graph: Lake) -> None:
    sql = REACHED.replace("from reached r", "from ivm_delay.reached r")
    graph.run("m", sql)
    graph.change("edge", delete=[(2, 3)])  # not yet in the view

    def differing() -> list[tuple[object, ...]]:
        loop = loop_to_run(("s", "m"), graph)
        assert loop is not None
        graph.show_loop(loop)
        return graph.db.execute(graph.duck(consistency_query(("s", "m"), graph))).fetchall()

    assert differing() == []
    graph.db.execute("delete from s.m__ivm_state where n = 3")
    assert [row[0] for row in differing()] == [3]


@pytest.mark.parametrize(
    ("below", "config"),
    [("select n from reached union select n from s.m", {}),
     ("select n from reached", {"ivm_step": "commit"})],
)  # fmt: skip
def test_rounds_and_steps_are_not_brought_together(
    graph: Lake, below: str, config: dict[str, object]
) -> None:
    sql = REACHED.replace("select n from reached", below)
    with pytest.raises(NotYetImplemented, match="Give the loop a maintained model of its own"):
        graph.run("m", sql, options=Options.of(config))


def test_a_text_is_no_reference_to_a_setting() -> None:
    """By Thrift Spark put the setting, or the server's environment, in its place."""
    told = Relation("v", (("a", ValueType("string")),), Counter({("${env:HOME} $ {b}",): 1}))
    assert """[{"a":"\\\\u0024{env:HOME} $ {b}"}]""" in told.view()


def test_names_of_columns_stay_names() -> None:
    told = Relation("v", (("a`b", ValueType("int")),), Counter({(1,): 2}))
    assert told.schema == "`a``b` int"
    assert told.view() == (
        "CREATE OR REPLACE TEMPORARY VIEW `v` AS\n"
        """SELECT INLINE(FROM_JSON('[{"a`b":1},{"a`b":1}]', 'array<struct<`a``b`: int>>'))"""
    )
