"""What the next refresh of a model would do: planned as a run plans it, and carried out nowhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from python_ivm.errors import IvmError
from python_ivm.operate.pending import Pending, pending
from python_ivm.operate.records import records, usual_seconds
from python_ivm.operate.simulated_warehouse import SimulatedWarehouse
from python_ivm.optimize.analysis.reads import changes_in
from python_ivm.optimize.cost import Cost, ReadSize
from python_ivm.refresh.plan import Refresh, Strategy
from python_ivm.refresh.reason import Reason
from python_ivm.refresh.request import Request
from python_ivm.refresh.strategy import Planner
from python_ivm.sources.history import COMMITS_WITHOUT_JOB, Change
from python_ivm.state.bookmark import build_time

UNKNOWN = ReadSize(None, None)

ERROR = "error"
"""Stands for the strategy of a model that a run could not refresh."""
OPEN = "unknown"
"""Stands for the strategy of a model that depends on what another one becomes."""


@dataclass(frozen=True)
class Preview:
    """What the next refresh of a model would do.

    Attributes:
        model: The model's name.
        strategy: noop, incremental, recompute, full; ``error`` if a run would fail, ``unknown`` if
            it depends on a model that is not built yet.
        reason: The code of why.
        explanation: The same in words.
        fallback: Whether all rows are read where one would expect to follow a change.
        sources: What happened to each source.
        notes: What may turn out otherwise, and why; empty if the run does just this.
        reads: How much it would read.
        seconds: How long it would take, by the last refreshes of the kind; None if there are none.
        rebuild: How much a rebuild would read.
        rebuild_seconds: How long the last rebuild took; None if that is not known.
        followers: The maintained models below that are left behind, as the run leaves them out.
    """

    model: str
    strategy: str
    reason: str
    explanation: str
    fallback: bool = False
    sources: Sequence[Pending] = ()
    notes: Sequence[str] = ()
    reads: ReadSize = UNKNOWN
    seconds: float | None = None
    rebuild: ReadSize = UNKNOWN
    rebuild_seconds: float | None = None
    followers: Sequence[str] = ()


def preview(
    request: Request, simulated: SimulatedWarehouse, unbuilt: Sequence[str] = ()
) -> Preview:
    """What the next refresh of a model would do; the models after it are then planned after it.

    Args:
        request: The model and its configuration.
        simulated: Is asked, and remembers what the refresh would change.
        unbuilt: The relations that it reads and that the same run builds for the first time.
    """
    simulated.begin()
    past = records(simulated.history(request.state, COMMITS_WITHOUT_JOB) or ())
    if unbuilt:
        return _before_its_sources(request, simulated, unbuilt)
    try:
        planner, refresh, notes = _planned(request, simulated)
    except IvmError as error:
        return failed(request.model, error)
    planner = planner.former or planner
    sources = _sources(planner, simulated)
    cost = Cost(planner.model.statistics, _changed_rows(planner, sources))
    whole = cost.whole([table.key for table in planner.model.tables])
    took = build_time(planner.model.found)
    notes += _may_differ(refresh, sources, simulated)
    simulated.imagine_refresh(planner.request, refresh)
    return Preview(
        request.model,
        refresh.strategy.value,
        refresh.reason,
        refresh.explanation,
        refresh.fallback,
        sources,
        tuple(notes),
        _reads(refresh, planner, cost, whole),
        usual_seconds(past, refresh.strategy.value, refresh.reason),
        whole,
        None if took is None else took / 1000,
    )


def failed(model: str, error: Exception) -> Preview:
    """What is told of a model that a run could not refresh."""
    return Preview(model, ERROR, getattr(error, "code", type(error).__name__), str(error))


def _planned(request: Request, simulated: SimulatedWarehouse) -> tuple[Planner, Refresh, list[str]]:
    """The plan that a run would carry out in the end."""
    planner = Planner(request, simulated)
    refresh = planner.plan(None, False)
    gap = _gap(planner, refresh, simulated)
    if gap is None:
        return planner, refresh, []
    again = Planner(request, simulated)
    reason = Reason("CHANGE_FEED_GAP", "the sources' changes cannot be read", details=gap)
    return again, again.plan(reason, False), []


def _gap(planner: Planner, refresh: Refresh, simulated: SimulatedWarehouse) -> str | None:
    """Which change feed does not hold what it would be asked for, as a run would notice."""
    planner = planner.former or planner
    bookmark = planner.model.found.bookmark
    if refresh.strategy is not Strategy.INCREMENTAL or planner.merged is None or bookmark is None:
        return None
    read = changes_in(planner.merged)
    for table in planner.model.tables:
        version = bookmark.sources.get(table.key)
        if table.key not in read or version is None:
            continue
        on = simulated.has_change_feed(table.parts)
        newest = next(iter(simulated.history(table.parts, 1) or ()), None)
        behind = newest.version - version.version if newest is not None else 0
        for commit in simulated.history(table.parts, behind) or () if behind > 0 else ():
            if not on and commit.change not in (Change.NONE, Change.COLUMNS):
                return f"the change feed of {table.key} was off at version {commit.version}"
            if commit.feed is not None:
                on = not commit.feed
    return None


def _before_its_sources(
    request: Request, simulated: SimulatedWarehouse, unbuilt: Sequence[str]
) -> Preview:
    """Of a model that reads what is not built yet: no plan can be made before that is."""
    told = f"{', '.join(unbuilt)} is built first"
    if simulated.history(request.state, 1):
        return Preview(request.model, OPEN, "", f"{told}, so it is not known yet what follows")
    return Preview(request.model, Strategy.FULL.value, "FIRST_BUILD", f"first build; {told}")


def _sources(planner: Planner, simulated: SimulatedWarehouse) -> tuple[Pending, ...]:
    bookmark = planner.model.found.bookmark
    before = bookmark.sources if bookmark is not None else {}
    return tuple(
        pending(simulated, table.parts, before.get(table.key), simulated.changed_by(table.parts))
        for table in planner.model.tables
    )


def _changed_rows(planner: Planner, sources: Sequence[Pending]) -> Mapping[str, int | None]:
    counted = {
        table.key: (found.inserted, found.updated, found.deleted)
        for table, found in zip(planner.model.tables, sources, strict=True)
    }
    return {
        key: None if None in counts else sum(n for n in counts if n is not None)
        for key, counts in counted.items()
    }


def _reads(refresh: Refresh, planner: Planner, cost: Cost, whole: ReadSize) -> ReadSize:
    if refresh.strategy is Strategy.NOOP:
        return ReadSize(0, 0)
    if refresh.strategy is Strategy.FULL or planner.merged is None:
        return whole
    return cost.reading(planner.merged)


def _may_differ(
    refresh: Refresh, sources: Sequence[Pending], simulated: SimulatedWarehouse
) -> list[str]:
    """What only the run can know."""
    notes = []
    by = sorted({found.by for found in sources if found.by})
    if by and refresh.strategy is not Strategy.NOOP:
        notes.append(f"depends on what the run does to {', '.join(by)}")
    if simulated.left_out:
        notes.append(
            "the run looks at the changed rows first: it does nothing if the query sees none of "
            "them, and may recompute if that reads less"
        )
    for parts in simulated.feeds:
        notes.append(f"the run switches on the change feed of {'.'.join(parts)}")
    return notes


def with_followers(found: Preview, followers: Sequence[str]) -> Preview:
    """The same, which leaves other models behind unless it does nothing."""
    idle = found.strategy in (Strategy.NOOP.value, ERROR)
    return found if idle else replace(found, followers=tuple(followers))
