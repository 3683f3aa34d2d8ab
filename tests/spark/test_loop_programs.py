"""Random loop programs over changing tables, on Spark, beside their definition on DuckDB."""

from __future__ import annotations

import re
from random import Random

import pytest

from python_ivm.errors import InvalidModel, LoopNotEnded, LoopNotExecutable, NotYetImplemented
from tests.planner.lake import Lake, bag
from tests.planner.loops.naive import NotEnded, evaluate, spark_sql
from tests.planner.loops.programs import program
from tests.planner.loops.test_programs import TYPES, change, rows
from tests.spark.workbench import FEED, Bench, View

pytestmark = [pytest.mark.spark, pytest.mark.thorough]

SLOW = {6, 10, 13, 14, 39, 42, 62, 64, 70}  # these take minutes, or have no end
LIMITS = {"ivm_max_rounds": 60, "ivm_max_rows": 2000}


def write(bench: Bench, lake: Lake, name: str) -> None:
    """Give Spark's table the rows that DuckDB's has."""
    bench.sql(f"delete from {name}")
    values = ", ".join(
        f"({'null' if a is None else a}, {'null' if b is None else b})"
        for a, b in lake.rows[name][-1]
    )
    if values:
        bench.sql(f"insert into {name} values {values}")


def through_changes(bench: Bench, name: str, seed: int) -> bool:
    """Build one program, and refresh it after a change; whether it could be run."""
    random = Random(seed)
    bindings, main = program(random)
    lake = Lake()
    for table in "tu":
        lake.create(table, TYPES, rows(random, 8))
        write(bench, lake, table)
    sql = spark_sql(bindings, main)
    if not any("{" in body for body in bindings.values()):
        return False
    view = View(bench, name, re.sub(r"\bs\.([tu])\b", rf"{bench.schema}.\1", sql), {**LIMITS})
    ran = False
    for _ in range(2):
        try:
            expected = evaluate(lake.db, bindings, main)
        except NotEnded:
            expected = None
        try:
            view.run()
        except (LoopNotExecutable, NotYetImplemented):
            return False
        except InvalidModel as error:
            assert "has no type" in str(error), sql  # nothing begins the binding
            return False
        except LoopNotEnded:
            assert expected is None, f"seed {seed}: {sql}\nended by its definition"
        else:
            if expected is not None:
                assert bag(view.rows()) == expected, f"seed {seed}: {sql}"
                ran = True
        write(bench, lake, change(lake, random))
    return ran


@pytest.mark.parametrize("first", [0, 30, 60])
def test_random_programs(bench: Bench, first: int) -> None:
    """Thirty seeds each; of all ninety some fifty programs can be run, and end."""
    for table in "tu":
        bench.sql(f"create table {table} (a int, b int) using delta {FEED}")
    seeds = [seed for seed in range(first, first + 30) if seed not in SLOW]
    ran = [seed for seed in seeds if through_changes(bench, f"m{seed}", seed)]
    print(f"{len(ran)} programs ran: {ran}")
    assert len(ran) >= 10
