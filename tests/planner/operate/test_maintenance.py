"""What states need after many refreshes, and that it cannot cost the bookmark."""

from __future__ import annotations

from dataclasses import replace

import pytest

from python_ivm.errors import InvalidModel
from python_ivm.operate.maintenance import FILE, Maintenance, maintenance
from python_ivm.operate.records import records
from python_ivm.refresh.metadata.versions import state_history
from python_ivm.refresh.statement import Kind, Strategy
from python_ivm.sources.history import Commit, Detail
from tests.planner.lake import Lake

SUMS = "select k, sum(v) as t from s.x group by k"
STATE = ("s", "sums__ivm_state")
DAY = 86_400_000
BUILT = 1_000


@pytest.fixture
def xs(lake: Lake) -> Lake:
    lake.between_commits = 60_000
    lake.create("x", {"k": "int", "v": "int"}, [(1, 1), (1, 2), (2, 5)])
    lake.run("sums", SUMS, began=BUILT)
    return lake


def files(lake: Lake, monkeypatch: pytest.MonkeyPatch, number: int, size: int = 1_000) -> None:
    detail = lake.detail

    def counted(parts: tuple[str, ...]) -> Detail | None:
        found = detail(parts)
        return found and replace(found, files=number, bytes=size)

    monkeypatch.setattr(lake, "detail", counted)


def need(lake: Lake, now: int = BUILT + DAY, **more: bool) -> Maintenance:
    return maintenance(lake.request("sums", SUMS), lake, now, **more)


def done(planned: Maintenance) -> list[str]:
    return [s.sql.split()[0] for s in planned.statements]


def refresh(lake: Lake, times: int) -> None:
    for value in range(times):
        lake.change("x", insert=[(1, value)])
        lake.run("sums", SUMS)


def maintain(lake: Lake, now: int = BUILT + DAY, **more: bool) -> None:
    """Carry it out: commits without rows, and the one with the bookmark."""
    for statement in need(lake, now, **more).statements:
        if statement.kind is Kind.MERGE:
            lake.execute("sums", statement)
        else:
            commits = lake.commits[STATE[1]]
            operation = {"OPTIMIZE": "OPTIMIZE", "VACUUM": "VACUUM END"}[statement.sql.split()[0]]
            version = len(commits)
            lake._keep_version(STATE[1], version, True)
            commits.insert(0, Commit(version, lake._time(), operation))


def test_many_small_files_are_written_together_after_some_refreshes(
    xs: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    files(xs, monkeypatch, 40)
    assert done(need(xs)) == [], "it was built just now"
    refresh(xs, 17)
    assert done(need(xs)) == ["OPTIMIZE", "MERGE"]
    maintain(xs)
    assert done(need(xs)) == [], "though a partitioned state may have as many files as before"
    refresh(xs, 17)
    assert done(need(xs)) == ["OPTIMIZE", "MERGE"]


@pytest.mark.parametrize(("number", "size"), [(10, 1_000), (200, 100 * FILE)])
def test_files_that_are_few_or_large_stay(
    xs: Lake, monkeypatch: pytest.MonkeyPatch, number: int, size: int
) -> None:
    files(xs, monkeypatch, number, size)
    refresh(xs, 17)
    assert done(need(xs)) == []


def test_files_without_use_go_once_a_week(xs: Lake) -> None:
    later = BUILT + 7 * DAY
    assert done(need(xs, later - 1)) == []
    assert done(need(xs, later)) == ["VACUUM", "MERGE"]
    maintain(xs, later)
    refresh(xs, 3)
    assert done(need(xs, later + DAY)) == [], "each bookmark hands the time on"
    assert done(need(xs, later + 7 * DAY)) == ["VACUUM", "MERGE"]


def test_on_request_there_is_no_waiting(xs: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    files(xs, monkeypatch, 3)
    assert done(need(xs, forced=True)) == ["OPTIMIZE", "VACUUM", "MERGE"]


def test_the_bookmark_stays_the_newest_commit_and_refreshes_go_on(xs: Lake) -> None:
    refresh(xs, 1)
    before = state_history(xs, STATE).bookmark
    maintain(xs, forced=True)
    found = state_history(xs, STATE)
    assert before is not None and found.bookmark is not None
    assert found.bookmark.sources == before.sources and found.intact
    assert found.version == found.commit.version, "Delta forgets older commits first"
    assert records(xs.commits[STATE[1]])[0].reason == "MAINTAINED"
    assert xs.run("sums", SUMS).strategy is Strategy.NOOP
    xs.change("x", insert=[(2, 2)])
    xs.refresh_and_check("sums", SUMS, Strategy.INCREMENTAL)


def test_a_refresh_that_came_meanwhile_is_not_undone(xs: Lake) -> None:
    planned = need(xs, forced=True)
    xs.change("x", insert=[(2, 2)])
    refresh = xs.run("sums", SUMS)
    assert planned.statements[-1].fence == refresh.statements[-1].fence, "Delta takes one of both"


def test_what_is_no_state_of_the_model_is_left_alone(xs: Lake) -> None:
    request = xs.request("other", SUMS, state=STATE)
    with pytest.raises(InvalidModel):
        maintenance(request, xs, DAY)
    assert need_of(xs, "unbuilt").told == "it is not built yet"
    version = len(xs.commits[STATE[1]])
    xs.commits[STATE[1]].insert(0, Commit(version, xs._time(), "DELETE"))
    assert "written by something else" in need(xs, forced=True).told


def need_of(lake: Lake, name: str) -> Maintenance:
    return maintenance(lake.request(name, SUMS), lake, DAY)
