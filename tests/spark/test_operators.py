"""The operators of tests/planner/test_operators.py on a real Spark: it takes the emitted SQL, and
the rows are Spark's.

The default run takes every 140th query through one round, with ``--ivm-every 12`` every 12th
through three, with ``--ivm-all-on-spark`` all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from dbt.adapters.sparkivm.connection.delta_jar import SERVED
from tests.planner.test_operators import CHOICES, NESTED, QUERIES
from tests.spark.workbench import Bench

ROUNDS = (
    (
        "insert into a values (1, 3), (null, 2)",
        "delete from b where k = 1",
        "insert into c values (2, 2)",
    ),
    (
        "update a set k = 2 where k = 3",
        "insert into b values (1, 2), (null, null)",
        "update d set xs = array(2, 2, null), st = null where k = 2",
        "insert into d values (2, array(), map(), null, array(named_struct('a', 1, 'b', 'v')))",
    ),
    (
        "delete from a where v = 1",
        "update b set w = null where w = 2",
        "delete from c",
        "delete from d where k = 1",
        "update d set p = named_struct('a', 7, 'b', 'w'), m = map('z', 3) where k is null",
    ),
)


REFUSED_BY_SPARK = {
    "exists_grouped_qualify", "group_scalar", "group_scalar_range", "in_filter_scalar",
    "in_summed_qualify", "lateral_in_lateral", "scalar_with_outer_column",
}  # fmt: skip
"""Queries that only DuckDB takes: a subquery correlated by a group's key in SELECT or by a query
two levels out, columns of both queries in one aggregate, ORDER BY of what groups do not show."""

ALWAYS = {"lateral_view_max", "recursive_asking"}
"""Queries that only Spark has failed on: one that reads its state below a generator, and one whose
recursion was a query of its own within the MERGE."""


def test_views_stay_equal_to_their_queries(bench: Bench, pytestconfig: pytest.Config) -> None:
    every, rounds = [*QUERIES.items(), *CHOICES.items()], ROUNDS
    if not pytestconfig.getoption("ivm_all_on_spark"):
        step = pytestconfig.getoption("ivm_every")
        rounds = ROUNDS if step else ((*ROUNDS[0], *ROUNDS[1]),)
        every = [q for n, q in enumerate(every) if n % (step or 140) == 4 or q[0] in ALWAYS]
    chosen = [(name, sql) for name, sql in every if name not in REFUSED_BY_SPARK]
    bench.table("a", "k int, v int", "(1, 1)", "(1, 1)", "(2, 3)", "(3, 1)", "(null, 2)")
    bench.table("b", "k int, w int", "(1, 2)", "(1, 2)", "(2, 1)", "(null, 3)")
    bench.table("c", "w int, z int", "(2, 1)", "(1, null)", "(null, 3)")
    bench.table(
        "d",
        ", ".join(f"{name} {kind}" for name, kind in NESTED.items()),
        "(1, array(1, 2), map('x', 1), named_struct('a', 1, 'b', 'u'), array())",
        "(1, array(1, 2), map('x', 1), named_struct('a', 1, 'b', 'u'), array())",
        "(2, array(3), map('x', 1, 'y', null), named_struct('a', 2, 'b', null), "
        "array(named_struct('a', 1, 'b', 'u'), named_struct('a', 2, 'b', null)))",
        "(null, null, null, null, null)",
    )
    failures: list[str] = []
    unknown: list[str] = []
    for _, sql in chosen:
        sql = re.sub(r"\bs\.", f"{bench.schema}.", sql)
        try:
            bench.view(sql)
        except Exception as error:
            bench.views = [view for view in bench.views if view.sql != sql]
            # What a release of Spark cannot run is refused there; the newest one runs all.
            (failures if bench.knows(sql) else unknown).append(failed(sql, error))
    newest = bench.query("select version() as v")[0]["v"].startswith(list(SERVED)[-1])
    assert len(unknown) <= (0 if newest else len(chosen) // 4), "\n".join(unknown)
    for changes in rounds:
        bench.sql(*changes)
        for view in bench.views:
            with told(failures, view.sql):
                outcome = view.refresh(None)
                assert outcome.refresh.strategy.value != "full", outcome.refresh.explanation
    assert not failures, "\n".join(failures)


@contextmanager
def told(failures: list[str], sql: str) -> Iterator[None]:
    """Go on with the next query where one fails, and tell of all at the end."""
    try:
        yield
    except Exception as error:
        failures.append(failed(sql, error))


def failed(sql: str, error: Exception) -> str:
    return f"{sql}\n    {type(error).__name__}: {str(error)[:600]}"


@pytest.mark.thorough
def test_a_mark_beside_a_not_in_of_which_both_sides_change(bench: Bench) -> None:
    """Spark's optimizer fails on it: "key not found"."""
    bench.table("o", "id bigint, customer bigint", "(10, 1)", "(11, 1)", "(12, 2)", "(14, null)")
    bench.table("b", "id bigint, customer bigint", "(11, 1)")
    view = bench.view(
        "select id, customer, case when customer in (select customer from b) then 'b' end as mark "
        "from o where id not in (select id from b where b.customer = o.customer)"
    )
    bench.sql("insert into b values (null, 2)", "delete from o where id = 10")
    view.refresh()
    assert bench.query("set spark.sql.constraintPropagation.enabled")[0]["value"] == "true"
    bench.sql("delete from b where id is null", "update o set customer = 2 where id = 14")
    view.refresh()


@pytest.mark.thorough
def test_an_in_that_stays_one_where_all_rows_are_computed(bench: Bench) -> None:
    """Beside whatever else its SELECT has, of columns of other types, and in the old state, too."""
    bench.table("a", "k int, v int, d decimal(5, 2)", "(1, 1, 1.5)", "(2, 2, 2)", "(2, null, null)")
    bench.table("b", "k bigint, w int, d decimal(9, 4)", "(1, 1, 1.5)", "(2, 2, 3)", "(null, 2, 2)")
    selected = "a.k in (select k from b where w > 0)"
    for query in (
        f"select a.k, a.v from a where {selected}",
        "select a.k, a.v from a where (a.k, a.v) in (select b.k, c.v from b join a c on c.k = b.w)",
        "select a.k, count(*) as n from a where a.d in (select d from b) group by a.k",
        f"select a.k, x.w from a left join b x on x.w = a.v where {selected}",
        f"select a.k, x.w from a full join b x on x.w = a.v where {selected}",
        f"select a.k, e.n from a lateral view explode(array(a.v, 7)) e as n where {selected}",
        f"select a.k, sum(a.v) over (partition by a.k) as s from a where {selected}",
        f"select b.w, q.v from b left join (select a.k, a.v from a join b y on y.k = a.v "
        f"where {selected}) q on q.k = b.k",
        f"select max(a.v) as v from a where {selected} and a.v in (select w from b)",
        "select a.k from a where a.k in (select k from b where w in (select v from a))",
        f"select distinct a.v from a where {selected} or a.v = 1",
    ):
        bench.view(query)
    bench.sql("insert into a values (1, 2, 3), (null, 1, 2)", "delete from b where k = 2")
    bench.refresh(None)
    bench.sql("insert into b values (2, 1, 2), (2, 9, null)", "update a set k = 1 where v is null")
    bench.refresh(None)
