"""What states need after many refreshes, and that it cannot cost the bookmark."""

from __future__ import annotations

from dataclasses import replace

import pytest

from python_ivm.errors import InvalidModel
from python_ivm.operate.maintenance import Maintenance, maintenance
from python_ivm.operate.records import records
from python_ivm.optimize.cost import CLUSTERED_FILE_BYTES, FILE_BYTES, Execution
from python_ivm.refresh.metadata.versions import state_history
from python_ivm.refresh.plan import Strategy
from python_ivm.refresh.statement import StatementKind
from python_ivm.sources.history import Commit, DataFile, Detail
from python_ivm.state.storage import Storage
from tests.planner.lake import Lake

SUMS = "select k, sum(v) as t from s.x group by k"
STATE = ("s", "sums__ivm_state")
CLUSTERED = Storage(cluster_by=("K",))
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


def refresh(lake: Lake, times: int, storage: Storage | None = None) -> None:
    for value in range(times):
        lake.change("x", insert=[(1, value)])
        lake.run("sums", SUMS, storage=storage or Storage())


def maintain(lake: Lake, now: int = BUILT + DAY, **more: bool) -> None:
    """Carry it out: commits without rows, and the one with the bookmark."""
    for statement in need(lake, now, **more).statements:
        if statement.kind is StatementKind.MERGE:
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


@pytest.mark.parametrize(("number", "size"), [(10, 1_000), (200, 100 * FILE_BYTES)])
def test_files_that_are_few_or_large_stay(
    xs: Lake, monkeypatch: pytest.MonkeyPatch, number: int, size: int
) -> None:
    files(xs, monkeypatch, number, size)
    refresh(xs, 17)
    assert done(need(xs)) == []


def clustered(lake: Lake, *ends: tuple[int, int], size: int = 2**30) -> None:
    """Cluster the state by its key; its files have these lowest and highest ones."""
    lake.run("sums", SUMS, storage=CLUSTERED, full_refresh=True)
    detail = lake.detail
    found = [DataFile(1, {"k": low}, {"k": high}) for low, high in ends]

    def counted(parts: tuple[str, ...]) -> Detail | None:
        told = detail(parts)
        return told and replace(told, files=len(found), bytes=size)

    lake.detail = counted  # type: ignore[method-assign]
    lake.files = lambda parts: found  # type: ignore[method-assign]


def optimized(planned: Maintenance) -> list[tuple[str, Execution]]:
    return [(s.sql, s.execution) for s in planned.statements if s.sql.startswith("OPTIMIZE")]


def test_a_clustered_build_needs_nothing(xs: Lake) -> None:
    clustered(xs, *((n, n + 1) for n in range(60)))
    refresh(xs, 17, CLUSTERED)
    assert done(need(xs)) == [], "60 files of one GiB are wide enough, if each has a range"
    assert optimized(need(xs, forced=True)) == []


def test_a_state_that_was_clustered_later_is_laid_out(xs: Lake) -> None:
    clustered(xs, (0, 90), (1, 99))
    assert done(need(xs)) == [], "it was built just now"
    forced = need(xs, forced=True)
    assert optimized(forced) == [("OPTIMIZE s.sums__ivm_state FULL", Execution.CLUSTERING)]
    assert "a value of k lies in 2 of its 2 files" in forced.told
    refresh(xs, 17, CLUSTERED)
    assert done(need(xs)) == ["OPTIMIZE", "MERGE"]


def test_a_small_state_is_not_laid_out(xs: Lake) -> None:
    clustered(xs, (0, 90), (1, 99), size=3 * CLUSTERED_FILE_BYTES)
    refresh(xs, 17, CLUSTERED)
    assert done(need(xs)) == []
    assert len(optimized(need(xs, forced=True))) == 1, "unless one asks for it"


def test_many_files_of_a_clustered_state_are_written_together_into_narrow_ones(xs: Lake) -> None:
    clustered(xs, *((n, n + 1) for n in range(200)), size=CLUSTERED_FILE_BYTES)
    assert optimized(need(xs, forced=True)) == [
        ("OPTIMIZE s.sums__ivm_state", Execution.CLUSTERING)
    ]


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
