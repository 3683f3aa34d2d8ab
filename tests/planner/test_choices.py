"""Aggregates and windows whose order the query leaves open: which value they show."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest

from python_ivm.errors import InvalidModel, NotYetImplemented, Unsupported
from python_ivm.parse.parser import parse
from python_ivm.qualify.checks.session_names import refuse_session_names
from python_ivm.qualify.checks.user_functions import check_user_functions
from python_ivm.qualify.schema import TableSchema
from python_ivm.refresh.options import Options
from python_ivm.refresh.plan import Strategy
from tests.planner.compare import assert_same
from tests.planner.lake import Lake
from tests.planner.stories import View


@pytest.fixture
def visits(lake: Lake) -> Lake:
    rows = [(1, 10, "a"), (1, 10, "b"), (1, 5, "z"), (2, 7, "c")]
    lake.create("x", {"k": "int", "day": "int", "who": "string"}, rows)
    return lake


def test_values_of_one_row_stay_together(visits: Lake) -> None:
    """min(day) with min(who) would show a row that is not there: (5, a)."""
    view = View(visits, "select k, first(day) d, first(who) w, last(who) l from s.x group by k")
    view.shows((1, 5, "z", "b"), (2, 7, "c", "c"))
    visits.change("x", delete=[(1, 5, "z")], insert=[(2, 7, "b")])
    view.refresh()
    view.shows((1, 10, "a", "b"), (2, 7, "b", "c"))


def test_max_by_takes_both_values_of_one_of_the_latest_rows(visits: Lake) -> None:
    view = View(visits, "select k, max_by(who, day) w, max_by(k + day, day) s from s.x group by k")
    view.shows((1, "b", 11), (2, "c", 9))
    visits.change("x", delete=[(1, 10, "b")])
    view.refresh()
    view.shows((1, "a", 11), (2, "c", 9))
    visits.change("x", delete=[(1, 10, "a")], insert=[(2, None, "y")])
    view.refresh()
    view.shows((1, "z", 6), (2, "c", 9))


def test_a_maximum_by_is_kept_where_a_lesser_row_left(visits: Lake) -> None:
    view = View(visits, "select k, max_by(who, day) w from s.x group by k")
    visits.change("x", delete=[(1, 5, "z")])
    assert view.rows_of("lost") == []
    view.refresh()


def test_collected_values_stand_in_the_order_of_their_rows(visits: Lake) -> None:
    sql = "select k, collect_list(day) d, collect_list(who) w from s.x group by k"
    view = View(visits, sql)
    view.shows((1, (5, 10, 10), ("z", "a", "b")), (2, (7,), ("c",)))


def test_the_last_value_is_one_for_all_peers(visits: Lake) -> None:
    """Over a RANGE, peers are in each other's frame: completing the order would part them."""
    sql = (
        "select day, last_value(who) over w l, first_value(who) over w f, nth_value(who, 3) over w "
        "n from s.x where k = 1 window w as (order by day)"
    )
    view = View(visits, sql)
    view.shows((5, "z", "z", None), (10, "b", "z", "b"), (10, "b", "z", "b"))
    visits.change("x", delete=[(1, 5, "z")])
    view.refresh()
    view.shows((10, "b", "a", None), (10, "b", "a", None))


def test_rows_of_a_changed_partition_that_stay_as_they_are_are_not_written(visits: Lake) -> None:
    sql = "select k, who, row_number() over (partition by k order by day) r from s.x"
    view = View(visits, sql)
    visits.change("x", insert=[(1, 99, "late")])
    assert len(view.touched()) == 1
    view.refresh()
    visits.change("x", delete=[(1, 99, "late")], insert=[(1, 98, "late")])
    assert view.touched() == []
    view.refresh()


def test_a_window_that_is_not_defined_is_an_error(visits: Lake) -> None:
    with pytest.raises(InvalidModel, match="No window is named v"):
        visits.run("m", "select sum(day) over v t from s.x window w as (partition by k)")


def test_a_filter_on_a_floating_sum_counts_right_at_its_border(lake: Lake) -> None:
    """0.1 + 0.2 + 0.3 is 0.6 in one order and a little more in another."""
    rows = [(1, 0.1), (1, 0.2), (1, 0.3), (2, 5.0)]
    lake.create("f", {"k": "int", "v": "double"}, rows)
    sql = "select count(*) n from (select k, sum(v) t from s.f group by k having sum(v) <= 0.6) q"
    view = View(lake, sql)
    for change in ({"insert": [(2, -4.5)]}, {"delete": [(1, 0.2)]}, {"delete": [(1, 0.1)]}):
        lake.change("f", **change)
        refresh = lake.run("m", sql)
        assert refresh.strategy is Strategy.INCREMENTAL, refresh.explanation
        lake.run("fresh", sql)
        assert lake.view("m") == lake.view("fresh")
    assert view.sql == sql


def test_functions_of_users_need_a_promise(visits: Lake) -> None:
    visits.db.execute("create macro mine(x) as x + 1")
    visits.functions = ["mine"]
    sql = "select k, mine(day) d from s.x"
    with pytest.raises(Unsupported, match=r"mine\(\) is a function of yours"):
        visits.run("m", sql)
    options = Options.of({"ivm_deterministic_functions": ["Mine"]})
    assert visits.run("m", sql, options=options).reason == "FIRST_BUILD"
    visits.change("x", insert=[(3, 1, "n")])
    assert visits.run("m", sql, options=options).strategy is Strategy.INCREMENTAL
    assert_same(visits, "m")
    with pytest.raises(Unsupported, match=r"lib\.f\(\)"):
        visits.run("n", "select lib.f(day) d from s.x")
    with pytest.raises(InvalidModel, match="list of names"):
        Options.of({"ivm_deterministic_functions": "mine"})


def test_functions_of_users_need_a_promise_where_there_is_no_rule_either(visits: Lake) -> None:
    """Such a view was computed anew where a source changed, whatever the function read."""
    visits.db.execute("create macro mine(x) as x + 1")
    visits.functions = ["mine"]
    frame = "order by day range between 3 preceding and current row"
    sql = f"select k, mine(day) as d, nth_value(day, 2) over ({frame}) as w from s.x"
    with pytest.raises(Unsupported, match=r"mine\(\) is a function of yours"):
        visits.run("m", sql)
    visits.functions = []
    assert visits.run("m", sql).reason == "NOT_YET_IMPLEMENTED"


@pytest.mark.parametrize(
    ("sql", "name"),
    [
        ("select k from s.x where day > lim", "lim"),
        ("select k from s.x where day > session.lim", "session.lim"),
        ("select k, lim + 1 as d from s.x union all select k, 2 as d from s.x", "lim"),
        ("select k from s.x where day > (select max(lim) from s.x)", "lim"),
        ("select k, user as u from s.x", "user"),
        ("select n.k, nth_value(n.k, 2) over (order by n.k range between 1 preceding and current "
         "row) as w from (select k, lim as d from s.x) as n", "lim"),
    ],
)  # fmt: skip
def test_variables_of_the_session_are_refused(
    visits: Lake, monkeypatch: pytest.MonkeyPatch, sql: str, name: str
) -> None:
    """Spark knows the name, so the view was built, and stayed as it was when the value changed."""
    told = visits.describe

    def describe(text: str) -> Sequence[tuple[str, str]]:
        return told(re.sub(r"(session\.)?\blim\b", "4", text))

    monkeypatch.setattr(visits, "describe", describe)
    with pytest.raises(Unsupported, match=f"{name} is no column, but a value of the session"):
        visits.run("m", sql)


@pytest.mark.parametrize(
    "sql",
    [
        "select k, d from (select k, day + 1 as d, 1 as user from s.x) as n where user = 1",
        "select day + 1 as user, nth_value(day, 2) over (order by day range between 3 preceding "
        "and current row) as w from s.x",
    ],
)
def test_a_column_may_be_named_as_a_value_of_the_session_is(visits: Lake, sql: str) -> None:
    assert visits.run("m", sql).reason in ("FIRST_BUILD", "NOT_YET_IMPLEMENTED")


def test_a_column_that_a_generator_makes_of_a_struct_may_be_named_so(lake: Lake) -> None:
    lake.create("t", {"arr": "array<struct<user:string,n:int>>"}, [])
    query = parse("select user from s.t lateral view inline(arr) as x")
    kinds = TableSchema(("s", "t"), {"arr": "array<struct<user:string,n:int>>"})
    refuse_session_names(query, {"s.t": kinds}, NotYetImplemented("no rule"), lambda text: True)
    with pytest.raises(Unsupported, match="qualify it with its table"):
        refuse_session_names(query, {}, NotYetImplemented("no rule"), lambda text: True)


def test_a_function_with_a_name_that_the_planner_knows_otherwise_is_left_to_spark() -> None:
    query = parse("select k, safe_divide(day, 2) d from s.x")
    with pytest.raises(Unsupported, match="safe_divide"):
        check_user_functions(query, ["safe_divide"], [])
    with pytest.raises(NotYetImplemented, match=r"safe_divide\(\)"):
        check_user_functions(query, ["safe_divide"], ["safe_divide"])


def test_values_without_an_order_are_rebuilt_in_full(visits: Lake) -> None:
    """Spark refuses to sort maps: what it says of the planner's form decides."""
    told = visits.describe

    def describe(sql: str) -> object:
        if "SORT_ARRAY" in sql:
            raise RuntimeError("DATATYPE_MISMATCH: sort_array")
        return told(sql)

    visits.describe = describe  # type: ignore[method-assign, assignment]
    refresh = visits.run("m", "select k, collect_list(day) d from s.x group by k")
    assert refresh.reason == "NOT_YET_IMPLEMENTED"
    assert "DATATYPE_MISMATCH" in refresh.explanation
