"""Runs that die inside a loop's rounds, or in the steps of models that feed on themselves.

By default some moments; `make test-crash` takes each statement of a run, and each round of a loop.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from dbt.adapters.sparkivm.bridge.warehouse import SparkWarehouse
from python_ivm.refresh.consistency import consistency_query
from python_ivm.rows.pipeline import Pipeline
from tests.conftest import DEFAULT_KILLS
from tests.spark.crash.faults import Fault, FaultyRunner, Killed, Moment, writes
from tests.spark.crash.world import new_process
from tests.spark.workbench import Bench, View

pytestmark = pytest.mark.spark

LOOP = (
    "with recursive paid as (select id, 0 as hops from t where id = 1 union "
    "select t.id, p.hops + 1 from ivm_delay.paid p join t on t.boss = p.id where p.hops < 9) "
    "select id, min(hops) as hops from paid group by id"
)
FOLD = (
    "select k, least(sum(v), 90) as v, max(n) as n from ("
    "select k, v, 1 as n from o /* ivm_new */ union all "
    "select k, v, n + 1 as n from {s}.m) q group by k"
)
LOG = "select k, sum(v) as v from o group by k"


def process(bench: Bench, view: View, fault: Fault | None) -> FaultyRunner:
    """A run in a process of its own."""
    through, runner = new_process(bench, fault)
    with suppress(Killed):
        through.view(view).run()
    return runner


def some(every: list[Any], number: int, config: pytest.Config) -> list[Any]:
    """All where more kills are asked for, and else some by chance."""
    if config.getoption("ivm_kills") > DEFAULT_KILLS:
        return every
    return random.Random(0).sample(every, min(number, len(every)))


def test_a_loop_that_dies_in_a_round(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, pytestconfig: pytest.Config
) -> None:
    """All rounds or none."""
    bench.table("t", "id int, boss int", "(1, null)", "(2, 1)", "(3, 2)", "(4, 3)", "(5, 4)")
    view = View(bench, "m", LOOP)
    view.run()
    send = Pipeline.send
    boss = 5
    for last in some(list(range(1, 7)), 2, pytestconfig):
        rounds = 0

        def dying(*arguments: Any, last: int = last) -> Any:
            nonlocal rounds
            rounds += 1
            if rounds == last:
                raise Killed
            return send(*arguments)

        before, commits = view.rows(), len(bench.history(view.state))
        boss += 1
        bench.sql(f"insert into t values ({boss}, {boss - 1})")
        with monkeypatch.context() as patch:
            patch.setattr(Pipeline, "send", dying)
            run = process(bench, view, None)
        assert rounds == last and not any(map(writes, run.run)), f"round {last}"
        assert (view.rows(), len(bench.history(view.state))) == (before, commits)
        process(bench, view, None)
        assert view.rows() == [(id, id - 1) for id in range(1, boss + 1)]


def test_a_loop_that_dies_at_a_statement(bench: Bench, pytestconfig: pytest.Config) -> None:
    bench.table("t", "id int, boss int", "(1, null)", "(2, 1)")
    view = View(bench, "m", LOOP)
    view.run()
    bench.sql("insert into t values (3, 2)")
    number = len(process(bench, view, None).run)
    boss = 3
    for place in some(list(range(number)), 2, pytestconfig):
        before = view.rows()
        boss += 1
        bench.sql(f"insert into t values ({boss}, {boss - 1})")
        moment = random.Random(place).choice(list(Moment))
        process(bench, view, Fault(moment, place, False, 0.2))
        after = [(id, id - 1) for id in range(1, boss + 1)]
        assert view.rows() in (before, after), (place, moment)
        process(bench, view, None)
        assert view.rows() == after, (place, moment)


def by_commit(bench: Bench, first: int) -> None:
    """Three steps are pending: three commits."""
    for number in range(3):
        bench.sql(f"insert into o values ({number % 2}, {number + 1}, {first + number})")


def by_value(bench: Bench, first: int) -> None:
    """Three steps are pending: three values in one commit."""
    rows = ", ".join(f"({n % 2}, {n + 1}, {first + n})" for n in range(3))
    bench.sql(f"insert into o values {rows}")


STEPPED: dict[str, tuple[str, dict[str, str], Callable[[Bench, int], None]]] = {
    "by_commit": (FOLD, {"ivm_step": "commit"}, by_commit),
    "by_value": (FOLD, {"ivm_step": "day"}, by_value),
    "log": (LOG, {"ivm_step": "day", "ivm_output": "inserted"}, by_value),
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", STEPPED)
def test_steps_that_die(bench: Bench, name: str, pytestconfig: pytest.Config) -> None:
    """A run that dies in its steps, and the next one, make what one run would have made."""
    sql, options, pending = STEPPED[name]
    bench.table("o", "k int, v int, day int", "(0, 1, 1)")
    view = View(bench, "m", sql.format(s=bench.schema), dict(options))
    view.run()
    pending(bench, 2)
    plain = process(bench, view, None).run
    assert sum(map(writes, plain)) == 3, [sql for sql in plain if writes(sql)]
    kills = [(moment, place, True) for moment in Moment for place in range(3)]
    kills += [(Moment.BEFORE, place, False) for place in range(len(plain))]
    day = 5
    for moment, place, writing in some(kills, 2, pytestconfig):
        told = f"{moment} {place} {writing}"
        commits = len(bench.history(view.state))
        pending(bench, day)
        day += 3
        dead = process(bench, view, Fault(moment, place, writing, 0.3))
        assert dead.died, told
        process(bench, view, None)
        assert len(bench.history(view.state)) == commits + 3, told
        replay = consistency_query((bench.schema, "m"), SparkWarehouse(bench.query))
        assert bench.sql(replay) == [], told
        assert not any(map(writes, process(bench, view, None).run)), told
