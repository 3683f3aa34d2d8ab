"""A table that equals the query becomes the state of a maintained view."""

from __future__ import annotations

import random
import re
from collections import Counter
from typing import Any

import pytest

from python_ivm.errors import InvalidModel, IvmError, Unsupported
from python_ivm.operate.adoption import Adoption, adoption
from python_ivm.operate.records import records
from python_ivm.refresh.options import Options
from python_ivm.refresh.plan import Strategy
from python_ivm.refresh.statement import StatementKind
from tests.planner.lake import Lake
from tests.planner.test_operators import QUERIES, TABLES, some

FOLLOWED = {
    "a bag": "select k, v from s.x where v > 0",
    "a join": "select x.k, v, name from s.x x left join s.y y on x.k = y.k",
    "in order": "select v, k from s.x order by k desc",
    "unions": "select k from s.x union all select k from s.y",
    "counts": "select k, count(*) as n, max(v) as most from s.x group by k",
    "sums": "select k, sum(v) as total, min(v) as least from s.x group by k",
    "distinct": "select distinct k from s.x",
    "expressions": "select k + 1 as l, sum(v) * 2 as twice, k from s.x group by k",
    "of all": "select count(*) as n, sum(v) as total from s.x",
    "counted distinct": "select k, count(distinct v) as n from s.x group by k",
    "top": "select k, v from (select *, row_number() over (partition by k order by v, k) as n "
    "from s.x) where n = 1",
}
DERIVED = {"a bag", "a join", "in order", "unions", "counts", "top"}
"""Of these all of the state follows from the table."""


@pytest.fixture
def xs(lake: Lake) -> Lake:
    lake.create("x", {"k": "int", "v": "int"}, [(1, 1), (1, 1), (1, None), (2, 5), (None, 7)])
    lake.create("y", {"k": "int", "name": "string"}, [(1, "one"), (1, "uno"), (3, "three")])
    return lake


def stand(lake: Lake, sql: str, *wrong: str) -> None:
    """A table of the query's rows under the model's name."""
    columns = dict(lake.describe(sql))
    rows = lake.db.execute(lake.duck(sql)).fetchall()
    lake.create("m", columns, rows)
    for statement in wrong:
        lake.db.execute(statement)
        lake.db.execute(statement.replace("s.m", 's."m@0"'))


def adopt(lake: Lake, sql: str, **options: Any) -> Adoption:
    request = lake.request("m", sql, view_exists=False, table_in_the_way=True)
    return adoption(request, lake, ("s", "m"), **options)


def differing(lake: Lake, planned: Adoption) -> int:
    return len(lake.db.execute(lake.duck(planned.difference)).fetchall())


def carry_out(lake: Lake, sql: str, planned: Adoption) -> None:
    lake.models["m"] = sql
    for statement in planned.statements:
        lake.execute("m", statement)
    lake.commits.pop("m")
    lake.types.pop("m")


@pytest.mark.parametrize("name", FOLLOWED)
def test_an_adopted_table_is_followed_on(xs: Lake, name: str) -> None:
    sql = FOLLOWED[name]
    stand(xs, sql)
    planned = adopt(xs, sql)
    assert differing(xs, planned) == 0
    assert (not planned.computed) == (name in DERIVED), planned.computed
    body = planned.statements[0].sql.split(" AS\n", 1)[-1].split("\nAS\n", 1)[-1]
    reads_sources = re.search(r"\bs\.[xy]\b", body) is not None
    assert reads_sources == bool(planned.computed)
    carry_out(xs, sql, planned)
    xs.check("m")
    assert xs.run("m", sql).strategy is Strategy.NOOP
    for insert, delete in (
        ([(1, 9), (8, 8)], []),
        ([], [(1, 1), (2, 5)]),
        ([(1, None)], [(1, 1), (None, 7)]),
    ):
        xs.change("x", insert=insert, delete=delete)
        xs.refresh_and_check("m", sql, Strategy.INCREMENTAL)
    (*_, first) = records(xs.commits["m__ivm_state"])
    assert (first.refresh, first.strategy, first.reason) == (1, "adopt", "ADOPTED")


def test_a_state_that_is_adopted_is_the_one_that_a_build_gives(xs: Lake) -> None:
    for sql in FOLLOWED.values():
        stand(xs, sql)
        carry_out(xs, sql, adopt(xs, sql))
        xs.run("built", sql)
        both = [
            set(xs.db.execute(f"select {names} from s.{model}__ivm_state").fetchall())
            for names in (", ".join(f'"{n}"' for n in xs.types["m__ivm_state"]),)
            for model in ("m", "built")
        ]
        assert both[0] == both[1], sql
        for state in ("m__ivm_state", "built__ivm_state"):
            xs.db.execute(f"drop view s.{state.split('__')[0]}; drop table s.{state}")
            for kept in (xs.commits, xs.types, xs.kept):
                kept.pop(state)  # type: ignore[attr-defined]
            xs.views.pop(state.split("__")[0])


def test_a_table_stands_for_older_versions(xs: Lake) -> None:
    sql = FOLLOWED["sums"]
    stand(xs, sql)
    xs.change("x", insert=[(1, 100)])
    assert differing(xs, adopt(xs, sql)) > 0
    planned = adopt(xs, sql, versions={"x": 0})
    assert differing(xs, planned) == 0 and planned.sources == {"s.x": 0}
    carry_out(xs, sql, planned)
    xs.refresh_and_check("m", sql, Strategy.INCREMENTAL)
    assert xs.run("m", sql).strategy is Strategy.NOOP


@pytest.mark.parametrize(
    ("wrong", "rows"),
    [
        ("delete from s.m where k = 2", 1),
        ("insert into s.m values (2, 5)", 1),
        ("update s.m set v = 6 where k = 2", 2),
        ("delete from s.m", 4),
    ],
)
def test_rows_that_differ_are_found_both_ways(xs: Lake, wrong: str, rows: int) -> None:
    sql = "select k, v from s.x"
    stand(xs, sql, wrong)
    assert differing(xs, adopt(xs, sql)) == rows


def test_groups_that_a_trusted_table_lacks_fail_the_build(xs: Lake) -> None:
    sql = FOLLOWED["sums"]
    stand(xs, sql, "delete from s.m where k = 2")
    planned = adopt(xs, sql, trusted=True)
    assert planned.repeated is not None
    assert xs.db.execute(xs.duck(planned.repeated)).fetchall() == []
    with pytest.raises(Exception, match="does not have the groups"):
        xs.db.execute(xs.duck(planned.statements[0].sql))


def test_groups_that_a_trusted_table_has_twice_are_found(xs: Lake) -> None:
    stand(xs, FOLLOWED["counts"], "insert into s.m from s.m where k = 1")
    planned = adopt(xs, FOLLOWED["counts"], trusted=True)
    assert xs.db.execute(xs.duck(str(planned.repeated))).fetchall() == [(2,)]
    stand(xs, FOLLOWED["a bag"])
    assert adopt(xs, FOLLOWED["a bag"], trusted=True).repeated is None


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("select k, sum(v) as t from s.x group by k having sum(v) > 1", "HAVING or LIMIT"),
        ("select k, v from s.x order by k limit 2", "HAVING or LIMIT"),
        ("select sum(v) as t from s.x group by k", "keys that the view does not show"),
        ("select k from s.x order by v", "keys that the view does not show"),
    ],
)
def test_what_does_not_follow_from_a_table_is_refused(xs: Lake, sql: str, message: str) -> None:
    stand(xs, sql)
    with pytest.raises(Unsupported, match=message) as error:
        adopt(xs, sql)
    assert "rebuild" in str(error.value)


def test_nothing_else_is_adopted(xs: Lake) -> None:
    sql = "select k, v from s.x"
    with pytest.raises(InvalidModel, match="does not exist"):
        adopt(xs, sql)
    xs.types["m"] = {"k": "int", "v": "int"}
    with pytest.raises(InvalidModel, match="no Delta table"):
        adopt(xs, sql)
    stand(xs, "select k, cast(v as bigint) as v, 1 as w from s.x")
    with pytest.raises(InvalidModel, match=r"no w.*v is bigint and not int"):
        adopt(xs, sql)
    stand(xs, "select k as a from s.x")
    with pytest.raises(InvalidModel, match="k is missing"):
        adopt(xs, sql)
    stand(xs, sql)
    for versions, message in (({"x": 7}, "no version 7"), ({"z": 0}, "names none")):
        with pytest.raises(InvalidModel, match=message):
            adopt(xs, sql, versions=versions)
    xs.run("m2", sql)
    with pytest.raises(IvmError, match="has a state already"):
        adoption(xs.request("m2", sql), xs, ("s", "x"))


def test_a_query_without_rules_keeps_its_plain_rows(xs: Lake) -> None:
    sql = (
        "select k, nth_value(v, 2) over (partition by k order by v range between 1 preceding and "
        "current row) as n from s.x"
    )
    stand(xs, sql)
    planned = adopt(xs, sql)
    assert [s.kind for s in planned.statements] == [
        StatementKind.BUILD,
        StatementKind.DROP_TABLE,
        StatementKind.CREATE_VIEW,
    ]
    carry_out(xs, sql, planned)
    xs.check("m")
    assert xs.run("m", sql).strategy is Strategy.NOOP


@pytest.mark.parametrize("every", [12, pytest.param(1, marks=pytest.mark.thorough)])
def test_whatever_the_operator_an_adopted_state_is_that_of_a_build(every: int) -> None:
    """Or it is refused; nested values and floating sums are compared on Spark."""
    refused, adopted = set(), set()
    for number, (name, sql) in enumerate(QUERIES.items()):
        if number % every or "s.d" in sql or "float" in name:
            continue
        lake = Lake()
        rng = random.Random(name)
        for source, columns in TABLES.items():
            rows = [some(rng) for _ in range(7)]
            lake.create(source, dict.fromkeys(columns, "int"), rows)
        lake.run("built", sql)
        try:
            lake.create("m", {"one": "int"}, [])
            lake.types["m"] = dict(lake.describe(sql))
            # As Delta would store them, with the types of the query.
            lake.db.execute('create or replace table s."m@0" as from s.built')
            planned = adopt(lake, sql)
        except Unsupported:
            refused.add(name)
            continue
        build = next(s for s in planned.statements if s.kind is StatementKind.BUILD)
        lake.execute("m", build)
        names = ", ".join(f'"{n}"' for n in lake.types["m__ivm_state"])
        both = [
            Counter(map(str, lake.db.execute(f"select {names} from s.{m}__ivm_state").fetchall()))
            for m in ("m", "built")
        ]
        assert both[0] == both[1], f"{name}: {sql}"
        adopted.add(name)
    assert len(adopted) > 5 * len(refused) and (refused or every > 1)


def test_a_log_adopts_no_table(xs: Lake) -> None:
    """The planner failed: a table has no steps."""
    xs.create("m", {"k": "int", "v": "int"}, [(1, 1)])
    log = Options.of({"ivm_output": "inserted"})
    with pytest.raises(Unsupported, match="came at each step"):
        adoption(xs.request("m", "select k, v from s.x", options=log), xs, ("s", "m"))
