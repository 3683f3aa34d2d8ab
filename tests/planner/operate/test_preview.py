"""Previews: planned as a run plans, with the refreshes of models before imagined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from python_ivm.operate.pending import pending
from python_ivm.operate.preview import Preview, preview
from python_ivm.operate.records import records, usual_seconds
from python_ivm.operate.simulated_warehouse import NotLooked, SimulatedWarehouse
from python_ivm.refresh.options import Options, Policy
from python_ivm.refresh.plan import Refresh
from python_ivm.sources.history import Commit, SourceVersion
from tests.planner.lake import Lake

SUMS = "select k, sum(v) as t from s.x group by k"
ABOVE = "select count(*) as n, max(t) as hi from s.sums"
MODELS = {"sums": SUMS, "above": ABOVE, "bag": "select k, v from s.x where v > 1"}
FEED = "delta.enableChangeDataFeed"


@pytest.fixture
def xs(lake: Lake) -> Lake:
    lake.create("x", {"k": "int", "v": "int"}, [(1, 1), (1, 2), (2, 5)])
    return lake


def run(lake: Lake, **more: Any) -> dict[str, Refresh]:
    return {name: lake.run(name, sql, **more) for name, sql in MODELS.items()}


def look(lake: Lake, **more: Any) -> dict[str, Preview]:
    """Preview all models, as one run would refresh them; nothing may be executed."""
    simulated, executed = SimulatedWarehouse(lake), len(lake.executed)
    found = {
        name: preview(lake.request(name, sql, **more), simulated) for name, sql in MODELS.items()
    }
    assert len(lake.executed) == executed
    return found


def same(told: dict[str, Preview], done: dict[str, Refresh]) -> None:
    said = {name: (p.strategy, p.reason) for name, p in told.items()}
    assert said == {name: (r.strategy.value, r.reason) for name, r in done.items()}


def test_each_model_is_planned_after_those_before_it(xs: Lake) -> None:
    run(xs)
    same(look(xs), run(xs))
    xs.change("x", insert=[(7, 7)])
    told = look(xs)
    assert [p.strategy for p in told.values()] == ["incremental"] * 3
    assert told["above"].notes == ("depends on what the run does to sums",)
    assert [s.by for s in told["above"].sources] == ["sums"]
    same(told, run(xs))
    xs.optimize("x")
    same(look(xs), run(xs))


def test_a_rebuild_before_is_a_replaced_source(xs: Lake) -> None:
    run(xs)
    options = Options(policy=Policy.FULL)
    simulated = SimulatedWarehouse(xs)
    below = preview(xs.request("sums", SUMS, options=options), simulated)
    above = preview(xs.request("above", ABOVE), simulated)
    assert (below.strategy, below.reason) == ("full", "POLICY_FULL")
    done = xs.run("sums", SUMS, options=options), xs.run("above", ABOVE)
    assert (above.strategy, above.reason) == (done[1].strategy.value, done[1].reason)


def test_an_error_of_one_model_is_told_of_it(xs: Lake) -> None:
    simulated = SimulatedWarehouse(xs)
    found = preview(xs.request("m", "select rand() as r from s.x"), simulated)
    assert found.strategy == "error" and "rand" in found.explanation
    assert preview(xs.request("sums", SUMS), simulated).reason == "FIRST_BUILD"


def test_what_is_built_in_the_same_run_is_not_asked_for(xs: Lake) -> None:
    request = xs.request("above", "select * from s.missing")
    found = preview(request, SimulatedWarehouse(xs), ["missing"])
    assert (found.strategy, found.reason) == ("full", "FIRST_BUILD")
    run(xs)
    found = preview(xs.request("above", ABOVE), SimulatedWarehouse(xs), ["sums"])
    assert found.strategy == "unknown"


def without_feed(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = lake.properties
    off = {FEED: "false"}
    monkeypatch.setattr(
        lake, "properties", lambda parts: kept(parts) | (off if parts[-1] == "x" else {})
    )


def test_a_feed_that_is_off_is_seen_before_the_run(
    xs: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(xs)
    without_feed(xs, monkeypatch)
    assert look(xs)["sums"].strategy == "noop"
    xs.change("x", insert=[(7, 7)])
    found = look(xs)["sums"]
    assert (found.strategy, found.reason) == ("full", "CHANGE_FEED_OFF")
    assert found.fallback


def test_a_feed_that_came_on_too_late_is_a_gap(xs: Lake) -> None:
    run(xs)
    xs.change("x", insert=[(7, 7)])
    xs.optimize("x")
    on = xs.commits["x"][0]
    xs.commits["x"][0] = Commit(on.version, on.timestamp, "SET TBLPROPERTIES", feed=True)
    assert look(xs)["sums"].reason == "CHANGE_FEED_GAP"


def test_a_feed_is_not_switched_on_by_a_look(xs: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    run(xs)
    without_feed(xs, monkeypatch)
    xs.change("x", insert=[(7, 7)])
    monkeypatch.setattr(xs, "enable_change_feed", lambda parts: pytest.fail("it was"))
    found = look(xs, options=Options(enable_change_feed=True))["sums"]
    assert found.reason == "CHANGE_FEED_GAP"
    assert "the run switches on the change feed of s.x" in found.notes


def test_rows_are_read_only_on_request(xs: Lake) -> None:
    plain, looking = SimulatedWarehouse(xs), SimulatedWarehouse(xs, look=True)
    with pytest.raises(NotLooked):
        plain.texts("select 'a'")
    assert plain.left_out and not looking.left_out
    assert looking.texts("select 'a'") == [("a",)]
    run(xs)
    looking.imagine(("s", "x"), "a_model", replaced=False)
    with pytest.raises(NotLooked):  # these rows are not there yet
        looking.texts("select cast(k as string) from s.x")


def test_types_are_asked_of_the_version_before_an_imagined_one(xs: Lake) -> None:
    simulated = SimulatedWarehouse(xs)
    simulated.imagine(("s", "x"), "a_model", replaced=True)
    newest = simulated.history(("s", "x"), 1)[0].version
    assert simulated.describe(f"select * from s.x version as of {newest}".replace(
        "version as of", "VERSION AS OF"
    )) == [("k", "int"), ("v", "int")]  # fmt: skip
    assert simulated.detail(("s", "x")).version == newest


@pytest.mark.parametrize(
    ("commits", "counts", "change"),
    [
        (
            [("WRITE", "Append", {"numOutputRows": "3", "numOutputBytes": "9"})],
            (3, 0, 0, 9),
            "inserts only",
        ),
        ([("UPDATE", "", {"numUpdatedRows": "2"})], (0, 2, 0, None), "general"),
        (
            [
                ("DELETE", "", {"numDeletedRows": "2", "numAddedBytes": "5"}),
                ("MERGE", "", {"numTargetRowsInserted": "1", "numTargetRowsUpdated": "2",
                               "numTargetRowsDeleted": "4", "numTargetBytesAdded": "7"}),
            ],
            (1, 2, 6, 12),
            "general",
        ),
        ([("WRITE", "Overwrite", {"numOutputRows": "3"})], (None, None, None, None), "general"),
        ([("OPTIMIZE", "", {})], (0, 0, 0, 0), "unchanged"),
        ([("CREATE OR REPLACE TABLE", "", {"numOutputRows": "3"})], (None,) * 4, "replaced"),
    ],
)  # fmt: skip
def test_changed_rows_are_summed_by_kind(
    lake: Lake, commits: Sequence[Any], counts: tuple[Any, ...], change: str
) -> None:
    lake.create("y", {"k": "int"})
    bookmark = SourceVersion(0, lake.commits["y"][0].timestamp)
    for operation, mode, metrics in commits:
        version = len(lake.commits["y"])
        lake.commits["y"].insert(0, Commit(version, lake._time(), operation, mode, metrics))
    found = pending(lake, ("s", "y"), bookmark)
    assert (found.inserted, found.updated, found.deleted, found.bytes) == counts
    assert found.change == change and found.is_changed == (change != "unchanged")


def test_the_commits_of_a_state_tell_of_its_refreshes(xs: Lake) -> None:
    xs.run("sums", SUMS, began=xs.milliseconds + xs.between_commits - 8_000)
    for value in range(3):
        xs.change("x", insert=[(1, value)])
        xs.run("sums", SUMS, began=xs.milliseconds + xs.between_commits - 1_000 * (value + 1))
    found = records(xs.commits["sums__ivm_state"])
    assert [(r.strategy, r.reason, r.seconds) for r in found] == [
        ("incremental", "CHANGED", 3.0),
        ("incremental", "CHANGED", 2.0),
        ("incremental", "CHANGED", 1.0),
        ("full", "FIRST_BUILD", 8.0),
    ]
    assert [r.sources for r in found] == [{"s.x": v} for v in (3, 2, 1, 0)]
    assert usual_seconds(found, "incremental", "CHANGED") == 2.0
    assert usual_seconds(found, "recompute", "LOOP") is None
    found[0] = replace(found[0], strategy="recompute", reason="FASTER")
    found[1] = replace(found[1], strategy="recompute", reason="LOOP")
    assert usual_seconds(found, "recompute", "FASTER") == 3.0
    assert usual_seconds(found, "recompute", "CHANGE_FEED_OFF") == 2.0
    told = look(xs)["sums"]
    assert told.rebuild_seconds == 8.0


def test_a_commit_of_an_older_version_tells_less(xs: Lake) -> None:
    xs.run("sums", SUMS)
    commit = xs.commits["sums__ivm_state"][0]
    old = str(commit.user_metadata).rpartition(',"told":')[0] + "}"
    (found,) = records([Commit(0, "1", "MERGE", user_metadata=old)])
    assert (found.strategy, found.reason, found.seconds, found.inserted) == ("", "", None, None)
