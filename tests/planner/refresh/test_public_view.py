"""Public views that somebody dropped or replaced: made again over the state that stands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from python_ivm.parse.views import View
from python_ivm.refresh.options import Options, Policy
from python_ivm.refresh.plan import Refresh, Strategy
from python_ivm.refresh.reason import Reason
from python_ivm.refresh.statement import StatementKind
from python_ivm.refresh.strategy import plan_refresh
from python_ivm.sources.history import Commit
from python_ivm.state.bookmark import Bookmark
from tests.planner.lake import Lake, instant

SQL = "select k, sum(v) as t from s.x group by k"
QUERIES = {
    "groups": SQL,
    "having": "select k, sum(v) * 2 as `Two Words` from s.x group by k having count(*) > 1",
    "bag": "select v, k from s.x",
    "top": "select k, v from s.x order by v desc, k limit 2",
    "one row": "select count(*) as n, max(v) as hi from s.x",
    "without rules": "select y, count(*) as n from (select k, approx_percentile(v, 0.5) as y "
    "from s.x group by k) q group by y",
    "clock": "select current_date() as today, sum(v) as t from s.x",
}


@pytest.fixture
def xs(lake: Lake) -> Lake:
    lake.create("x", {"k": "int", "v": "int"}, [(1, 1), (1, 2), (2, 5), (2, 5)])
    return lake


def drop(lake: Lake, name: str = "m") -> View:
    lake.db.execute(f"drop view s.{name}")
    return lake.views.pop(name)


def replaced_by(lake: Lake, text: str, name: str = "m") -> View:
    """Replace a public view by hand."""
    before = lake.views[name]
    lake.db.execute(f"create or replace view s.{name} as {lake.duck(text)}")
    lake._note_view(name, f"create or replace view s.{name} AS\n{text}")
    return before


def kinds(refresh: Refresh) -> list[StatementKind]:
    return [s.kind for s in refresh.statements]


@pytest.mark.parametrize("name", QUERIES)
def test_a_view_that_was_dropped_is_made_again_as_it_was(xs: Lake, name: str) -> None:
    """It cost a rebuild."""
    sql = QUERIES[name]
    xs.run("m", sql)
    before = drop(xs)
    again = xs.run("m", sql, view_exists=False)
    assert (again.strategy, again.reason) == (Strategy.NOOP, "VIEW_MISSING")
    assert kinds(again) == [StatementKind.CREATE_VIEW]
    assert again.summary() == (
        "noop: no source changed; the public view was gone, and is created again"
    )
    assert xs.views["m"] == before
    xs.check("m")
    assert xs.run("m", sql).reason == "UNCHANGED"


@pytest.mark.parametrize("name", [name for name in QUERIES if name != "without rules"])
def test_what_changed_meanwhile_is_followed(xs: Lake, name: str) -> None:
    sql = QUERIES[name]
    xs.run("m", sql)
    before = drop(xs)
    xs.change("x", insert=[(2, 9), (3, 1)], delete=[(1, 1)])
    again = xs.run("m", sql, view_exists=False)
    assert (again.strategy, again.reason) == (Strategy.INCREMENTAL, "CHANGED")
    assert kinds(again) == [StatementKind.MERGE, StatementKind.CREATE_VIEW]
    assert again.explanation.endswith("the public view was gone, and is created again")
    assert again.summary().endswith("the public view was gone, and is created again")
    assert xs.views["m"] == before
    xs.check("m")


def test_what_cannot_be_followed_is_recomputed(xs: Lake) -> None:
    xs.size_of = lambda name: 9
    xs.run("m", SQL)
    drop(xs)
    xs.change("x", delete=[(1, 1)])
    newest, *others = xs.commits["x"]
    operation = "CREATE OR REPLACE TABLE AS SELECT"
    xs.commits["x"] = [Commit(newest.version, newest.timestamp, operation), *others]
    again = xs.run("m", SQL, view_exists=False)
    assert (again.strategy, again.reason) == (Strategy.RECOMPUTE, "SOURCE_REPLACED")
    assert kinds(again) == [StatementKind.MERGE, StatementKind.CREATE_VIEW]
    assert "was gone" in again.explanation and "was replaced as a whole" in again.explanation
    xs.check("m")


@pytest.mark.parametrize(
    "text",
    [
        "select 1 as one",
        "select k, t from s.m__ivm_state where t > 5",  # it reads the state, and is wrong
    ],
)
def test_a_view_that_was_replaced_is_found_by_its_text(xs: Lake, text: str) -> None:
    """One that reads the state counted as the model's own, and was wrong for ever."""
    xs.run("m", SQL)
    before = replaced_by(xs, text)
    again = xs.run("m", SQL, view_exists="__ivm_state" in text)
    assert (again.strategy, again.reason) == (Strategy.NOOP, "VIEW_MISSING")
    assert "the public view was another one" in again.explanation
    assert xs.views["m"] == before
    xs.check("m")
    assert xs.run("m", SQL).statements == ()


def test_a_text_that_only_the_listing_tells_otherwise_is_no_other_view(xs: Lake) -> None:
    xs.run("m", SQL)
    assert xs.run("m", SQL, view_text="select k, ...").reason == "UNCHANGED"
    assert xs.run("m", SQL, view_text=None).reason == "UNCHANGED"


def test_a_state_that_does_not_know_its_view_learns_it(xs: Lake) -> None:
    """As one of an older version of the package."""
    xs.run("m", SQL)
    newest = xs.commits["m__ivm_state"][0]
    told = Bookmark.of(newest.user_metadata)
    assert told is not None and told.view
    old = (newest.user_metadata or "").replace(f'"view":"{told.view}"', '"view":""')
    xs.commits["m__ivm_state"] = [
        Commit(newest.version, newest.timestamp, newest.operation, user_metadata=old)
    ]
    assert xs.run("m", SQL).reason == "UNCHANGED"
    drop(xs)
    again = xs.run("m", SQL, view_exists=False)
    assert kinds(again) == [StatementKind.MERGE, StatementKind.CREATE_VIEW]
    assert again.strategy is Strategy.NOOP
    newest = xs.commits["m__ivm_state"][0]
    now = Bookmark.of(newest.user_metadata)
    assert now is not None and now.view == told.view


def test_a_table_in_the_views_place_is_dropped_after_the_refresh(xs: Lake) -> None:
    """As the materialization `table` leaves it."""
    xs.run("m", SQL)
    drop(xs)
    xs.change("x", insert=[(3, 1)])
    asked = xs.request("m", SQL, view_exists=False, table_in_the_way=True)
    again = plan_refresh(asked, xs)
    assert kinds(again) == [
        StatementKind.MERGE,
        StatementKind.DROP_TABLE,
        StatementKind.CREATE_VIEW,
    ]
    assert "a table stood in the place of the public view" in again.explanation


def test_the_view_that_a_killed_rebuild_left_is_made_without_another_one(xs: Lake) -> None:
    """It reads the former version of the state, whose columns may have been others."""
    former = "select k, max(v) as hi from s.x group by k"
    xs.run("m", former)
    built = plan_refresh(xs.request("m", SQL), xs)
    assert kinds(built) == [StatementKind.KEEP_VIEW, StatementKind.BUILD, StatementKind.CREATE_VIEW]
    kept, build, _ = built.statements
    pinned = kept.sql.split(" AS\n", 1)[1]
    xs.views["m"] = View(pinned, ("spark_catalog", "s"), {"k": "int", "hi": "int"})
    xs.execute("m", build)
    again = xs.run("m", SQL, view_exists=False)
    assert (again.strategy, again.reason) == (Strategy.NOOP, "VIEW_MISSING")
    assert kinds(again) == [StatementKind.CREATE_VIEW]
    xs.check("m")


def test_a_view_over_a_state_that_lost_its_columns_does_not_stop_a_rebuild(
    xs: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    xs.run("m", SQL)
    changed = SQL.replace("sum(v) as t", "max(v) as hi")
    describe = Lake.describe

    def described(self: Lake, sql: str) -> Sequence[tuple[str, str]]:
        if "VERSION AS OF" in sql and "__ivm_state" in sql:
            raise ValueError("there is no column t")
        return describe(self, sql)

    monkeypatch.setattr(Lake, "describe", described)
    assert kinds(plan_refresh(xs.request("m", changed), xs)) == [
        StatementKind.BUILD,
        StatementKind.CREATE_VIEW,
    ]


def test_the_view_left_by_a_run_that_was_killed_before_its_build(xs: Lake) -> None:
    """The query came back before the next run."""
    xs.run("m", SQL)
    changed = SQL.replace("sum(v) as t", "max(v) as hi")
    kept = plan_refresh(xs.request("m", changed), xs).statements[0]
    assert kept.kind is StatementKind.KEEP_VIEW
    xs.views["m"] = View(kept.sql.split(" AS\n", 1)[1], ("spark_catalog", "s"), {})
    again = xs.run("m", SQL, view_exists=False)
    assert kinds(again) == [StatementKind.CREATE_VIEW]
    xs.check("m")


def test_a_view_that_tells_another_date_is_built_with_its_state(xs: Lake) -> None:
    sql = QUERIES["clock"]
    xs.run("m", sql)
    drop(xs)
    xs.now = instant("2030-01-01 12:00:00")
    again = xs.run("m", sql, view_exists=False)
    assert (again.strategy, again.reason) == (Strategy.FULL, "CLOCK_MOVED")
    xs.check("m")


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ({"full_refresh": True}, "FULL_REFRESH"),
        ({"options": Options(Policy.FULL)}, "POLICY_FULL"),
        ({"sql": SQL.replace("sum", "max")}, "QUERY_CHANGED"),
    ],
)
def test_other_reasons_for_a_rebuild_come_first(xs: Lake, how: dict[str, Any], reason: str) -> None:
    xs.run("m", SQL)
    drop(xs)
    more = dict(how)
    again = xs.run("m", more.pop("sql", SQL), view_exists=False, **more)
    assert (again.strategy, again.reason) == (Strategy.FULL, reason)
    xs.check("m")


def test_sources_that_are_others_need_a_rebuild_all_the_same(xs: Lake) -> None:
    xs.define("w", "select k, v from s.x")
    xs.run("m", "select k, v from s.w")
    drop(xs)
    xs.define("w", "select k, v + 1 as v from s.x")
    again = xs.run("m", "select k, v from s.w", view_exists=False)
    assert (again.strategy, again.reason) == (Strategy.FULL, "VIEW_CHANGED")
    xs.check("m")


def test_a_state_without_the_columns_of_the_query_is_built_again(xs: Lake) -> None:
    sql = QUERIES["without rules"]
    xs.run("m", sql)
    xs.db.execute("drop view s.m; alter table s.m__ivm_state drop column __ivm_col_2__")
    xs.types["m__ivm_state"].popitem()
    again = xs.run("m", sql, view_exists=False)
    assert kinds(again) == [StatementKind.BUILD, StatementKind.CREATE_VIEW]
    xs.check("m")


def test_a_gap_that_shows_when_the_merge_runs_leads_to_the_view_too(xs: Lake) -> None:
    xs.size_of = lambda name: 9
    xs.run("m", SQL)
    drop(xs)
    xs.change("x", insert=[(7, 7)])
    gap = Reason("CHANGE_FEED_GAP", "no feed")
    refresh = plan_refresh(xs.request("m", SQL, view_exists=False), xs, gap)
    assert refresh.strategy is Strategy.RECOMPUTE
    assert kinds(refresh) == [StatementKind.MERGE, StatementKind.CREATE_VIEW]
    refresh = plan_refresh(xs.request("m", SQL, view_exists=False), xs, gap, rebuild=True)
    assert kinds(refresh) == [StatementKind.BUILD, StatementKind.CREATE_VIEW]


def test_a_model_above_goes_on_following_the_view_that_is_made_again(xs: Lake) -> None:
    above = "select count(*) as n, sum(t) as t from s.m"
    xs.run("m", SQL)
    xs.run("top", above)
    drop(xs)
    xs.change("x", insert=[(7, 7)])
    xs.run("m", SQL, view_exists=False)
    followed = xs.run("top", above)
    assert (followed.strategy, followed.reason) == (Strategy.INCREMENTAL, "CHANGED")
    xs.check("top")


@pytest.mark.parametrize("replaced", [False, True])
def test_the_view_of_a_log_is_made_again_with_its_steps(xs: Lake, replaced: bool) -> None:
    """The planner failed at each run; --full-refresh would have lost the rows."""
    log = Options.of({"ivm_output": "inserted"})
    sql = "select k, v from s.x"
    xs.run("m", sql, options=log)
    xs.change("x", insert=[(9, 9)], delete=[(1, 1)])
    xs.run("m", sql, options=log)
    before = xs.view("m")
    if replaced:
        replaced_by(xs, "select 1 as one")
    else:
        drop(xs)
    refresh = xs.run("m", sql, options=log, view_exists=replaced)
    assert (refresh.strategy, refresh.reason) == (Strategy.NOOP, "VIEW_MISSING")
    assert xs.view("m") == before
