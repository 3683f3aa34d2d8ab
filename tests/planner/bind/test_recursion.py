"""Which recursive CTEs are bound, how they are written, and what says why the others are not."""

from __future__ import annotations

import pytest

from python_ivm.algebra.nodes import Recursion, WorkingTable
from python_ivm.bind.binder import bind
from python_ivm.errors import InvalidModel, LoopNotExecutable, NotYetImplemented
from python_ivm.parse.parser import parse
from python_ivm.qualify.schema import TableSchema
from python_ivm.refresh.plan import Strategy
from tests.planner.lake import Lake
from tests.planner.stories import View

SCHEMAS = {
    "s.a": TableSchema(("s", "a"), {"k": "int", "v": "int"}),
    "s.b": TableSchema(("s", "b"), {"k": "int", "w": "int"}),
}


def recursions(sql: str) -> list[Recursion]:
    return [n for n in bind(parse(sql), SCHEMAS).plan.walk() if isinstance(n, Recursion)]


def test_the_names_are_those_of_the_anchor() -> None:
    (found,) = recursions(
        "with recursive r as (select k, v + 1 as w from s.a union all select w, 2 as x from r "
        "where k < 3) select * from r"
    )
    assert found.names == ("k", "w")


def test_the_names_are_those_in_the_list() -> None:
    (found,) = recursions(
        "with recursive r(x, y) as (select k, v from s.a union all select y, x + 1 from r "
        "where x < 3) select * from r"
    )
    assert found.names == ("x", "y")


def test_a_step_may_name_the_last_round_twice() -> None:
    (found,) = recursions(
        "with recursive r as (select k from s.a union all select p.k + q.k from r p join r q "
        "on p.k = q.k where p.k < 3) select k from r"
    )
    working = [node for node in found.step.walk() if isinstance(node, WorkingTable)]
    assert {node.relation for node in working} == {"p", "q"}
    assert {node.recursion for node in working} == {found.relation}


def test_a_recursive_list_may_have_other_ctes() -> None:
    assert not recursions("with recursive x as (select k from s.a) select k from x")
    (found,) = recursions(
        "with recursive x as (select k from s.a), r as (select k from x union all "
        "select r.k + 1 from r join x using (k)), y as (select k from r) select k from y"
    )
    assert found.names == ("k",)


def test_a_cte_sees_itself_and_those_before_it() -> None:
    with pytest.raises(InvalidModel, match="r does not exist"):
        bind(parse("with x as (select k from r), r as (select 1 as k) select k from x"), SCHEMAS)


def test_bindings_of_a_recursive_list_may_name_later_ones(lake: Lake) -> None:
    lake.create("a", {"k": "int", "v": "int"}, [(1, 2)])
    sql = "with recursive x as (select k + 1 as k from r), r as (select k from s.a) select k from x"
    lake.run("m", sql)
    lake.change("a", insert=[(5, 0)])
    assert lake.run("m", sql).strategy is Strategy.INCREMENTAL
    assert lake.view("m") == {(2,): 1, (6,): 1}


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("select k from s.a union select k + 1 from r where k < 3", "not the UNION ALL"),
        ("select k from s.a intersect all select k + 1 from r where k < 3", "not the UNION ALL"),
        (
            "select k from s.a union all select k + 1 from r where k < 2 union all "
            "select k + 2 from r where k < 2",
            "first part names it",
        ),
        (
            "select k from s.a union all select distinct k + 1 as k from r where k < 3",
            "below an aggregate or DISTINCT",
        ),
        (
            "select k from s.a union all (select k + 1 as k from r where k < 3 union all "
            "select k + 2 from r where k < 3)",
            "below a set operation",
        ),
        (
            "select k from s.a union all by name select k + 1 as k from r where k < 3",
            "not the UNION",
        ),
        (
            "select k from s.a union all (with recursive q as (select k from r where k < 2 "
            "union all select k + 1 from q where k < 2) select k from q)",
            "below another recursion",
        ),
        (
            "select k from s.a union all select k + 1 from r where k < (select count(*) from s.b "
            "where b.w < r.k)",
            "below a subquery that is correlated by other than equalities",
        ),
    ],
)
def test_what_has_no_rule_says_why(sql: str, told: str) -> None:
    with pytest.raises(NotYetImplemented, match=told):
        bind(parse(f"with recursive r as ({sql}) select k from r"), SCHEMAS)


@pytest.mark.parametrize(
    ("step", "told"),
    [
        ("select max(k) + 1 from r where k < 3", "an aggregate"),
        ("select b.k from s.b left join r on r.k = b.w", "the optional side of an outer join"),
        ("select b.k from s.b where b.w not in (select k from r)", "a subquery"),
        ("select row_number() over (order by k) from r where k < 3", "a window function"),
    ],
)
def test_a_step_that_takes_rows_back_needs_a_delay(step: str, told: str) -> None:
    with pytest.raises(LoopNotExecutable, match=rf"below {told}.*ivm_delay\('r'\)"):
        bind(
            parse(f"with recursive r as (select k from s.a union all {step}) select k from r"),
            SCHEMAS,
        )


@pytest.mark.parametrize(
    "query",
    [
        "select k from r limit 3",
        "select count(*) as n from (select k from r limit 3) q",
        "select k from s.b where exists (select 1 from (select k from r) q limit 1)",
        "select k from x limit 1",
    ],
)
def test_a_limit_that_may_end_the_recursion_is_left_to_spark(query: str) -> None:
    ctes = (
        "with recursive r as (select k from s.a union all select k + 1 from r), "
        "x as (select k from r) "
    )
    with pytest.raises(NotYetImplemented, match="LIMIT without ORDER BY over a recursive CTE"):
        bind(parse(ctes + query), SCHEMAS)


def test_anchor_and_step_must_have_as_many_columns() -> None:
    with pytest.raises(InvalidModel, match="2 and 1 columns, and the CTE 2"):
        bind(
            parse("with recursive r as (select k, v from s.a union all select k from r) "
                  "select k from r"), SCHEMAS
        )  # fmt: skip


def test_what_reads_the_last_round_stands_within_the_step(lake: Lake) -> None:
    """Spark fails on a MERGE with a WITH RECURSIVE inside of a CTE: "key not found"."""
    lake.create("a", {"k": "int", "v": "int"}, [(1, 2), (2, 3), (2, 3), (None, 1)])
    lake.create("b", {"k": "int", "w": "int"}, [(1, 2), (3, 1)])
    view = View(
        lake,
        "with recursive x as (select k, v from s.a where v is not null), "
        "r as (select k, 0 as n from x union all select x.v, q.m from x join (select k, n + 1 as m "
        "from r where n < 3) q on q.k = x.k where exists (select 1 from s.b where b.w >= x.k)) "
        "select p.k, q.n from r p join r q on p.n = q.k",
    )
    lake.change("a", insert=[(3, 1)])
    lake.change("b", insert=[(4, 4)])
    sql = view.planned().sql
    assert sql.count("WITH") == sql.count("WITH RECURSIVE") == 1
    view.refresh()


def test_names_that_the_recursion_shares_with_relations_around(lake: Lake) -> None:
    lake.create("a", {"k": "int", "v": "int"}, [(1, 2), (2, 3), (2, 3), (None, 1)])
    view = View(
        lake,
        "with r as (select v as k from s.a) select r.k, q.n from r join ("
        "with recursive r as (select k, 0 as n from s.a r union all select a.v, n + 1 from r join "
        "s.a on a.k = r.k where n < 2) select r.k, r.n from r join r a on a.k = r.n) q "
        "on q.k = r.k",
    )
    lake.change("a", insert=[(3, 1), (0, 2)], delete=[(2, 3)])
    view.refresh()


CHAIN = (
    "with recursive r(k, d) as (select k, 0 as n from s.a union all select k + v, d + 1 from r "
    "join s.a using (k) where d < 2) "
)


@pytest.mark.parametrize(
    "sql",
    [
        "select b.k, q.m, d from s.b join lateral (select max(v) as m from s.a where a.k = b.k) q "
        "join r on r.k = b.k",
        "select * from (select k, d, d + 1 as m from r) pivot (max(m) for d in (0 as o, 1 as i))",
        "select * from r unpivot (n for what in (k, d))",
        "select r.*, x from r lateral view explode(sequence(0, d)) as x where d < 2",
    ],
)
def test_columns_of_a_recursion_are_known_where_parts_of_the_query_are_looked_at(
    lake: Lake, sql: str
) -> None:
    """Its columns could not be resolved, or had no types, where the rest of the query was away."""
    lake.create("a", {"k": "int", "v": "int"}, [(1, 2), (2, 3), (2, 3), (None, 1)])
    lake.create("b", {"k": "int", "w": "int"}, [(1, 2), (3, 1)])
    view = View(lake, CHAIN + sql)
    lake.change("a", insert=[(3, 1), (1, 1)], delete=[(2, 3)])
    lake.change("b", insert=[(2, 4)])
    view.refresh()
