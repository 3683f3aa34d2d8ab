"""Models that `dbt clone` made from another schema's: what their first refresh goes on from."""

from __future__ import annotations

from dataclasses import replace

import pytest

from python_ivm.errors import InvalidModel
from python_ivm.parse.parser import without_schemas
from python_ivm.refresh.lifecycle.cloned import is_still_there, plan_clone, plan_table_clone
from python_ivm.refresh.options import OnConfigurationChange, Options, Policy
from python_ivm.refresh.plan import Refresh
from python_ivm.refresh.statement import StatementKind
from python_ivm.refresh.strategy import plan_refresh
from python_ivm.sources.cloned import Cloned, newest_clone
from python_ivm.sources.history import Commit, SourceVersion
from python_ivm.state.bookmark import Bookmark
from tests.planner.two_schemas import TwoSchemas

LOWER = "select k, sum(v) as t from {x} group by k"
UPPER = "select w, count(*) as n, sum(t) as total from {lower} l join {y} y on l.k = y.k group by w"


def lower(x: str) -> str:
    return LOWER.format(x=x)


def upper(model: str, y: str) -> str:
    return UPPER.format(lower=model, y=y)


@pytest.fixture
def lake() -> TwoSchemas:
    """Tables x and y, model a over x, and b over a and y."""
    lake = TwoSchemas()
    lake.size_of = lambda name: 1000
    lake.create("x", {"k": "int", "v": "int"}, [(1, 1), (1, 2), (2, 5)])
    lake.create("y", {"k": "int", "w": "string"}, [(1, "a"), (2, "b")])
    lake.run("a", lower("s.x"))
    lake.run("b", upper("s.a", "s.y"))
    return lake


def cloned(lake: TwoSchemas, *names: str) -> TwoSchemas:
    for name in names or ("x", "y", "a", "b"):
        (lake.clone_model if name in "ab" else lake.clone_table)(name)
    return lake


def strategy(refresh: Refresh) -> tuple[str, str]:
    return refresh.strategy.value, refresh.reason


def newest(lake: TwoSchemas, state: str) -> Bookmark:
    found = Bookmark.of(lake.commits[state][0].user_metadata)
    assert found is not None
    return found


# -- right after the clone -----------------------------------------------------------------


def test_a_clone_follows_a_row_that_changed_in_its_own_tables(lake: TwoSchemas) -> None:
    cloned(lake).change_in_ci("x", delete=[(1, 2)], insert=[(1, 7)])
    before = {name: len(lake.commits[name]) for name in ("x", "a__ivm_state", "b__ivm_state")}
    first = lake.run_in_ci("a", lower("ci.x"))
    assert strategy(first) == ("incremental", "CHANGED")
    assert first.ranges == ("x@0→1",)
    assert [s.kind for s in first.statements] == [StatementKind.ALTER, StatementKind.MERGE]
    assert "ci.x" in first.statements[0].sql
    second = lake.run_in_ci("b", upper("ci.a", "ci.y"))
    assert strategy(second) == ("incremental", "CHANGED")
    assert second.ranges == ("a__ivm_state@0→1",)
    assert {name: len(lake.commits[name]) for name in before} == before
    assert list(newest(lake, "ci__b__ivm_state").sources) == ["ci.a__ivm_state", "ci.y"]
    assert strategy(lake.run_in_ci("b", upper("ci.a", "ci.y"))) == ("noop", "UNCHANGED")
    lake.change_in_ci("y", insert=[(2, "c")])
    third = lake.run_in_ci("b", upper("ci.a", "ci.y"))
    assert strategy(third) == ("incremental", "CHANGED") and len(third.statements) == 1


def test_where_nothing_changed_the_bookmark_alone_is_taken_over(lake: TwoSchemas) -> None:
    cloned(lake)
    first = lake.run_in_ci("b", upper("ci.a", "ci.y"))
    assert strategy(first) == ("noop", "UNCHANGED")
    assert [s.kind for s in first.statements] == [StatementKind.ALTER, StatementKind.MERGE]
    assert lake.run_in_ci("b", upper("ci.a", "ci.y")).statements == ()


def test_a_clone_over_tables_that_were_not_cloned_reads_on_where_it_was(lake: TwoSchemas) -> None:
    """With ``--defer`` a name that is not in the clone's schema is that of the other one."""
    cloned(lake, "b")
    lake.change("x", insert=[(2, 1)])
    lake.run("a", lower("s.x"))
    refresh = lake.run_in_ci("b", upper("s.a", "s.y"))
    assert strategy(refresh) == ("incremental", "CHANGED")
    assert [s.kind for s in refresh.statements] == [StatementKind.MERGE]


def test_a_name_may_move_to_the_clones_schema_later(lake: TwoSchemas) -> None:
    cloned(lake, "b")
    lake.change("y", insert=[(2, "c")])
    lake.run_in_ci("b", upper("s.a", "s.y"))
    cloned(lake, "a", "y")
    assert strategy(lake.run_in_ci("b", upper("ci.a", "ci.y"))) == ("noop", "UNCHANGED")


def test_a_clone_of_a_clone(lake: TwoSchemas) -> None:
    cloned(lake, "a", "y", "b")
    lake.run_in_ci("b", upper("ci.a", "ci.y"))
    bookmark = newest(lake, "ci__b__ivm_state")
    assert bookmark.model == "ci.b"
    assert bookmark.clone is not None and bookmark.clone.key == "s.b__ivm_state"


# -- what is not known to be equal -----------------------------------------------------------


def differs(refresh: Refresh) -> bool:
    return strategy(refresh) == ("recompute", "SOURCE_DIFFERS") and "may differ" in (
        refresh.explanation
    )


def test_a_table_that_went_on_before_it_was_cloned_is_not_taken_for_equal(
    lake: TwoSchemas,
) -> None:
    lake.change("y", delete=[(1, "a")])
    cloned(lake)
    assert differs(lake.run_in_ci("b", upper("ci.a", "ci.y")))
    assert strategy(lake.run_in_ci("b", upper("ci.a", "ci.y"))) == ("noop", "UNCHANGED")


def test_a_model_that_was_ahead_of_the_one_above_it_is_not_taken_for_equal(
    lake: TwoSchemas,
) -> None:
    lake.change("x", insert=[(1, 9)])
    lake.run("a", lower("s.x"))
    cloned(lake)
    refresh = lake.run_in_ci("b", upper("ci.a", "ci.y"))
    assert differs(refresh)
    assert "ci.a__ivm_state may differ from s.a__ivm_state at version 0" in refresh.explanation


def test_commits_without_rows_in_between_do_not_count(lake: TwoSchemas) -> None:
    lake.optimize("y")
    cloned(lake)
    lake.change_in_ci("y", insert=[(1, "z")])
    refresh = lake.run_in_ci("b", upper("ci.a", "ci.y"))
    assert strategy(refresh) == ("incremental", "CHANGED")
    assert refresh.ranges == ("y@0→1",)


def test_a_clone_that_was_made_before_the_states_version(lake: TwoSchemas) -> None:
    cloned(lake, "x", "y", "a")
    lake.optimize("y")
    lake.change("x", insert=[(3, 3)])
    lake.run("a", lower("s.x"))
    lake.run("b", upper("s.a", "s.y"))
    cloned(lake, "b")
    refresh = lake.run_in_ci("b", upper("ci.a", "ci.y"))
    assert differs(refresh)
    assert "ci.a__ivm_state may differ" in refresh.explanation
    assert "ci.y may differ" not in refresh.explanation


def test_a_table_that_was_made_anew_before_it_was_cloned_is_another_one(lake: TwoSchemas) -> None:
    """Its versions have the same numbers as those that the bookmark knows."""
    lake.made_anew("y")
    cloned(lake)
    assert differs(lake.run_in_ci("b", upper("ci.a", "ci.y")))


def test_a_table_that_was_made_anew_after_it_was_cloned_is_not_asked(lake: TwoSchemas) -> None:
    cloned(lake)
    lake.made_anew("y")
    assert strategy(lake.run_in_ci("b", upper("ci.a", "ci.y"))) == ("noop", "UNCHANGED")


def test_a_history_that_cannot_be_asked_any_more_tells_nothing(lake: TwoSchemas) -> None:
    lake.optimize("y")
    cloned(lake)
    lake.made_anew("y")
    assert differs(lake.run_in_ci("b", upper("ci.a", "ci.y")))


def test_a_table_that_is_no_clone_is_not_taken_for_equal(lake: TwoSchemas) -> None:
    cloned(lake)
    lake.commits["ci__y"] = [Commit(0, "1", "CREATE TABLE AS SELECT")]
    assert differs(lake.run_in_ci("b", upper("ci.a", "ci.y")))


def test_a_table_that_was_replaced_after_it_was_cloned(lake: TwoSchemas) -> None:
    cloned(lake)
    lake.change_in_ci("y", insert=[(2, "c")])
    replaced = Commit(1, lake.commits["ci__y"][0].timestamp, "CREATE OR REPLACE TABLE AS SELECT")
    lake.commits["ci__y"][0] = replaced
    refresh = lake.run_in_ci("b", upper("ci.a", "ci.y"))
    assert strategy(refresh) == ("recompute", "SOURCE_REPLACED")


def test_a_strict_policy_refuses_what_would_be_computed_anew(lake: TwoSchemas) -> None:
    lake.change("y", delete=[(1, "a")])
    cloned(lake)
    with pytest.raises(Exception, match="SOURCE_DIFFERS"):
        lake.run_in_ci("b", upper("ci.a", "ci.y"), options=Options(Policy.STRICT))


# -- what is another query -------------------------------------------------------------------


@pytest.mark.parametrize(
    "sql",
    [
        upper("ci.a", "ci.y") + " having count(*) > 0",
        upper("ci.a", "ci.y").replace("sum(t)", "sum(t + 1)"),
        upper("ci.a", "ci.y").replace("ci.a l", "ci.a v").replace("l.k", "v.k"),
    ],
    ids=["condition", "expression", "alias"],
)
def test_another_query_is_rebuilt(lake: TwoSchemas, sql: str) -> None:
    cloned(lake)
    assert strategy(lake.run_in_ci("b", sql)) == ("full", "QUERY_CHANGED")


def test_other_settings_are_another_query(lake: TwoSchemas) -> None:
    cloned(lake)
    elsewhere = {"spark.sql.session.timeZone": "Mars"}
    refresh = lake.run_in_ci("b", upper("ci.a", "ci.y"), settings=elsewhere)
    assert strategy(refresh) == ("full", "QUERY_CHANGED")


def test_on_configuration_change_does_not_concern_the_same_query(lake: TwoSchemas) -> None:
    cloned(lake)
    options = Options(on_configuration_change=OnConfigurationChange.FAIL)
    refresh = lake.run_in_ci("b", upper("ci.a", "ci.y"), options=options)
    assert strategy(refresh) == ("noop", "UNCHANGED")


def test_a_full_refresh_of_a_clone(lake: TwoSchemas) -> None:
    cloned(lake)
    refresh = lake.run_in_ci("b", upper("ci.a", "ci.y"), full_refresh=True)
    assert strategy(refresh) == ("full", "FULL_REFRESH")
    assert newest(lake, "ci__b__ivm_state").clone is None


def test_two_tables_that_were_one(lake: TwoSchemas) -> None:
    """Which of its tables each name means is part of a query."""
    twice = "select p.k from {} p join {} q on p.k = q.k"
    lake.create("z", {"k": "int"}, [(1,), (1,)])
    lake.run("a2", twice.format("s.z", "s.z"))
    lake.clone_table("z")
    lake.clone_model("a2")
    refresh = lake.run_in_ci("a2", twice.format("ci.z", "s.z"))
    assert strategy(refresh) == ("full", "QUERY_CHANGED")


def test_the_same_query_in_another_schema() -> None:
    text = without_schemas("select x.k from a.x join b.`X` as other on true -- all")
    assert text == without_schemas("SELECT x.k FROM A.X JOIN c.x AS other ON TRUE")
    assert text != without_schemas("select x.k from a.x join a.x as other on true")
    assert text != without_schemas("select x.k from a.x join b.y as other on true")
    assert without_schemas("select k from a.x version as of 3") is None


# -- making clones ---------------------------------------------------------------------------


def test_a_clone_has_its_own_numbers_whatever_the_others_are(lake: TwoSchemas) -> None:
    for number in range(3):
        lake.change("x", insert=[(7, number)])
        lake.run("a", lower("s.x"))
    cloned(lake, "x", "a")
    assert newest(lake, "a__ivm_state").refresh == 4
    assert newest(lake, "ci__a__ivm_state").refresh == 1
    lake.change_in_ci("x", insert=[(1, 1)])
    (_, merge) = lake.run_in_ci("a", lower("ci.x")).statements
    assert merge.fence == ("dbt-sparkivm:ci.a__ivm_state", 2)


def test_a_state_is_dropped_before_it_is_cloned_again(lake: TwoSchemas) -> None:
    cloned(lake)
    statements = lake.clone_model("b")
    assert [s.sql.split(" SHALLOW")[0] for s in statements] == [
        "DROP TABLE ci.b__ivm_state",
        "CREATE TABLE ci.b__ivm_state",
    ]
    assert strategy(lake.run_in_ci("b", upper("ci.a", "ci.y"))) == ("noop", "UNCHANGED")


def test_rows_go_where_files_outlive_a_table(lake: TwoSchemas) -> None:
    cloned(lake, "b")
    lake.commits["ci__b__ivm_state"] = lake.commits["ci__b__ivm_state"] * 4
    request = lake.request_in_ci("b", "", location="/data/ci/b__ivm_state")
    planned = plan_clone(request, ("s", "b"), lake)
    assert planned is not None
    drop, clone = planned.statements
    assert drop.sql == "TRUNCATE TABLE ci.b__ivm_state"
    assert clone.sql == (
        "CREATE OR REPLACE TABLE ci.b__ivm_state SHALLOW CLONE s.b__ivm_state VERSION AS OF 0 "
        "LOCATION '/data/ci/b__ivm_state'"
    )
    bookmark = Bookmark.of(clone.bookmark)
    assert bookmark is not None and bookmark.refresh == 3


def test_a_state_that_something_else_wrote_is_cloned_without_its_bookmark(
    lake: TwoSchemas,
) -> None:
    state = lake.commits["a__ivm_state"]
    state.insert(0, Commit(1, lake._time(), "UPDATE"))
    lake.db.execute('create table s."a__ivm_state@1" as from s.a__ivm_state')
    (statement,) = lake.clone_model("a")
    assert statement.bookmark is None
    assert strategy(lake.run_in_ci("a", lower("ci.x" if "ci__x" in lake.rows else "s.x"))) == (
        "full",
        "FIRST_BUILD",
    )


def test_a_view_that_is_no_maintained_models_is_not_cloned_as_one(lake: TwoSchemas) -> None:
    lake.define("v", "select k from s.x")
    assert plan_clone(lake.request_in_ci("v", ""), ("s", "v"), lake) is None
    view = lake.views["a"]
    lake.define("p", view.text.replace("a__ivm_state", "a__ivm_state version as of 0"))
    assert plan_clone(lake.request_in_ci("p", ""), ("s", "p"), lake) is None


def test_a_view_that_somebody_replaced_is_none_of_the_clones_either(lake: TwoSchemas) -> None:
    view = lake.views["a"]
    lake.views["a"] = replace(view, text=view.text.replace("SELECT", "SELECT DISTINCT", 1))
    cloned(lake, "a")
    text = lake.views["ci__a"].text
    assert "DISTINCT" in text
    refresh = lake.run_in_ci("a", lower("s.x"), view_text=text)
    assert refresh.statements[-1].kind is StatementKind.CREATE_VIEW
    assert "DISTINCT" not in lake.views["ci__a"].text
    again = lake.run_in_ci("a", lower("s.x"), view_text=lake.views["ci__a"].text)
    assert again.statements == ()


def test_a_state_at_a_location_of_another_schemas_is_not_cloned_over(lake: TwoSchemas) -> None:
    """The location_root of both is the same."""
    lake.commits["/data/b__ivm_state"] = lake.commits["b__ivm_state"]
    request = lake.request_in_ci("b", upper("s.a", "s.y"), location="/data/b__ivm_state")
    with pytest.raises(InvalidModel, match=r"is the state of s\.b"):
        plan_clone(request, ("s", "b"), lake)
    with pytest.raises(InvalidModel, match=r"is the state of s\.b"):  # nor built over
        plan_refresh(request, lake)


def test_a_table_that_is_no_state_is_not_cloned_over(lake: TwoSchemas) -> None:
    cloned(lake, "b")
    lake.commits["ci__b__ivm_state"] = lake.commits["a__ivm_state"]
    with pytest.raises(InvalidModel, match=r"is the state of s\.a"):
        lake.clone_model("b")


def test_what_a_commit_tells_of_a_clone() -> None:
    told = Cloned(("s", "X"), SourceVersion(3, "17"))
    assert told.key == "s.x"
    text = '{"clone": [["s", "X"], 3, "17"]}'
    commits = [
        Commit(4, "9", "WRITE", user_metadata=text),
        Commit(3, "8", "CLONE", user_metadata="{"),
        Commit(2, "7", "CLONE", user_metadata='["clone"]'),
        Commit(1, "6", "CLONE", user_metadata='{"clone": [3]}'),
        Commit(0, "5", "CLONE", user_metadata=text),
    ]
    assert newest_clone(commits) == (commits[-1], told)
    assert newest_clone(commits[:-1]) is None


@pytest.mark.parametrize("later", [0, 1, 9])
def test_a_table_of_many_versions_is_still_there(lake: TwoSchemas, later: int) -> None:
    """A statement tells older commits, too, which were once taken for a table made anew."""
    for number in range(5):
        lake.change("x", insert=[(number, 7)])
    _, of = plan_table_clone(("ci", "copy"), ("s", "x"), lake)
    for number in range(later):
        lake.change("x", insert=[(number, 8)])
    assert of.version.version == 5
    assert is_still_there(lake, of)


@pytest.mark.parametrize("first", ["rows", "inserted"])
def test_a_clone_that_is_to_be_a_log_or_no_more_is_another_query(
    lake: TwoSchemas, first: str
) -> None:
    """It was taken over as it was: the view showed rows that had gone."""
    then = {"rows": "inserted", "inserted": "rows"}[first]
    lake.run("c", "select k, v from s.x", options=Options.of({"ivm_output": first}))
    lake.clone_table("x")
    lake.clone_model("c", options=Options.of({"ivm_output": first}))
    options = Options.of({"ivm_output": then})
    asked = lake.request_in_ci("c", "select k, v from ci.x", options=options)
    assert strategy(plan_refresh(asked, lake)) == ("full", "QUERY_CHANGED")


def test_a_model_is_not_its_own_clone(lake: TwoSchemas) -> None:
    """Spark takes names of another case for the same: the state was dropped, then cloned."""
    with pytest.raises(InvalidModel, match="its own clone"):
        plan_clone(lake.request("a", lower("s.x")), ("S", "A"), lake)
