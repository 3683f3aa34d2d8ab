"""The planner's front door: which strategy refreshes a model, and by which statements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from textwrap import shorten

from python_ivm.algebra.nodes import ClockFilter
from python_ivm.errors import InvalidModel, IvmError
from python_ivm.refresh import policy, statement_builders
from python_ivm.refresh.delays import start as own_start
from python_ivm.refresh.delays.points import next_point
from python_ivm.refresh.delays.steps import AsOf, TimePoint, next_commit
from python_ivm.refresh.incremental import Following
from python_ivm.refresh.lifecycle import public_view
from python_ivm.refresh.lifecycle.cloned import taken_over
from python_ivm.refresh.lifecycle.former import former_request
from python_ivm.refresh.lifecycle.ownership import (
    refuse_foreign_table,
    refuse_state_of_another_model,
    refuse_to_leave_rows,
)
from python_ivm.refresh.lifecycle.storing import stored_otherwise
from python_ivm.refresh.maintainability import Maintained
from python_ivm.refresh.metadata.warehouse import Warehouse
from python_ivm.refresh.options import OnConfigurationChange, Policy, StepMode
from python_ivm.refresh.plan import Refresh, Strategy
from python_ivm.refresh.planning.builds import refuse_duplicates
from python_ivm.refresh.planning.recomputes import STATE_STAYS, Recomputes
from python_ivm.refresh.reason import LOOP_RUN_ANEW, Reason, planner_error
from python_ivm.refresh.request import Request
from python_ivm.render.sources import relation_name
from python_ivm.sources.history import Change, SourceChange, known_sum
from python_ivm.state.bookmark import Bookmark, Told, build_time, telling, timings
from python_ivm.state.layout import STEP
from python_ivm.state.log import with_step
from python_ivm.state.storage import Storage


def plan_refresh(
    request: Request,
    warehouse: Warehouse,
    forced: Reason | None = None,
    *,
    rebuild: bool = False,
) -> Refresh:
    """Plan a model's refresh.

    Args:
        request: The model and its configuration.
        warehouse: Answers questions about tables.
        forced: A reason not to follow what changed that showed only when the planned statement
            was run.
        rebuild: Whether the state must not be kept then.

    Returns:
        The strategy, its reason and the statements.

    Raises:
        InvalidModel: If the model or its configuration is wrong.
        Unsupported: If the query cannot be maintained, or not under the user's policy.
    """
    try:
        return Planner(request, warehouse).plan(forced, rebuild)
    except IvmError as error:
        error.model = error.model or request.model
        raise


class Planner(Recomputes):
    """Plans one refresh, from the cheapest question to the most expensive.

    Attributes:
        former: The planner of the former query, if the view follows it.
    """

    former: Planner | None = None

    def plan(self, forced: Reason | None, rebuild: bool) -> Refresh:
        """The refresh: see :func:`plan_refresh`."""
        refresh = self._recorded(self._plan(forced, rebuild))
        if self.model.sources.ordered and any(s.writes_data for s in refresh.statements):
            refresh = replace(refresh, again=not self.request.partial)
            refresh = refresh.noted(self.noted, refresh.reason) if self.noted else refresh
        if not self.warnings:
            return refresh
        first = refresh.warning or f"{self.request.model}: {self.warnings.pop(0)}"
        return replace(refresh, warning="; ".join([first, *self.warnings]))

    def _recorded(self, refresh: Refresh) -> Refresh:
        """The same, and its commit tells of it."""
        found = self.model.found.bookmark
        before = found.told if found is not None else None
        optimized = before.optimized if before is not None else None
        if refresh.strategy is Strategy.FULL:  # whose files are new
            optimized = next((s.fence[1] for s in refresh.statements if s.fence is not None), None)
        told = Told(
            strategy=refresh.strategy.value,
            reason=refresh.reason,
            sentence=shorten(refresh.sentence, _LONGEST, placeholder=" …"),
            began=self.request.began,
            rebuild=build_time(self.model.found),
            is_bag=refresh.is_bag,
            fallback=refresh.fallback,
            optimized=optimized,
            vacuumed=before.vacuumed if before is not None else self.request.began,
            rows=self.changed_rows if self.read else known_sum([r.rows for r in refresh.reads]),
            changed=self.changed_sources,
            estimated=self.estimated,
            timings=timings(self.model.found),
        )
        planned = tuple(
            replace(s, bookmark=telling(s.bookmark, told)) if s.bookmark else s
            for s in refresh.statements
        )
        return replace(refresh, statements=planned)

    def _plan(self, forced: Reason | None, rebuild: bool) -> Refresh:
        found = self.model.found
        bookmark = found.bookmark
        if bookmark is None:
            refuse_foreign_table(self.request, self.warehouse)
            refuse_to_leave_rows(self.request, self.warehouse)
        else:
            refuse_state_of_another_model(self.request, bookmark)
        if self.request.partial:
            return self._plan_partial()
        taken = taken_over(self.model, bookmark) if bookmark is not None else None
        if taken is not None and not self.request.full_refresh:
            bookmark, self.differs = taken.bookmark, taken.differs
            self.altered.append(statement_builders.keep_text(self.request, self.model.reading.text))
        if bookmark is not None and self._is_another_query(bookmark):
            return self._query_changed(bookmark, forced, rebuild)
        if bookmark is not None and own_start.is_begun(self.request, found):
            return self._first_rows(bookmark)
        reason = self._reason_to_rebuild(bookmark, found.intact)
        if reason is not None or bookmark is None:
            return self._plan_rebuild(forced or reason or _FIRST, bookmark)
        otherwise = stored_otherwise(self.request, self.warehouse, bookmark, self._how_to_refresh)
        if otherwise is not None:
            self.warnings += otherwise.warnings
            if otherwise.rebuild is not None:
                return self._plan_rebuild(forced or otherwise.rebuild, bookmark)
            bookmark = otherwise.bookmark
            self.altered += otherwise.altered
        if public_view.stands(self.request, bookmark, self.warehouse):
            return self._kept_up(bookmark, forced, rebuild)
        return self._with_its_view(bookmark, forced, rebuild)

    def _kept_up(self, bookmark: Bookmark, forced: Reason | None, rebuild: bool) -> Refresh:
        """Of a state that stands: what its sources did decides."""
        if self.model.sources.ordered and not self._to_next_point(bookmark):
            nothing = self.model.changes_since(bookmark)
            told = f"no value of {self.request.options.order} is pending"
            return self._plan_noop(told, bookmark, {} if isinstance(nothing, Reason) else nothing)
        step = self._next_step(bookmark)
        if step is not None:
            return self._plan_step(step, forced, rebuild)
        changes = self.differs or self.model.changes_since(bookmark)
        if isinstance(changes, Reason):
            rebuild = rebuild or changes.code not in STATE_STAYS  # though the forced reason is
            return self._plan_recompute(forced or changes, bookmark, rebuild)
        if forced is None and bookmark.cut_off:
            forced = _CUT_OFF
        if forced is not None:
            return self._plan_recompute(forced, bookmark, rebuild)
        by_source = self.request.options.step is StepMode.COMMIT or bool(self.model.sources.ordered)
        delayed = self.model.delayed_keys if by_source else ()  # which are no commits of sources
        moved = any(change.changed for key, change in changes.items() if key not in delayed)
        moved = moved or self.model.clock_moved(bookmark)
        if not moved and not any(c.change is Change.COLUMNS for c in changes.values()):
            told = "no source changed" if self.model.tables else "the query reads no table"
            return self._plan_noop(told, bookmark, changes)
        if moved and self.model.program is not None and self.model.program.bindings:
            return self._looped_on(bookmark, changes)
        return self._plan_incremental(bookmark, changes)

    def _to_next_point(self, bookmark: Bookmark) -> bool:
        """See more of sources whose rows have an order; False if no step is pending."""
        point = next_point(self.model, bookmark)
        self.model.sources.point = point.value
        self.stepping = point.pending
        if point.late and point.value is not None:
            order = self.request.options.order
            self.noted = f"changes of rows with {order} at {point.value} or before came late"
        return point.pending

    def _next_step(self, bookmark: Bookmark) -> TimePoint | None:
        """The time point that is next, if there is more than one."""
        if (
            self.request.options.step is StepMode.REFRESH
            or self.stepping
            or self.differs is not None
        ):
            return None
        step = next_commit(self.model, bookmark)
        return step if step is not None and step.more else None

    def _plan_step(self, step: TimePoint, forced: Reason | None, rebuild: bool) -> Refresh:
        """The refresh up to a time point, behind which there are others."""
        then = AsOf(self.warehouse, step.versions)
        return replace(Planner(self.request, then, stepping=True).plan(forced, rebuild), again=True)

    def _with_its_view(self, bookmark: Bookmark, forced: Reason | None, rebuild: bool) -> Refresh:
        """The same, and the public view is made again, which was dropped or replaced."""
        changes = self.differs or self.model.changes_since(bookmark)
        if isinstance(changes, Reason) and changes.code not in STATE_STAYS:
            return self._plan_rebuild(forced or changes, bookmark)
        how = self._how_to_refresh(bookmark) if bookmark.maintained else None
        if isinstance(how, Reason):
            return self._plan_rebuild(forced or how, bookmark)
        told = public_view.what_happened(self.request)
        text = public_view.made_again(self.model, bookmark, how)
        if text is None:
            return self._plan_rebuild(forced or Reason("VIEW_MISSING", told, False), bookmark)
        self.view_made = True
        refresh = self._kept_up(
            replace(bookmark, view=public_view.fingerprint(text)), forced, rebuild
        )
        if refresh.strategy is Strategy.FULL:
            return refresh
        view = (
            *statement_builders.drop_table(self.request),
            statement_builders.create_view(self.request, text),
        )
        refresh = replace(refresh, statements=(*refresh.statements, *view))
        return refresh.noted(told, "VIEW_MISSING")

    def _plan_partial(self) -> Refresh:
        """For ``--empty`` and ``--sample``: check the query, and give a new view its columns.

        The state is written without a bookmark, so that the next run builds it. One that such a
        run wrote is written again; any other one is left as it is.
        """
        columns = [name for name, _ in self.warehouse.describe(self.request.sql)]
        refuse_duplicates(columns)
        if self.warehouse.history(self.request.state, 1) and not self._is_stand_in():
            told = "the query was checked; --empty and --sample leave a built view as it is"
            warning = self._former_columns(columns)
            return Refresh(Strategy.NOOP, "PARTIAL", told, warning=warning)
        properties = {**self.request.properties, statement_builders.STAND_IN: "true"}
        request = replace(self.request, storage=Storage(), properties=properties)
        sql = self.model.reading.text if self.model.delayed else request.sql
        body = self.warehouse.stand_in(sql)
        if self.is_log:
            columns.append(STEP)
            body = with_step(body)
        planned = [
            *statement_builders.create_schema(request),
            *statement_builders.plain_statements(request, sql, body, columns, None, 0),
        ]
        told = "built by --empty or --sample; the next run builds it from all rows"
        return Refresh(Strategy.FULL, "PARTIAL", told, tuple(planned), sentence=told)

    def _is_stand_in(self) -> bool:
        """Whether a run with ``--empty`` or ``--sample`` wrote the state last."""
        found = self.model.found
        if found.bookmark is not None or found.newer:
            return False
        return statement_builders.STAND_IN in self.warehouse.properties(self.request.state)

    def _former_columns(self, columns: list[str]) -> str | None:
        """What to warn of where the query has other columns than the view that stands."""
        standing = self.warehouse.columns(self.request.view) or ()
        now = [*columns, *([STEP] if self.is_log else [])]
        if [name.lower() for name in standing] == [name.lower() for name in now]:
            return None
        has = f"has the columns {', '.join(standing)}" if standing else "is missing"
        return (
            f"{self.request.model}: the query has the columns {', '.join(now)}, and its view "
            f"{has}. --empty and --sample change no built model: run it without the flag"
        )

    def _reason_to_rebuild(self, bookmark: Bookmark | None, intact: bool) -> Reason | None:
        if self.request.options.policy is Policy.FULL:
            return Reason("POLICY_FULL", "ivm_policy is full", False)
        if self.request.full_refresh and bookmark is not None:
            return Reason("FULL_REFRESH", "asked for by full_refresh", False)
        if bookmark is None:
            return _NEWER if self.model.found.newer else _FIRST
        if not intact:
            return Reason(
                "STATE_MODIFIED",
                f"{relation_name(self.request.state)} was written by something else",
            )
        return None

    def _is_another_query(self, bookmark: Bookmark) -> bool:
        return not self.request.full_refresh and self.model.query_hash != bookmark.query

    def _query_changed(self, bookmark: Bookmark, forced: Reason | None, rebuild: bool) -> Refresh:
        what = "the query or a session setting that it depends on changed"
        choice = self.request.options.on_configuration_change
        if choice is OnConfigurationChange.FAIL or self.request.full_refresh is False:
            raise InvalidModel(
                f"{what[0].upper()}{what[1:]}, and {policy.forbids(self.request)} a rebuild",
                hint=policy.how_to_allow(self.request),
            )
        if choice is OnConfigurationChange.CONTINUE:
            return self._by_the_former_query(bookmark, forced, rebuild)
        refresh = self._plan_rebuild(Reason("QUERY_CHANGED", what, False), bookmark)
        last = bookmark.told.reason if bookmark.told is not None else ""
        if last == "QUERY_CHANGED" and self.request.varying and refresh.warning is None:
            varying = ", ".join(self.request.varying)
            return replace(
                refresh,
                warning=f"{self.request.model}: its text was another one at the last two "
                f"refreshes, so that all rows were computed both times. {varying} in it differs at "
                "each run: keep that out of the model, or materialize it as table",
            )
        return refresh

    def _by_the_former_query(
        self, bookmark: Bookmark, forced: Reason | None, rebuild: bool
    ) -> Refresh:
        """The view goes on following its sources as it did, until the user has it built anew."""
        former = former_request(self.request, bookmark, self.warehouse)
        if isinstance(former, str):
            told = f"the view is left as it is ({_CONTINUE}), as {former}"
            warning = f"{self.request.model}: {told}; --full-refresh builds it anew"
            return Refresh(Strategy.NOOP, "QUERY_CHANGED", told, warning=warning)
        try:
            self.former = Planner(former, self.warehouse)
            refresh = self.former.plan(forced, rebuild)
        except IvmError as error:
            told = f"This is about the former query, which {_CONTINUE} keeps."
            error.hint = f"{error.hint} {told}" if error.hint else told
            raise
        told = f"the view follows the former query ({_CONTINUE})"
        warning = f"{self.request.model}: the query changed; {told}; --full-refresh builds it anew"
        if refresh.warning:
            warning = f"{warning}; {refresh.warning.removeprefix(f'{self.request.model}: ')}"
        return replace(refresh.noted(told, "QUERY_CHANGED"), warning=warning)

    def _plan_noop(
        self, told: str, bookmark: Bookmark, changes: Mapping[str, SourceChange]
    ) -> Refresh:
        """Nothing to do, but for moving a bookmark whose commits a source may soon forget.

        Or one that knows another public view, was a clone's, or of a state stored otherwise.
        """
        old = any(c.post.is_long_after(bookmark.sources[key]) for key, c in changes.items())
        known = self.model.found.bookmark
        same = known is not None and known.view == bookmark.view and not self.altered
        if same and not old and not self.stepping:
            return Refresh(Strategy.NOOP, "UNCHANGED", told)
        return self._moved_on(told, bookmark, changes)

    def _moved_on(
        self, told: str, bookmark: Bookmark, changes: Mapping[str, SourceChange]
    ) -> Refresh:
        """No row to write, but the next bookmark."""
        moved = self._with_bookmark(
            statement_builders.keep_bookmark(self.request), bookmark, changes
        )
        return Refresh(Strategy.NOOP, "UNCHANGED", told, (*self.altered, moved))

    def _plan_incremental(self, bookmark: Bookmark, changes: dict[str, SourceChange]) -> Refresh:
        how = self._how_to_refresh(bookmark)
        if isinstance(how, Reason):
            return self._plan_rebuild(how, bookmark)
        if self.model.clock_moved(bookmark, how.query.shows):
            return self._clock_moved(how, bookmark)
        read = {k: c for k, c in changes.items() if c.changed and k in how.query.sources}
        asks_clock = any(isinstance(node, ClockFilter) for node in how.query.plan.walk())
        clock = self.model.clock(bookmark)
        clock_moved = asks_clock and self.model.clock_moved(bookmark)
        if not read and not clock_moved:
            return self._plan_noop("no row changed that the query reads", bookmark, changes)
        self.read = read
        faster = self._reason_to_overwrite(bookmark) if not clock_moved else None
        if faster is not None and not self._asks_first(bookmark):
            return self._overwrite_plan(faster, how, bookmark, changes, read)
        if not clock_moved and faster is None and self._is_known_to_read_more(bookmark):
            return self._overwrite_plan(_READS_LESS, how, bookmark, changes, read)
        try:
            found = Following(self.model, how, changes, clock, clock_moved).follow(read)
        except Exception as error:
            found = planner_error(error, self.warehouse.failure)
            if faster is not None:
                self.warnings.append(found.words)
        sees = isinstance(found, Reason) or found.merge is not None
        if faster is not None and sees:
            return self._overwrite_plan(faster, how, bookmark, changes, read)
        if isinstance(found, Reason):
            return self._plan_recompute(found, bookmark)
        if found.merge is None:
            return self._moved_on("no row changed that the query sees", bookmark, changes)
        if found.recomputes and not clock_moved and self._is_rewritable(bookmark):
            self.estimated = True
            return self._overwrite_plan(_READS_LESS, how, bookmark, changes, found.read)
        self.merged = found.plan
        merge = self._with_bookmark(found.merge, bookmark, changes)
        moved = clock if clock_moved else None
        if found.recomputes:
            return self._merge_plan(
                Strategy.RECOMPUTE, _CHEAPER, merge, how.layout, bookmark, found.read, moved
            )
        why = Reason("CHANGED", "sources changed" if found.read else "the clock moved")
        refresh = self._merge_plan(
            Strategy.INCREMENTAL, why, merge, how.layout, bookmark, found.read, moved
        )
        return replace(refresh, statements=(*found.rounds, *refresh.statements))

    def _looped_on(self, bookmark: Bookmark, changes: dict[str, SourceChange]) -> Refresh:
        """Of a loop: a recursive set follows what changed, others are run anew."""
        how = self._how_to_refresh(bookmark)
        followed = isinstance(how, Maintained) and how.layout.stores_set
        if followed and not self.model.clock_moved(bookmark):
            return self._plan_incremental(bookmark, changes)
        return self._plan_recompute(LOOP_RUN_ANEW, bookmark)

    def _clock_moved(self, how: Maintained, bookmark: Bookmark) -> Refresh:
        """Of a query that reads no table the rows that differ; of others most rows would."""
        if self.model.tables:
            return self._plan_rebuild(_CLOCK_MOVED, bookmark)
        return self._plan_recompute(replace(_CLOCK_MOVED, fallback=False), bookmark)


_LONGEST = 200
"""Characters of the sentence that a commit keeps."""
_FIRST = Reason("FIRST_BUILD", "first build", False)
_NEWER = Reason("STATE_NEWER", "the state was written by a newer version of dbt-sparkivm")
_CHEAPER = Reason("CHEAPER", "to follow what changed would read more", False)
"""No fallback, though all rows are read: a refresh is wanted because it costs less."""
_READS_LESS = Reason("FASTER", _CHEAPER.text, False)
"""The same of a state so small that it is faster to write all of its rows."""
_CUT_OFF = Reason("LOOP_CUT_OFF", "a limit cut the loop off at the last refresh", False)
_CONTINUE = "on_configuration_change: continue"
_CLOCK_MOVED = Reason(
    "CLOCK_MOVED", "the date or time that the query asks for beside its conditions is another one"
)
