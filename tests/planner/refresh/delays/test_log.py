"""Logs of the rows that came into a query's result (``ivm_output: inserted``)."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest

from python_ivm.errors import InvalidModel, NotYetImplemented, Unsupported
from python_ivm.explain.explain import explain
from python_ivm.optimize.cost import Cost
from python_ivm.refresh.consistency import consistency_query
from python_ivm.refresh.options import Options
from python_ivm.refresh.plan import Refresh, Strategy
from python_ivm.refresh.reason import Reason
from python_ivm.refresh.strategy import plan_refresh
from tests.planner.lake import Lake, Row
from tests.planner.test_operators import CHANGES, QUERIES, TABLES, some

LOG = Options.of({"ivm_output": "inserted"})
LEFT_OUT = ("limit", "s.d", "|> ", "cast(k as string)")
"""Queries whose result is not one, or whose rows this test cannot compare as tuples."""


class Naive:
    """ISTREAM by its definition: a query's rows now, less those of the last step, as bags."""

    def __init__(self, lake: Lake, sql: str) -> None:
        self.lake, self.sql = lake, sql
        self.before: Counter[Row] = Counter()
        self.log: Counter[Row] = Counter()

    def step(self, number: int) -> None:
        now = self.lake.recomputed(self.sql)
        for row, times in (now - self.before).items():
            self.log[(*row, number)] += times
        self.before = now


def number_of(refresh: Refresh) -> int:
    """A refresh's number."""
    return next(s.fence[1] for s in refresh.statements if s.fence is not None)


def differing(lake: Lake, runs: int | None = None) -> list[Row]:
    """What ``ivm_consistent`` finds."""
    return lake.db.execute(lake.duck(consistency_query(("s", "m"), lake, runs))).fetchall()


def abc(rng: random.Random) -> Lake:
    lake = Lake()
    for table, columns in TABLES.items():
        lake.create(table, dict.fromkeys(columns, "int"), [some(rng) for _ in range(5)])
    return lake


def change(lake: Lake, rng: random.Random, read: list[str]) -> None:
    for table in rng.sample(read, rng.randint(1, len(read))):
        present = lake.rows[table][-1]
        gone, come = rng.choice(CHANGES)
        gone = min(len(present), gone)
        lake.change(table, delete=rng.sample(present, gone), insert=[some(rng)] * come)


SAME = [
    name
    for name, sql in QUERIES.items()
    if not any(part in sql for part in LEFT_OUT) and "floats" not in name
]


def through_rounds(name: str) -> set[Strategy]:
    rng = random.Random(f"log {name}")
    lake, sql, done = abc(rng), QUERIES[name], set()
    naive = Naive(lake, sql)
    naive.step(number_of(lake.run("m", sql, options=LOG)))
    for _ in range(3):
        change(lake, rng, [table for table in TABLES if f"s.{table}" in sql])
        refresh = lake.run("m", sql, options=LOG)
        if refresh.statements:
            naive.step(number_of(refresh))
        assert lake.view("m") == naive.log, refresh.explanation
        done.add(refresh.strategy)
    assert Strategy.FULL not in done
    floating = "double" in lake.types["m__ivm_state"].values()  # which DuckDB cannot compare
    if not floating and "pivot" not in sql:
        assert differing(lake) == []
    return done


def some_names(config: pytest.Config) -> list[str]:
    """All queries where more examples are asked for, and else every eighth."""
    return SAME if config.getoption("ivm_examples", None) else SAME[::11]


def test_a_log_holds_what_came(pytestconfig: pytest.Config) -> None:
    for name in some_names(pytestconfig):
        through_rounds(name)


def test_it_does_where_every_step_is_recomputed(
    monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
) -> None:
    monkeypatch.setattr(Cost, "is_more_expensive", lambda *plans: True)
    done = [through_rounds(name) for name in some_names(pytestconfig)[::2]]
    assert sum(Strategy.RECOMPUTE in found for found in done) > 0.8 * len(done)


SUMS = "select i, sum(v) as v from s.x group by i"


@pytest.fixture
def x(lake: Lake) -> Lake:
    lake.create("x", {"i": "int", "v": "int"}, [(1, 1), (1, 1), (2, 5)])
    return lake


def test_duplicates_come_each(x: Lake) -> None:
    sql = "select i from s.x"
    x.run("m", sql, options=LOG)
    assert x.view("m") == Counter({(1, 1): 2, (2, 1): 1})
    x.change("x", insert=[(1, 7), (3, 7), (3, 8)])
    x.run("m", sql, options=LOG)
    x.change("x", delete=[(1, 7), (1, 1)], insert=[(2, 9)])
    x.run("m", sql, options=LOG)
    assert x.view("m") == Counter({(1, 1): 2, (2, 1): 1, (1, 2): 1, (3, 2): 2, (2, 3): 1})
    assert x.run("m", sql, options=LOG).statements == ()
    assert differing(x) == []


def test_what_goes_and_comes_back_comes_again(x: Lake) -> None:
    x.run("m", SUMS, options=LOG)
    x.change("x", delete=[(2, 5)])
    x.run("m", SUMS, options=LOG)
    x.change("x", insert=[(2, 5)])
    x.run("m", SUMS, options=LOG)
    assert x.view("m") == Counter({(1, 2, 1): 1, (2, 5, 1): 1, (2, 5, 3): 1})
    # What came and went between two steps was there at none of them.
    x.change("x", insert=[(7, 7)])
    x.change("x", delete=[(7, 7)])
    x.run("m", SUMS, options=LOG)
    assert len(x.view("m")) == 3
    assert differing(x) == []


def test_a_step_for_each_commit(x: Lake) -> None:
    options = Options.of({"ivm_output": "inserted", "ivm_step": "commit"})
    x.run("m", SUMS, options=options)
    x.change("x", insert=[(7, 7)])
    x.change("x", delete=[(7, 7)], insert=[(1, 1)])
    x.run("m", SUMS, options=options)
    assert x.view("m") == Counter({(1, 2, 1): 1, (2, 5, 1): 1, (7, 7, 2): 1, (1, 3, 3): 1})
    assert differing(x) == [] and differing(x, 1) == []


def test_a_run_that_dies_between_two_steps(x: Lake) -> None:
    options = Options.of({"ivm_output": "inserted", "ivm_step": "commit"})
    x.run("m", SUMS, options=options)
    x.change("x", insert=[(7, 7)])
    x.change("x", insert=[(7, 1)])
    refresh = plan_refresh(x.request("m", SUMS, options=options), x)
    for statement in refresh.statements:
        x.execute("m", statement)
    x.run("m", SUMS, options=options)
    assert {row for row in x.view("m") if row[0] == 7} == {(7, 7, 2), (7, 8, 3)}


def test_a_wrong_step_is_found(x: Lake) -> None:
    x.run("m", SUMS, options=LOG)
    x.change("x", insert=[(7, 7)])
    x.run("m", SUMS, options=LOG)
    state = 's."m__ivm_state"'
    x.db.execute(f"update {state} set v = 8 where i = 7")
    assert {(row[0], row[1], row[2]) for row in differing(x)} == {(2, 7, 7), (2, 7, 8)}
    x.db.execute(f"update {state} set v = 7, ivm_step = 9 where i = 7")
    assert {(row[0], row[1], row[2]) for row in differing(x)} == {(2, 7, 7), (0, 7, 7)}


def test_a_source_that_cannot_be_followed(x: Lake) -> None:
    x.run("m", SUMS, options=LOG)
    x.change("x", delete=[(2, 5)], insert=[(1, 3)])
    newest = x.commits["x"][0]
    x.commits["x"][0] = replace(newest, operation="CREATE OR REPLACE TABLE AS SELECT")
    refresh = x.run("m", SUMS, options=LOG)
    assert (refresh.strategy, refresh.reason) == (Strategy.RECOMPUTE, "SOURCE_REPLACED")
    assert x.view("m") == Counter({(1, 2, 1): 1, (2, 5, 1): 1, (1, 5, 2): 1})
    assert differing(x) == []
    x.create("x", {"i": "int", "v": "int"}, [(1, 1)])
    with pytest.raises(Unsupported, match=r"SOURCE_RECREATED.*Nothing was written"):
        x.run("m", SUMS, options=LOG)


def test_a_feed_that_does_not_hold_what_it_should(x: Lake) -> None:
    x.run("m", SUMS, options=LOG)
    x.change("x", insert=[(1, 3)])
    gap = Reason("CHANGE_FEED_GAP", "the change feed has a gap")
    refresh = plan_refresh(x.request("m", SUMS, options=LOG), x, gap)
    assert (refresh.strategy, refresh.reason) == (Strategy.RECOMPUTE, "CHANGE_FEED_GAP")
    with pytest.raises(Unsupported, match="cannot be told"):
        plan_refresh(x.request("m", SUMS, options=LOG), x, gap, rebuild=True)


def test_a_full_refresh_begins_anew_and_says_so(x: Lake) -> None:
    x.run("m", SUMS, options=LOG)
    x.change("x", insert=[(1, 3)])
    x.run("m", SUMS, options=LOG)
    refresh = x.run("m", SUMS, options=LOG, full_refresh=True)
    assert "the log begins anew: the rows of its 2 steps before" in str(refresh.warning)
    assert x.view("m") == Counter({(1, 5, 3): 1, (2, 5, 3): 1})
    assert differing(x) == []
    refresh = x.run("m", SUMS)  # no log any more
    assert refresh.reason == "QUERY_CHANGED" and x.view("m") == Counter({(1, 5): 1, (2, 5): 1})


def test_a_model_above_follows_the_log(x: Lake) -> None:
    x.run("m", SUMS, options=LOG)
    above = "select ivm_step, count(*) as n from s.m group by ivm_step"
    x.run("steps", above)
    for number in range(3):
        x.change("x", insert=[(number, 3), (9, 1)])
        x.run("m", SUMS, options=LOG)
        assert x.run("steps", above).strategy is Strategy.INCREMENTAL
        x.check("steps")


def test_new_rows_of_a_log(x: Lake) -> None:
    sql = "select i, v from s.x /* ivm_new */"
    x.run("m", sql, options=LOG)
    x.change("x", delete=[(2, 5)], insert=[(3, 3)])
    x.run("m", sql, options=LOG)
    x.run("m", sql, options=LOG)
    assert x.view("m") == Counter({(1, 1, 1): 2, (2, 5, 1): 1, (3, 3, 2): 1})


def test_a_recursion_is_not_read_from_its_log(lake: Lake) -> None:
    """A model stores a recursion as a whole, and reads what it had from there; a log has less."""
    lake.create("x", {"i": "int", "v": "int"}, [(1, 2), (2, 3)])
    sql = (
        "with recursive r(n, hops) as (select v, 0 from s.x where i = 1 union all "
        "select x.v, r.hops + 1 from r join s.x on x.i = r.n) select n, hops from r"
    )
    naive = Naive(lake, sql)
    for gone, come in (((), ()), ((), [(3, 4)]), ([(2, 3)], ()), ((), [(2, 3), (4, 5)])):
        lake.change("x", delete=gone, insert=come)
        naive.step(number_of(lake.run("m", sql, options=LOG)))
        assert lake.view("m") == naive.log


def test_it_is_explained(x: Lake) -> None:
    told = explain(x.request("m", SUMS, options=LOG), x)
    assert "a log of the rows that come into the query's result" in told
    assert "ivm_step = the number of the refresh" in told


def test_what_cannot_be_a_log(x: Lake) -> None:
    with pytest.raises(Unsupported, match=r"LIMIT at the top.*qualify"):
        x.run("m", SUMS + " order by i limit 1", options=LOG)
    with pytest.raises(Unsupported, match="has a column ivm_step of its own"):
        x.run("m", "select i as ivm_step from s.x", options=LOG)
    with pytest.raises(Unsupported, match="shows the clock"):
        x.run("m", "select i, current_date() as d from s.x", options=LOG)
    with pytest.raises(NotYetImplemented, match="this }} in a model with ivm_output"):
        x.run("m", "select i from s.x union all select i from s.m", options=LOG)
    with pytest.raises(NotYetImplemented, match="A loop in a model that keeps a log"):
        loop = "with recursive r as (select i from s.x union select i + 1 from r where i < 3) "
        x.run("m", loop + "select i from r", options=LOG)
    with pytest.raises(InvalidModel, match="ivm_policy is full"):
        Options.of({"ivm_output": "inserted", "ivm_policy": "full"})
    with pytest.raises(InvalidModel, match="Config ivm_output is 'deleted'"):
        Options.of({"ivm_output": "deleted"})
