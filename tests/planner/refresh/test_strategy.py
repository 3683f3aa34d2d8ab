"""Which strategy refreshes a model, why, and by which statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from python_ivm.errors import InvalidModel, Unsupported
from python_ivm.optimize.cost import Execution
from python_ivm.parse.parser import essence
from python_ivm.parse.views import View
from python_ivm.refresh.metadata.versions import shows_state
from python_ivm.refresh.options import OnConfigurationChange, Options, Policy
from python_ivm.refresh.plan import Counts, Refresh, Strategy
from python_ivm.refresh.reason import Reason
from python_ivm.refresh.statement import StatementKind
from python_ivm.refresh.strategy import plan_refresh
from python_ivm.sources.history import Commit, Detail
from python_ivm.state.bookmark import Bookmark
from tests.planner.lake import Lake, instant

SQL = "select k, sum(v) t from s.x group by k"
NO_RULE = (
    "select y, count(*) n from (select k, approx_percentile(v, 0.5) y from s.x group by k) q "
    "group by y"
)


class OddLake(Lake):
    """A lake whose sources may lack a change feed, or not be Delta tables.

    Attributes:
        without_feed: Tables without a change feed.
        foreign: Tables that are not Delta's.
        others: Tables that the planner did not make.
    """

    def __init__(self) -> None:
        super().__init__()
        self.without_feed: set[str] = set()
        self.foreign: set[str] = set()
        self.others: set[str] = set()
        self.enabled: list[str] = []
        self.view_texts: dict[str, str] = {}

    def history(self, parts: tuple[str, ...], limit: int | None) -> Sequence[Commit] | None:
        return None if parts[-1] in self.foreign else super().history(parts, limit)

    def detail(self, parts: tuple[str, ...]) -> Detail | None:
        return None if parts[-1] in self.foreign else super().detail(parts)

    def properties(self, parts: tuple[str, ...]) -> Mapping[str, str]:
        found = {} if parts[-1] in self.others else dict(super().properties(parts))
        if parts[-1] in self.without_feed:
            del found["delta.enableChangeDataFeed"]
        return found

    def definition(self, parts: tuple[str, ...]) -> View | None:
        text = self.view_texts.get(parts[-1])
        return super().definition(parts) if text is None else View(text, ("spark_catalog", "s"), {})

    def enable_change_feed(self, parts: tuple[str, ...]) -> None:
        self.enabled.append(parts[-1])
        self.without_feed.discard(parts[-1])


@pytest.fixture
def xs() -> OddLake:
    lake = OddLake()
    lake.create("x", {"k": "int", "v": "int"}, [(1, 1), (1, 2), (2, 5)])
    return lake


def outcome(refresh: Refresh) -> tuple[Strategy, str]:
    return refresh.strategy, refresh.reason


def kinds(refresh: Refresh) -> list[StatementKind]:
    return [s.kind for s in refresh.statements]


def under(policy: Policy, **more: Any) -> dict[str, Any]:
    return {"options": Options(policy, **more)}


# -- the ordinary life of a model ----------------------------------------------------------


def test_first_a_build_then_noops_then_one_merge_a_change(xs: OddLake) -> None:
    first = xs.run("m", SQL)
    assert outcome(first) == (Strategy.FULL, "FIRST_BUILD")
    assert kinds(first) == [StatementKind.BUILD, StatementKind.CREATE_VIEW]
    assert first.warning is None
    idle = xs.run("m", SQL)
    assert outcome(idle) == (Strategy.NOOP, "UNCHANGED")
    assert idle.statements == ()
    xs.change("x", insert=[(3, 3)])
    moved = xs.run("m", SQL)
    assert outcome(moved) == (Strategy.INCREMENTAL, "CHANGED")
    assert kinds(moved) == [StatementKind.MERGE]
    assert moved.ranges == ("x@0→1",)
    assert moved.summary(Counts(1, 2, 3)) == "incremental: +1 ~2 -3 rows from x@0→1"
    xs.check("m")


def test_the_history_of_a_source_that_seldom_changes_is_not_asked_for(
    xs: OddLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is a job of Spark's, where the time of the newest commit is none."""
    sql = "select x.k, y.w from s.x join s.y on x.k = y.k"
    xs.create("y", {"k": "int", "w": "int"}, [(1, 1), (2, 2)])
    xs.run("m", sql)
    asked: set[str] = set()
    history = xs.history

    def noting(parts: tuple[str, ...], limit: int | None) -> Sequence[Commit] | None:
        asked.add(parts[-1])
        return history(parts, limit)

    monkeypatch.setattr(xs, "history", noting)
    for changed, questions in (
        ([], set()),  # after a build all are taken to be as they were
        (["x"], {"x"}),
        ([], {"x"}),
        (["x"], {"x"}),
        (["y"], {"x", "y"}),
        (["y"], {"y"}),
        (["x", "y"], {"x", "y"}),
        ([], {"x", "y"}),
    ):
        for name in changed:
            xs.change(name, insert=[(1, 9)])
        asked.clear()
        refresh = xs.refresh_and_check("m", sql)
        assert refresh.strategy is (Strategy.INCREMENTAL if changed else Strategy.NOOP)
        assert asked - {"m__ivm_state"} == questions, changed


def test_a_young_commit_is_not_known_again_by_its_time(xs: OddLake) -> None:
    """A writer whose clock is behind by so much could commit at the same time again."""
    xs.between_commits = 1_000
    xs.create("y", {"k": "int", "w": "int"}, [(1, 1), (2, 2)])
    sql = "select x.k, y.w from s.x join s.y on x.k = y.k"
    for _ in range(3):
        xs.refresh_and_check("m", sql)
        xs.change("x", insert=[(1, 9)])
    xs.change("y", insert=[(1, 5)])
    newest, *others = xs.commits["y"]
    xs.commits["y"] = [replace(newest, timestamp=others[0].timestamp), *others]
    xs.refresh_and_check("m", sql, Strategy.INCREMENTAL)


@pytest.mark.parametrize(
    ("properties", "tuned"),
    [({}, True), ({"delta.enableDeletionVectors": "false"}, False)],
    ids=["by default", "against the user's will"],
)
def test_a_state_of_large_files_is_told_to_mark_rows_as_deleted(
    xs: OddLake, properties: dict[str, str], tuned: bool
) -> None:
    xs.run("m", SQL, properties=properties)

    def kinds(**metrics: int) -> list[StatementKind]:
        metrics_ = {name: str(value) for name, value in metrics.items()}
        newest, *others = xs.commits["m__ivm_state"]
        xs.commits["m__ivm_state"] = [replace(newest, metrics=metrics_), *others]
        xs.change("x", insert=[(1, 9)])
        statements = xs.run("m", SQL, properties=properties).statements
        assert "ALTER TABLE" not in statements[-1].sql
        return [statement.kind for statement in statements]

    large, both = (
        2**30,
        [StatementKind.TUNE, StatementKind.MERGE] if tuned else [StatementKind.MERGE],
    )
    assert kinds(numOutputBytes=2**10) == [StatementKind.MERGE]
    assert kinds(numTargetBytesRemoved=large, numTargetRowsCopied=10**6) == both
    assert kinds(numTargetBytesRemoved=large, numTargetRowsCopied=0) == [StatementKind.MERGE]
    xs.run("m", SQL, properties=properties, full_refresh=True)
    assert kinds(numOutputBytes=large) == both


def test_a_state_that_marks_rows_as_deleted_is_not_told_so_again(
    xs: OddLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was, after all of its rows had been written anew."""
    xs.run("m", SQL)
    newest, *others = xs.commits["m__ivm_state"]
    written = {"numOutputBytes": str(2**30)}
    xs.commits["m__ivm_state"] = [replace(newest, metrics=written), *others]
    monkeypatch.setattr(xs, "detail", lambda parts: Detail("", 2**30, marks_rows=True))
    xs.change("x", insert=[(1, 9)])
    assert [statement.kind for statement in xs.run("m", SQL).statements] == [StatementKind.MERGE]


def test_sizes_are_asked_for_now_and_then(xs: OddLake, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def detail(parts: tuple[str, ...]) -> Detail | None:
        asked.append(parts[-1])
        return Detail("", 2**40)

    xs.run("m", SQL)
    monkeypatch.setattr(xs, "detail", detail)
    for number in range(2, 34):
        xs.change("x", insert=[(1, number)])
        xs.run("m", SQL)
    # The source once, after the build; the state at the first refresh, the 17th and the 33rd.
    assert asked == ["x", *["m__ivm_state"] * 3]


COUNTED_TWICE = (
    "select n, count(*) as c from (select x.k, count(y.w) as n from s.x left join s.y on x.k = y.k "
    "group by x.k) q group by n"
)


@pytest.mark.parametrize(
    ("rows", "chosen"),
    [("1", (Strategy.RECOMPUTE, "CHEAPER")), (None, (Strategy.INCREMENTAL, "CHANGED"))],
)
@pytest.mark.parametrize("policy", [Policy.AUTO, Policy.INCREMENTAL, Policy.STRICT])
def test_a_change_that_is_more_expensive_to_follow_is_recomputed_under_every_policy(
    xs: OddLake, rows: str | None, chosen: tuple[Strategy, str], policy: Policy
) -> None:
    """Both states of y are read to follow it, and the groups below the top; one to compute it."""
    xs.create("y", {"k": "int", "w": "int"}, [(1, 1), (2, 2), (None, 3)])
    xs.size_of = lambda name: {"y": 2**28, "m__ivm_state": 2**24}.get(name, 9)
    xs.run("m", COUNTED_TWICE)
    for change in ({"insert": [(1, 5)]}, {"delete": [(2, 2)]}, {"insert": [(2, 2), (3, 3)]}):
        xs.change("y", **change)
        newest, *others = xs.commits["y"]
        metrics = {} if rows is None else {"numOutputRows": rows, "numDeletedRows": rows}
        xs.commits["y"] = [replace(newest, metrics=metrics), *others]
        refresh = xs.run("m", COUNTED_TWICE, **under(policy))
        xs.check("m")
        assert outcome(refresh) == chosen
        assert refresh.warning is None
        assert kinds(refresh) == [StatementKind.MERGE]
        assert ("FULL JOIN" in refresh.statements[0].sql) is (rows is not None)
    told, why = "incremental", ""
    if rows is not None:
        told, why = "recompute (CHEAPER)", "; to follow what changed would read more"
    assert refresh.summary(Counts(1, 2, 3)) == f"{told}: +1 ~2 -3 rows from y@2→3{why}"


REPLACED = "CREATE OR REPLACE TABLE AS SELECT"


def replace_rows(lake: Lake, table: str, rows: list[tuple[Any, ...]]) -> None:
    """A table is replaced by one with other rows."""
    lake.change(table, delete=lake.rows[table][-1], insert=rows)
    newest, *others = lake.commits[table]
    lake.commits[table] = [replace(newest, operation=REPLACED), *others]


@pytest.mark.parametrize(
    ("bytes_of_source", "bytes_of_state", "recomputes"),
    [(9, 9, True), (2**30, 2**26, True), (2**30, 2**30, False), (None, 9, False)],
)
def test_of_a_replaced_source_the_rows_that_differ_are_written_if_the_state_is_small(
    xs: OddLake,
    bytes_of_source: int | None,
    bytes_of_state: int,
    recomputes: bool,
) -> None:
    xs.size_of = {"x": bytes_of_source, "m__ivm_state": bytes_of_state}.__getitem__
    xs.run("m", SQL)
    replace_rows(xs, "x", [(1, 1), (4, 4)])
    refresh = xs.refresh_and_check("m", SQL)
    strategy = Strategy.RECOMPUTE if recomputes else Strategy.FULL
    assert outcome(refresh) == (strategy, "SOURCE_REPLACED")
    if recomputes:
        assert kinds(refresh) == [StatementKind.MERGE]
        told = "+1 ~2 -3 rows from x@0→1; s.x was replaced as a whole"
        assert refresh.summary(Counts(1, 2, 3)) == f"recompute (SOURCE_REPLACED): {told}"
    assert xs.run("m", SQL).strategy is Strategy.NOOP
    xs.change("x", insert=[(4, 1)])
    assert xs.refresh_and_check("m", SQL).reason == "CHANGED"


def test_what_cannot_be_followed_is_told_by_the_policies(xs: OddLake) -> None:
    xs.size_of = lambda name: 9
    xs.run("m", SQL)
    replace_rows(xs, "x", [(1, 1)])
    with pytest.raises(Unsupported, match=r"strict.*\(SOURCE_REPLACED\)"):
        plan_refresh(xs.request("m", SQL, options=Options(policy=Policy.STRICT)), xs)
    warned = xs.run("m", SQL, options=Options(policy=Policy.INCREMENTAL))
    assert warned.strategy is Strategy.RECOMPUTE
    assert warned.warning == "m: recomputed (SOURCE_REPLACED): s.x was replaced as a whole"


@pytest.mark.parametrize(
    "retyped",
    [
        {"x": {"k": "bigint", "v": "bigint"}},
        # Built while a source was replaced, so that the fingerprint is of newer types.
        {"m__ivm_state": {"t": "decimal(5,1)"}},
    ],
    ids=["source", "state"],
)
def test_a_state_of_other_types_than_a_build_would_give_it_is_replaced(
    xs: OddLake, retyped: dict[str, dict[str, str]]
) -> None:
    xs.size_of = lambda name: 9
    xs.run("m", SQL)
    for table, kinds_ in retyped.items():
        xs.types[table] |= kinds_
    replace_rows(xs, "x", [(1, 1)])
    assert xs.refresh_and_check("m", SQL, Strategy.FULL).reason == "SOURCE_REPLACED"


def test_columns_that_are_spelled_otherwise_since_a_source_was_replaced(xs: OddLake) -> None:
    xs.size_of = lambda name: 9
    xs.create("names", {"Id": "int"}, [(1,)])
    sql = "select * from s.names"
    xs.run("m", sql)
    xs.types["names"] = {"ID": "int"}
    replace_rows(xs, "names", [(2,)])
    assert xs.refresh_and_check("m", sql, Strategy.FULL).reason == "SOURCE_REPLACED"
    assert list(xs.views["m"].columns) == ["ID"]


def test_sizes_are_asked_again_where_a_source_was_replaced(xs: OddLake) -> None:
    sizes = {"x": 9, "m__ivm_state": 9}
    xs.size_of = sizes.__getitem__
    xs.run("m", SQL)
    replace_rows(xs, "x", [(1, 1)])
    assert xs.run("m", SQL).statements[0].execution is Execution.PLANNED_ONCE
    sizes["x"] = 2**40
    replace_rows(xs, "x", [(1, 2)])
    assert xs.run("m", SQL).statements[0].execution is Execution.USUAL
    sizes["m__ivm_state"] = 2**40
    replace_rows(xs, "x", [(1, 3)])
    xs.refresh_and_check("m", SQL, Strategy.FULL)


@pytest.mark.parametrize(
    ("rebuild", "strategy"), [(False, Strategy.RECOMPUTE), (True, Strategy.FULL)]
)
def test_a_gap_that_shows_when_the_merge_runs(
    xs: OddLake, rebuild: bool, strategy: Strategy
) -> None:
    xs.size_of = lambda name: 9
    xs.run("m", SQL)
    xs.change("x", insert=[(7, 7)])
    gap = Reason("CHANGE_FEED_GAP", "no feed")
    refresh = plan_refresh(xs.request("m", SQL), xs, gap, rebuild=rebuild)
    assert outcome(refresh) == (strategy, "CHANGE_FEED_GAP")
    for statement in refresh.statements:
        xs.execute("m", statement)
    xs.check("m")
    drifted = plan_refresh(xs.request("m", SQL), xs, Reason("STATE_DRIFTED", "it has"))
    assert drifted.strategy is Strategy.FULL


def test_data_and_bookmark_travel_in_one_commit_with_a_growing_fence(xs: OddLake) -> None:
    (build, _), numbers = xs.run("m", SQL).statements, []
    numbers.append(build.fence)
    for v in (7, 8):
        xs.change("x", insert=[(3, v)])
        (merge,) = xs.run("m", SQL).statements
        bookmark = Bookmark.of(merge.bookmark)
        assert bookmark is not None
        assert bookmark.sources["s.x"].version == len(xs.rows["x"]) - 1
        assert merge.fence is not None and bookmark.refresh == merge.fence[1]
        numbers.append(merge.fence)
    assert [n for _, n in numbers] == [1, 2, 3]
    assert len({name for name, _ in numbers}) == 1


def test_a_refresh_that_crashed_before_its_commit_is_planned_again_the_same(xs: OddLake) -> None:
    xs.run("m", SQL)
    xs.change("x", insert=[(3, 3)])
    once = plan_refresh(xs.request("m", SQL), xs)
    again = plan_refresh(xs.request("m", SQL), xs)
    assert once == again


def test_a_change_of_a_table_that_the_plan_does_not_read_is_a_noop(xs: OddLake) -> None:
    xs.create("y", {"k": "int"}, [(1,)])
    sql = f"with unused as (select k from s.y) {SQL}"
    xs.run("m", sql)
    xs.change("y", insert=[(2,)])
    assert xs.run("m", sql).strategy is Strategy.NOOP
    xs.change("x", insert=[(2, 2)])
    assert xs.run("m", sql).ranges == ("x@0→1",)
    xs.check("m")


# -- reasons for a rebuild -----------------------------------------------------------------


def test_full_refresh_rebuilds_and_is_no_fallback(xs: OddLake) -> None:
    xs.run("m", SQL)
    again = xs.run("m", SQL, full_refresh=True, **under(Policy.STRICT))
    assert outcome(again) == (Strategy.FULL, "FULL_REFRESH")
    assert again.warning is None
    assert again.statements[0].fence == ("dbt-sparkivm:s.m__ivm_state", 2)


def test_a_changed_query_is_rebuilt_once(xs: OddLake) -> None:
    xs.run("m", SQL)
    changed = SQL.replace("sum", "max")
    assert outcome(xs.run("m", changed)) == (Strategy.FULL, "QUERY_CHANGED")
    xs.check("m")
    assert xs.run("m", changed).strategy is Strategy.NOOP


def test_comments_and_layout_of_the_text_are_no_change(xs: OddLake) -> None:
    xs.run("m", SQL)
    spaced = "-- note\nselect k,\n  sum(v) t /* total */\nfrom s.x group by k"
    assert xs.run("m", spaced).strategy is Strategy.NOOP
    assert xs.run("m", "SELECT k, SUM(v) t FROM s.x GROUP BY k").strategy is Strategy.NOOP


@pytest.mark.parametrize("now", ["'A'", "'a '", "`a`", "date 'a'"])
def test_another_text_or_name_is_a_changed_query(xs: OddLake, now: str) -> None:
    assert essence(f"select k, {now} as c from s.x") != essence("select k, 'a' as c from s.x")


def test_the_case_of_a_columns_name_is_a_change(xs: OddLake) -> None:
    xs.run("m", SQL)
    assert xs.run("m", SQL.replace(" t ", " T ")).reason == "QUERY_CHANGED"


def test_a_changed_setting_is_a_changed_query(xs: OddLake) -> None:
    xs.run("m", SQL, settings={"timeZone": "UTC"})
    moved = xs.run("m", SQL, settings={"timeZone": "Europe/Berlin"})
    assert outcome(moved) == (Strategy.FULL, "QUERY_CHANGED")


def test_a_text_that_differs_at_each_run_is_warned_of(xs: OddLake) -> None:
    """`{{ invocation_id }}` in a model had it rebuilt at every run, and nothing told why."""
    varying = {"varying": ("invocation_id",)}
    for number, warns in enumerate((False, False, True, True)):
        refresh = xs.run("m", SQL.replace("sum(v)", f"sum(v) + {number}"), **varying)
        assert refresh.strategy is Strategy.FULL
        assert warns == ("invocation_id in it differs" in (refresh.warning or ""))
    edited = xs.run("m", SQL)
    assert (edited.reason, edited.warning) == ("QUERY_CHANGED", None)
    xs.change("x", insert=[(2, 2)])
    assert xs.run("m", SQL, **varying).warning is None
    assert xs.run("m", SQL.replace("sum", "max"), **varying).warning is None


def test_on_configuration_change_fail_leaves_everything_as_it_is(xs: OddLake) -> None:
    xs.run("m", SQL)
    done = len(xs.executed)
    fail = under(Policy.AUTO, on_configuration_change=OnConfigurationChange.FAIL)
    with pytest.raises(InvalidModel, match=r"model m: .*forbids a rebuild.*--full-refresh"):
        xs.run("m", SQL + " having count(*) > 0", **fail)
    assert len(xs.executed) == done
    rebuilt = xs.run("m", SQL + " having count(*) > 0", full_refresh=True, **fail)
    assert rebuilt.reason == "FULL_REFRESH"


def test_full_refresh_false_forbids_the_rebuild_of_a_changed_query(xs: OddLake) -> None:
    xs.run("m", SQL, full_refresh=False)
    xs.change("x", insert=[(2, 2)])
    assert xs.run("m", SQL, full_refresh=False).strategy is Strategy.INCREMENTAL
    with pytest.raises(InvalidModel, match="forbids a rebuild"):
        xs.run("m", SQL.replace("sum", "max"), full_refresh=False)


def test_what_helps_where_full_refresh_false_forbids_it(xs: OddLake) -> None:
    """dbt lets the config win over the flag: to advise `--full-refresh` alone was no help."""
    xs.run("m", SQL)
    fail = under(Policy.AUTO, on_configuration_change=OnConfigurationChange.FAIL)
    for how in ({}, fail):
        with pytest.raises(InvalidModel) as refused:
            xs.run("m", SQL.replace("sum", "max"), full_refresh=False, **how)
        assert "full_refresh: false forbids a rebuild" in str(refused.value)
        assert "take full_refresh: false out of the model's config" in str(refused.value)


# -- --empty and --sample ------------------------------------------------------------------


def test_a_second_empty_run_gives_the_view_its_present_columns(xs: OddLake) -> None:
    first = xs.run("m", SQL, partial=True)
    assert outcome(first) == (Strategy.FULL, "PARTIAL")
    again = xs.run("m", SQL.replace("sum(v) t", "1 as more, sum(v) t"), partial=True)
    assert outcome(again) == (Strategy.FULL, "PARTIAL")
    assert " AS more," in "".join(s.sql for s in again.statements)
    assert outcome(xs.run("m", SQL)) == (Strategy.FULL, "FIRST_BUILD")
    assert "ivm.stand_in" not in xs.kept["m__ivm_state"]


@pytest.mark.parametrize("written", [False, True])
def test_an_empty_run_leaves_rows_that_a_build_wrote(xs: OddLake, written: bool) -> None:
    """Also those of a state whose bookmark is lost."""
    xs.run("m", SQL)
    if written:
        xs.commits["m__ivm_state"] = [Commit(0, "m-1", "CREATE OR REPLACE TABLE AS SELECT")]
    same = xs.run("m", SQL, partial=True)
    assert (same.strategy, same.statements, same.warning) == (Strategy.NOOP, (), None)


def test_an_empty_run_warns_of_a_built_view_that_has_other_columns(xs: OddLake) -> None:
    xs.run("m", SQL)
    other = xs.run("m", SQL.replace("sum(v) t", "1 as more, sum(v) t"), partial=True)
    assert (other.strategy, other.statements) == (Strategy.NOOP, ())
    assert other.warning is not None and "k, more, t" in other.warning


# -- what forbids --------------------------------------------------------------------------


@pytest.mark.parametrize("policy", [Policy.AUTO, Policy.FULL])
@pytest.mark.parametrize("written", [False, True])
def test_what_forbids_a_changed_query_comes_before_other_reasons(
    xs: OddLake, policy: Policy, written: bool
) -> None:
    """A state that was written, and the policy `full`, let the new query pass."""
    xs.run("m", SQL)
    if written:
        xs.commits["m__ivm_state"].insert(0, Commit(1, "m-1", "DELETE"))
    changed = SQL.replace("sum", "max")
    with pytest.raises(InvalidModel, match="forbids a rebuild"):
        xs.run("m", changed, full_refresh=False, **under(policy))
    with pytest.raises(InvalidModel, match="forbids a rebuild"):
        xs.run("m", changed, **under(policy, on_configuration_change=OnConfigurationChange.FAIL))


def test_a_source_that_is_only_maintained_does_not_lose_the_bookmarks_commit(xs: OddLake) -> None:
    """Once the log had forgotten it, a view of which no row had changed was rebuilt."""
    xs.run("m", SQL)
    built = xs.commits["x"][0]
    xs.between_commits = 10 * 3_600_000
    seen = []
    for _ in range(4):
        xs.optimize("x")
        refresh = xs.run("m", SQL)
        assert outcome(refresh) == (Strategy.NOOP, "UNCHANGED")
        seen.append(kinds(refresh))
    assert seen == [[], [], [StatementKind.MERGE], []]
    xs.commits["x"].remove(built)
    assert xs.run("m", SQL).strategy is Strategy.NOOP
    xs.change("x", insert=[(2, 2)])
    assert xs.run("m", SQL, **under(Policy.STRICT)).strategy is Strategy.INCREMENTAL
    xs.check("m")


def test_a_state_that_something_else_wrote_is_rebuilt_with_a_warning(xs: OddLake) -> None:
    xs.run("m", SQL)
    state = xs.commits["m__ivm_state"]
    state.insert(0, Commit(1, "m-1", "DELETE"))
    healed = xs.run("m", SQL)
    assert outcome(healed) == (Strategy.FULL, "STATE_MODIFIED")
    assert healed.warning is not None and "m__ivm_state" in healed.warning
    xs.check("m")


@pytest.mark.parametrize("kind", ["foreign", "others"])
@pytest.mark.parametrize("how", [{}, under(Policy.FULL), {"full_refresh": True}, {"partial": True}])
def test_a_table_of_others_under_the_states_name_is_left_alone(
    xs: OddLake, how: dict[str, Any], kind: str
) -> None:
    xs.create("m__ivm_state", {"k": "int"}, [(1,)])
    getattr(xs, kind).add("m__ivm_state")
    with pytest.raises(InvalidModel, match="is no state of a maintained model"):
        xs.run("m", SQL, **how)


def test_a_state_whose_bookmark_is_lost_is_built_again(xs: OddLake) -> None:
    xs.run("m", SQL)
    xs.commits["m__ivm_state"] = [Commit(0, "m-1", "CREATE OR REPLACE TABLE AS SELECT")]
    assert outcome(xs.run("m", SQL)) == (Strategy.FULL, "FIRST_BUILD")


def test_an_error_of_the_catalog_is_no_bug_of_the_planner(
    xs: OddLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(schema: object) -> list[str]:
        raise ConnectionError("the metastore is away")

    monkeypatch.setattr(xs, "user_functions", broken)
    with pytest.raises(ConnectionError):
        xs.run("m", SQL)
    assert "m__ivm_state" not in xs.commits


@pytest.mark.parametrize("end", [";", " ;; ", ";\n-- the end", "; /* ; */ ;"])
def test_a_model_may_end_in_a_semicolon_and_a_comment(xs: OddLake, end: str) -> None:
    for name, sql in (("m", SQL), ("without_a_rule", NO_RULE)):
        xs.run(name, sql + end)
        xs.change("x", insert=[(1, 7)])
        xs.run(name, sql + end)
        xs.check(name)
    assert all(";" not in statement.sql for statement in xs.executed)


def test_a_state_that_was_only_optimized_is_intact(xs: OddLake) -> None:
    xs.run("m", SQL)
    xs.commits["m__ivm_state"].insert(0, Commit(1, "m-1", "OPTIMIZE"))
    assert xs.run("m", SQL).strategy is Strategy.NOOP


def test_a_reason_that_showed_while_running_is_taken(xs: OddLake) -> None:
    xs.run("m", SQL)
    xs.change("x", insert=[(2, 2)])
    forced = Reason("CHANGE_FEED_GONE", "its files were vacuumed")
    refresh = plan_refresh(xs.request("m", SQL), xs, forced)
    assert outcome(refresh) == (Strategy.FULL, "CHANGE_FEED_GONE")
    with pytest.raises(Unsupported, match="CHANGE_FEED_GONE"):
        plan_refresh(xs.request("m", SQL, **under(Policy.STRICT)), xs, forced)


def test_the_view_of_a_state_without_a_bookmark_is_kept_for_that_state(xs: OddLake) -> None:
    """As ``--empty`` leaves it: it counted as the view of a build that ended before its own."""
    xs.run("m", SQL)
    xs.commits["m__ivm_state"] = [Commit(0, "t", "CREATE TABLE AS SELECT")]
    xs.view_texts["m"] = "select k, t from s.m__ivm_state"
    refresh = plan_refresh(xs.request("m", SQL), xs)
    assert refresh.reason == "FIRST_BUILD"
    assert kinds(refresh) == [
        StatementKind.KEEP_VIEW,
        StatementKind.BUILD,
        StatementKind.CREATE_VIEW,
    ]


def test_the_view_that_tells_another_date_is_kept_for_its_state(xs: OddLake) -> None:
    sql = "select current_date() as today, sum(v) as t from s.x"
    xs.run("m", sql)
    xs.view_texts["m"] = "select cast('2020-01-01' as date) as today, t from s.m__ivm_state"
    xs.now = instant("2030-01-01 12:00:00")
    refresh = plan_refresh(xs.request("m", sql), xs)
    assert refresh.reason == "CLOCK_MOVED"
    assert kinds(refresh) == [
        StatementKind.KEEP_VIEW,
        StatementKind.BUILD,
        StatementKind.CREATE_VIEW,
    ]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("SELECT k FROM `s`.`m__ivm_state` AS v", True),
        ("select k from s.M__IVM_STATE", True),
        ("select k from s.m__ivm_state version as of 3", False),
        ("select k from s.m__ivm_state_v2", False),
        ("select k from s.xm__ivm_state", False),
    ],
)
def test_a_view_shows_the_state_that_it_names(text: str, shown: bool) -> None:
    """Of a state whose name begins like another one's the view counted as the other's, too."""
    assert shows_state(text, "m__ivm_state") is shown


def test_a_table_under_the_views_name_is_dropped_after_the_build(xs: OddLake) -> None:
    refresh = plan_refresh(xs.request("m", SQL, table_in_the_way=True), xs)
    assert kinds(refresh) == [
        StatementKind.BUILD,
        StatementKind.DROP_TABLE,
        StatementKind.CREATE_VIEW,
    ]


def test_the_old_view_stays_readable_while_a_state_of_other_columns_is_built(xs: OddLake) -> None:
    xs.run("m", SQL)
    changed = SQL.replace("sum(v) t", "max(v) hi")
    xs.view_texts["m"] = "select k, t from s.m__ivm_state"
    refresh = plan_refresh(xs.request("m", changed), xs)
    assert kinds(refresh) == [
        StatementKind.KEEP_VIEW,
        StatementKind.BUILD,
        StatementKind.CREATE_VIEW,
    ]
    assert "s.m__ivm_state VERSION AS OF 0" in refresh.statements[0].sql
    same = plan_refresh(xs.request("m", SQL, full_refresh=True), xs)
    assert kinds(same) == [StatementKind.BUILD, StatementKind.CREATE_VIEW]


# -- policies ------------------------------------------------------------------------------


def test_policy_full_always_rebuilds(xs: OddLake) -> None:
    for _ in range(2):
        assert outcome(xs.run("m", SQL, **under(Policy.FULL))) == (Strategy.FULL, "POLICY_FULL")
        xs.check("m")


@pytest.mark.parametrize("policy", list(Policy))
def test_what_has_no_rule_is_rebuilt_told_or_refused(xs: OddLake, policy: Policy) -> None:
    if policy is Policy.STRICT:
        with pytest.raises(Unsupported, match=r"ivm_policy is strict.*NOT_YET_IMPLEMENTED"):
            xs.run("m", NO_RULE, **under(policy))
        assert xs.executed == []
        return
    refresh = xs.run("m", NO_RULE, **under(policy))
    assert refresh.strategy is Strategy.FULL
    xs.check("m")
    told = refresh.warning is not None and "NOT_YET_IMPLEMENTED" in refresh.warning
    assert told == (policy is Policy.INCREMENTAL)


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("select k, t.n from (select k, sum(f) n from s.z group by k) t", None),
        (
            "select n from (select k, sum(distinct f) n from s.z group by k) q group by n",
            "floating",
        ),
        ("select k, sum(v) as __ivm_count__ from s.x group by k", "__ivm_count__"),
        (NO_RULE, "percentile_approx"),
        ("select 1 as one", None),
    ],
)
def test_each_construct_without_a_rule_is_rebuilt_with_the_right_rows(
    xs: OddLake, sql: str, names: str | None
) -> None:
    xs.create("z", {"k": "int", "f": "double"}, [(1, 0.1), (1, 0.2), (2, 0.7)])
    for row in ((9, 9), (1, -1)):
        first = xs.run("m", sql)
        if names is not None and first.strategy is not Strategy.NOOP:
            assert outcome(first) == (Strategy.FULL, "NOT_YET_IMPLEMENTED")
            assert names.lower() in first.explanation.lower()
        xs.check("m")
        xs.change("x", insert=[row])
        xs.change("z", insert=[(row[0], 0.3)])


# -- sources -------------------------------------------------------------------------------


def test_a_source_without_a_change_feed_is_told_on_the_first_build(xs: OddLake) -> None:
    xs.without_feed.add("x")
    first = xs.run("m", SQL)
    assert first.strategy is Strategy.FULL
    assert first.warning is not None
    assert "ALTER TABLE s.x SET TBLPROPERTIES (delta.enableChangeDataFeed = true)" in first.warning
    assert "ivm_enable_change_feed" in first.warning
    with pytest.raises(Unsupported, match="CHANGE_FEED_OFF"):
        xs.run("n", SQL, **under(Policy.STRICT))


def test_under_strict_no_rebuild_is_advised_where_it_would_be_refused_too(xs: OddLake) -> None:
    xs.run("m", SQL)
    xs.without_feed.add("x")
    for name, full_refresh in (("n", False), ("m", True)):
        with pytest.raises(Unsupported, match="CHANGE_FEED_OFF") as refused:
            xs.run(name, SQL, full_refresh=full_refresh, **under(Policy.STRICT))
        assert refused.value.hint == "Give the source a change feed, or set ivm_policy: auto."


def test_a_change_feed_may_be_switched_on(xs: OddLake) -> None:
    xs.without_feed.add("x")
    first = xs.run("m", SQL, **under(Policy.STRICT, enable_change_feed=True))
    assert xs.enabled == ["x"]
    assert first.warning is None
    xs.change("x", insert=[(2, 2)])
    assert xs.run("m", SQL).strategy is Strategy.INCREMENTAL


def test_a_source_that_is_no_delta_table_is_rebuilt_from_every_time_aloud(xs: OddLake) -> None:
    xs.foreign.add("x")
    for _ in range(2):
        refresh = xs.run("m", SQL)
        assert outcome(refresh) == (Strategy.FULL, "SOURCE_NOT_DELTA")
        assert refresh.warning is not None and "s.x is not a Delta table" in refresh.warning
        xs.check("m")
    with pytest.raises(Unsupported, match="SOURCE_NOT_DELTA"):
        xs.run("n", SQL, **under(Policy.STRICT))


def test_a_source_that_became_a_delta_table_is_followed_from_then_on(xs: OddLake) -> None:
    """The build that found it so said once more that it is none."""
    xs.foreign.add("x")
    xs.run("m", SQL)
    xs.foreign.clear()
    built = xs.run("m", SQL)
    assert outcome(built) == (Strategy.FULL, "NOW_MAINTAINED")
    assert (built.explanation, built.warning) == ("s.x can be followed now", None)
    xs.change("x", insert=[(4, 1)])
    assert xs.refresh_and_check("m", SQL).reason == "CHANGED"


def test_a_missing_source_is_an_error_and_writes_nothing(xs: OddLake) -> None:
    xs.run("m", SQL)
    done = len(xs.executed)
    del xs.commits["x"], xs.types["x"]
    with pytest.raises(InvalidModel, match=r"s\.x does not exist"):
        xs.run("m", SQL)
    assert len(xs.executed) == done


# -- configuration -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"ivm_policy": "sometimes"}, "ivm_policy is 'sometimes'.*auto, incremental, strict, full"),
        ({"on_configuration_change": "no"}, "Allowed are apply, continue, fail"),
        ({"ivm_polcy": "auto"}, "Unknown config ivm_polcy.*ivm_policy"),
        ({"ivm_enable_change_feed": "yes"}, "true or false"),
    ],
)
def test_a_wrong_configuration_is_refused(config: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidModel, match=message):
        Options.of(config)


def test_a_configuration_is_read() -> None:
    read = Options.of({"ivm_policy": "strict", "ivm_enable_change_feed": True, "tags": ["x"]})
    assert read == Options(Policy.STRICT, OnConfigurationChange.APPLY, True)
    assert Options.of({}) == Options()


@pytest.mark.parametrize(
    "sql",
    [
        "select m, count(*) n from s.d group by m",
        "select count(*) n from s.d group by m",
        "select distinct k, m from s.d",
        "select q.n from (select m, count(*) n from s.d group by m) q",
    ],
)
def test_groups_that_cannot_be_compared_are_rebuilt(lake: Lake, sql: str) -> None:
    lake.create("d", {"k": "int", "m": "map<string, int>"}, [(1, {"a": 1})])
    lake.refresh_and_check("m", sql)
    lake.change("d", insert=[(1, {"a": 1}), (2, None)])
    refresh = lake.refresh_and_check("m", sql, Strategy.FULL)
    assert "which Spark cannot compare" in refresh.explanation


def test_a_map_that_only_expressions_read_is_no_obstacle(lake: Lake) -> None:
    lake.create("d", {"k": "int", "m": "map<string, int>"}, [(1, {"a": 1})])
    sql = "select k, m['a'] as a, count(*) n from s.d group by k, m['a']"
    lake.refresh_and_check("m", sql)
    lake.change("d", insert=[(1, {"a": 1}), (2, None)])
    lake.refresh_and_check("m", sql, Strategy.INCREMENTAL)


def test_two_models_with_one_state_are_refused(xs: OddLake) -> None:
    """Each would find the other's query, and rebuild."""
    xs.run("m", "select k from s.x")
    request = xs.request("m", "select v from s.x")
    other = replace(request, model="n", view=("s", "n"))
    with pytest.raises(InvalidModel, match=r"is the state of s\.m") as caught:
        plan_refresh(other, xs)
    assert "ivm_state_suffix or location_root" in str(caught.value)
    assert plan_refresh(replace(request, view=("S", "M")), xs).reason == "QUERY_CHANGED"
