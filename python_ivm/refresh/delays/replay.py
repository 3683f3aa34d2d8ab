"""The runs of a model that reads its own rows, as the history of its state tells them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from python_ivm.errors import InvalidModel
from python_ivm.parse.marks import AS_OF_LAST
from python_ivm.refresh.metadata.warehouse import Warehouse
from python_ivm.sources.history import Commit
from python_ivm.state.bookmark import Bookmark


@dataclass(frozen=True)
class ReplayedRun:
    """One of a model's refreshes.

    Attributes:
        version: The version of the state that it made.
        bookmark: What that holds.
    """

    version: int
    bookmark: Bookmark


def told_runs(warehouse: Warehouse, state: tuple[str, ...]) -> list[ReplayedRun]:
    """A state's refreshes by the query that it has now, newest first.

    They go back to the build, or to where a view that the query reads was another one.

    Raises:
        InvalidModel: If the history does not go back to there.
    """
    found: list[ReplayedRun] = []
    for run in _runs(warehouse, state):
        if run.bookmark.start or (found and run.bookmark.views != found[0].bookmark.views):
            return found
        found.append(run)
    raise _forgotten(state, "runs")


def told_steps(warehouse: Warehouse, state: tuple[str, ...], runs: int | None) -> list[ReplayedRun]:
    """The last steps of a log, newest first, and the one before them if there is one.

    Args:
        warehouse: Is asked.
        state: The log's name.
        runs: How many; None means all since its build.

    Raises:
        InvalidModel: If the history does not go back so far.
    """
    found: list[ReplayedRun] = []
    for run in _runs(warehouse, state):
        found.append(run)
        told = run.bookmark.told
        built = told is not None and told.strategy == "full"
        if built or (runs is not None and len(found) > runs):
            return found
    raise _forgotten(state, "steps")


def _runs(warehouse: Warehouse, state: tuple[str, ...]) -> Iterator[ReplayedRun]:
    """A state's refreshes as far as its history goes, newest first."""
    for commit in warehouse.history(state, None) or ():
        bookmark = Bookmark.of(commit.user_metadata)
        if bookmark is not None:
            yield ReplayedRun(commit.version, bookmark)


def _forgotten(state: tuple[str, ...], what: str) -> InvalidModel:
    return InvalidModel(
        f"The history of {'.'.join(state)} does not go back to its build any more, so that not all "
        f"of its {what} can be replayed",
        hint=_FEWER,
    )


def refuse_forgotten(runs: Sequence[ReplayedRun], warehouse: Warehouse) -> None:
    """Replay no run whose sources have forgotten what it read.

    Raises:
        InvalidModel: If there is one.
    """
    known: dict[str, set[int]] = {}
    for run in runs:
        for name, read in run.bookmark.sources.items():
            key = name.removesuffix(AS_OF_LAST)
            if read.is_before_all:
                continue
            if key not in known:
                commits: Sequence[Commit] = warehouse.history(tuple(key.split(".")), None) or ()
                known[key] = {commit.version for commit in commits}
            if read.version not in known[key]:
                raise InvalidModel(
                    f"{key} has forgotten its version {read.version}, which refresh "
                    f"{run.bookmark.refresh} read, so that this run cannot be replayed",
                    hint=_FEWER,
                )


_FEWER = (
    "Replay the last runs only: ivm_consistent with runs: 10. Versions are kept as long as the "
    "tables' delta.logRetentionDuration says, and their files until VACUUM."
)
