"""From SQL text to the logical plan: names, scopes and the spellings of one query."""

from __future__ import annotations

import pytest

from python_ivm.algebra.nodes import Aggregate, Join, Scan
from python_ivm.bind.binder import bind
from python_ivm.bind.query import Query
from python_ivm.errors import NotYetImplemented
from python_ivm.parse.parser import parse
from python_ivm.qualify.schema import TableSchema
from python_ivm.render.plan_text import tree
from tests.planner.lake import Lake
from tests.planner.stories import View

TABLES = (
    TableSchema(("s", "x"), {"i": "int", "v": "int"}),
    TableSchema(("s", "y"), {"i": "int", "w": "string"}),
    TableSchema(
        ("Shop", "Orders"), {"Order Id": "int", "größe": "int", "K`q": "int", "select": "int"}
    ),
)
SCHEMAS = {table.key: table for table in TABLES}


def bound(sql: str) -> Query:
    return bind(parse(sql), SCHEMAS)


def plan(sql: str) -> str:
    return tree(bound(sql).plan)


def test_a_plan_reads_as_a_tree() -> None:
    sql = """
        select y.w, sum(x.v) as t, count(*) filter (where x.v > 1) as n
        from s.x join s.y on x.i = y.i where x.v is not null
        group by y.w having count(*) > 1 order by t desc limit 3
    """
    assert plan(sql).splitlines() == [
        "Project w, t, n",
        "  Sort by ivm_view_groups.t DESC limit 3",
        "    Filter ivm_view_groups.count_1 > 1",
        "      Aggregate t = SUM(x.v), n = COUNT(*) FILTER(WHERE x.v > 1), count_1 = COUNT(*) by w",
        "        Join on x.i = y.i and x.v IS NOT NULL",
        "          Scan s.x as x (i, v)",
        "          Scan s.y as y (i, w)",
    ]


def test_a_plan_tells_which_conditions_belong_together() -> None:
    both = "on (x.i = y.i or x.v is null) and not (x.v = 2)"
    assert plan(f"select x.i from s.x left join s.y {both}").splitlines()[1] == (
        "  LeftJoin on (x.i = y.i OR x.v IS NULL) and NOT (x.v = 2)"
    )


@pytest.mark.parametrize(
    "sql",
    [
        "select i, v from s.x where v > 1",
        "SELECT I, V FROM S.X WHERE V > 1",
        "select x.i, x.v from s.x where x.v > 1",
        "select s.x.i, s.x.v from s.x where s.x.v > 1",
        "select `i`, `V` from `s`.`x` where (v > 1)",
        "(select i, v from s.x where v > 1)",
        "select * from s.x where v > 1",
        "select q.* from (select * from s.x x where v > 1) q",
        "select i, v from s.x where v > 1;",
    ],
)
def test_one_query_in_many_spellings_is_one_plan(sql: str) -> None:
    assert plan(sql).replace("Project i, v", "").split() == [
        "Filter", "x.v", ">", "1", "Scan", "s.x", "as", "x", "(i,", "v)",
    ]  # fmt: skip


def test_joins_of_joins_and_filters_become_one_join() -> None:
    sql = """
        select a.v from (select x.i, x.v from s.x, s.y where x.i = y.i) a
        join s.y b on a.i = b.i where b.w = 'q' and a.v > 1
    """
    joins = [n for n in bound(sql).plan.walk() if isinstance(n, Join) and len(n.parts) > 1]
    assert joins
    four = bound("select x.v from s.x join s.y on x.i = y.i, s.x b, s.y c where b.i = c.i")
    (join,) = [n for n in four.plan.walk() if isinstance(n, Join)]
    assert len(join.parts) == 4
    assert len(join.conditions) == 2


def test_a_cte_named_twice_is_two_inputs_that_read_it_once() -> None:
    query = bound("with c as (select i from s.x) select a.i from c a join c b on a.i = b.i")
    (join,) = [n for n in query.plan.walk() if isinstance(n, Join)]
    assert len({column.relation for column in join.schema}) == 2
    assert len([n for n in query.plan.walk() if isinstance(n, Scan)]) == 1
    assert query.sources == ("s.x",)


def test_a_cte_that_nothing_names_is_not_read() -> None:
    assert bound("with c as (select i from s.y) select v from s.x").sources == ("s.x",)


def test_a_cte_sees_the_ctes_before_it_and_hides_a_table_of_its_name() -> None:
    query = bound("with a as (select i from s.x), b as (select i + 1 as j from a) select j from b")
    assert query.columns == ("j",)
    hidden = bound("with x as (select i as k from s.x) select k from x")
    assert hidden.sources == ("s.x",)


def test_using_and_natural_show_a_shared_column_once() -> None:
    for join in ("join s.y using (i)", "natural join s.y"):
        query = bound(f"select * from s.x {join}")
        assert query.columns == ("i", "v", "w")
        assert "x.i = y.i" in tree(query.plan)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("group by i, v with rollup", "group by rollup (i, v)"),
        ("group by i, v with cube", "group by cube (i, v)"),
    ],
)
def test_grouping_sets_behind_the_keys_are_those_of_a_function(one: str, other: str) -> None:
    items = "v, grouping_id() as g, count(*) as n"
    assert plan(f"select {items} from s.x {one}") == plan(f"select {items} from s.x {other}")


def test_keys_before_grouping_sets_count_even_if_no_set_has_them() -> None:
    """grouping_id() had no bit for them, so that it was 0 and 1."""
    text = plan(
        "select i, v, grouping_id() as g, count(*) as n from s.x group by i, v "
        "grouping sets ((v), ())"
    )
    assert "WHEN 0 THEN 2 WHEN 1 THEN 3" in text
    assert "CASE WHEN FALSE THEN x.i END" in text


def test_grouping_id_without_arguments_is_that_of_all_keys() -> None:
    sql = "select v, grouping_id({}) as g, count(*) as n from s.x group by cube (i, v)"
    assert plan(sql.format("")) == plan(sql.format("i, v"))


def test_only_columns_that_are_used_are_read() -> None:
    assert "Scan s.x as x (v)" in plan("select q.v from (select * from s.x) q")
    assert "Scan s.x as x ()" in plan("select count(*) n from s.x")


@pytest.mark.parametrize(
    ("sql", "columns"),
    [
        ("select `order id`, `GRÖSSE` from shop.orders", None),
        ("select `order id` from SHOP.ORDERS", ("order id",)),
        ("select * from Shop.Orders", ("Order Id", "größe", "K`q", "select")),
        ("select `Order Id` as `My ``Total``; x` from Shop.Orders", ("My `Total`; x",)),
        ("select größe as Länge from shop.orders", ("Länge",)),
        ("select `select` as `from` from shop.orders as `table`", ("from",)),
        ("select I, V as Total from s.x", ("I", "Total")),
    ],
)
def test_names_are_found_in_any_case_and_shown_as_spelled(
    sql: str, columns: tuple[str, ...] | None
) -> None:
    if columns is not None:
        assert bound(sql).columns == columns


def test_tables_and_columns_with_odd_names_are_maintained(lake: Lake) -> None:
    lake.create("ünï", {"Order Id": "int", "größe": "int", "select": "int"}, [(1, 2, 3), (1, 5, 3)])
    view = View(
        lake,
        "select `order id`, sum(größe) as `Σ größe`, max(`select`) as `group` "
        "from s.`ünï` as `from` group by `order id`",
    )
    lake.change("ünï", insert=[(2, 2, 2)], delete=[(1, 5, 3)])
    view.refresh()
    view.shows((1, 2, 3), (2, 2, 2))


@pytest.mark.parametrize(
    "alias",
    ["lost", "changed", "change", "stored", "recomputed", "delta", "net_delta", "source", "state",
     "delta_x", "ivm_view", "ivm_view_groups", "q_rows", "q_keys", "copied", "copies"],
)  # fmt: skip
def test_a_model_may_use_the_planners_own_names(lake: Lake, alias: str) -> None:
    lake.create("x", {"i": "int", "v": "int"}, [(1, 1), (1, 2), (2, 5)])
    view = View(
        lake,
        f"select {alias}.i, min({alias}.v) lo, count(distinct q.n) d from s.x {alias} "
        f"join (select i, count(*) n from s.x {alias} group by i) q on q.i = {alias}.i "
        f"group by {alias}.i",
    )
    lake.change("x", insert=[(2, 2)], delete=[(1, 1)])
    view.refresh()
    view.shows((1, 2, 1), (2, 2, 1))


@pytest.mark.parametrize(
    "sql",
    [
        "select i + 1 as n, count(*) c from s.x group by i + 1",
        "select i + 1 as n, count(*) c from s.x group by (i + 1)",
        "select (i + 1) as n, count(*) c from s.x group by i + 1",
        "select i + 1 as n, count(*) c from s.x group by n",
        "select i + 1 as n, count(*) c from s.x group by 1",
        "select i + 1 as n, count(*) c from s.x group by all",
    ],
)
def test_groups_in_every_spelling(sql: str) -> None:
    (aggregate,) = [n for n in bound(sql).plan.walk() if isinstance(n, Aggregate)]
    assert [k.name for k in aggregate.keys] == ["n"]
    assert [m.name for m in aggregate.measures] == ["c"]


@pytest.mark.parametrize(
    ("sql", "operator"),
    [
        ("select i, my_agg(v) t from s.x group by i", "my_agg()"),
        ("select i from s.x version as of 3", "VERSION AS OF"),
    ],
)
def test_legal_but_not_yet_is_an_error_of_its_own(sql: str, operator: str) -> None:
    with pytest.raises(NotYetImplemented) as caught:
        bound(sql)
    assert caught.value.operator == operator


def test_no_relation_is_named_like_a_column() -> None:
    """In a subquery Spark takes ``v.i`` for a field of its column v, not for the relation's."""
    sql = "select sum(case when v.i in (select v from s.x) then 1 end) as n from s.y v group by w"
    relations = {c.relation for node in bound(sql).plan.walk() for c in node.schema}
    assert not relations & {"i", "v", "w", "n"}
