"""The planner's front door: which strategy refreshes a model, and by which statements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from textwrap import shorten

from python_ivm.algebra.nodes import ClockFilter, Node
from python_ivm.errors import InvalidModel, IvmError, NotYetImplemented
from python_ivm.optimize.cost import Cost
from python_ivm.parse.clock_calls import at
from python_ivm.parse.parser import pin_versions, table_key
from python_ivm.refresh import policy, statements
from python_ivm.refresh.delays import start as own_start
from python_ivm.refresh.delays.steps import AsOf, TimePoint, next_commit
from python_ivm.refresh.incremental import Following, recomputing
from python_ivm.refresh.lifecycle import public_view
from python_ivm.refresh.lifecycle.cloned import taken_over
from python_ivm.refresh.lifecycle.former import former_request
from python_ivm.refresh.lifecycle.ownership import (
    refuse_foreign_table,
    refuse_state_of_another_model,
)
from python_ivm.refresh.lifecycle.storing import stored_otherwise, to_build
from python_ivm.refresh.maintained import Maintained, maintained
from python_ivm.refresh.metadata import versions
from python_ivm.refresh.metadata.cached_warehouse import CachedWarehouse
from python_ivm.refresh.model import Model
from python_ivm.refresh.reason import Reason, planner_error
from python_ivm.refresh.request import OnConfigurationChange, Policy, Request, Step, Warehouse
from python_ivm.refresh.statement import Refresh, Statement, Strategy
from python_ivm.render.sources import relation_name
from python_ivm.sources.clock import Clock
from python_ivm.sources.history import Change, SourceChange
from python_ivm.state.bookmark import Bookmark, Told, build_time, telling
from python_ivm.state.contents import contents
from python_ivm.state.layout import Layout
from python_ivm.state.recompute import FRESH, recompute
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


class Planner:
    """Plans one refresh, from the cheapest question to the most expensive."""

    def __init__(self, request: Request, warehouse: Warehouse, *, stepping: bool = False) -> None:
        """Read the model, and refuse what no rebuild would cure.

        Args:
            request: The model and its configuration.
            warehouse: Answers questions about tables.
            stepping: Whether what it sees is one of several time points.
        """
        self.stepping = stepping
        self.warehouse = CachedWarehouse(warehouse)
        found = versions.state_history(self.warehouse, request.state)
        self.model = Model(request, self.warehouse, found)
        self.request = self.model.request
        self.view_made = False  # by the refresh, and not by a build
        self.differs: Reason | None = None  # why a clone's state may be of other rows
        self.altered: list[Statement] = []  # what the next commit's bookmark tells of
        self.told: list[str] = []  # what to warn of beside the reason
        self.merged: Node | None = None  # the plan of what a MERGE computes
        self.former: Planner | None = None  # that of the former query, if the view follows it

    def plan(self, forced: Reason | None, rebuild: bool) -> Refresh:
        """The refresh: see :func:`plan_refresh`."""
        refresh = self._recorded(self._plan(forced, rebuild))
        if not self.told:
            return refresh
        first = refresh.warning or f"{self.request.model}: {self.told.pop(0)}"
        return replace(refresh, warning="; ".join([first, *self.told]))

    def _recorded(self, refresh: Refresh) -> Refresh:
        """The same, and its commit tells of it."""
        found = self.model.found.bookmark
        before = found.told if found is not None else None
        built = refresh.strategy is Strategy.FULL
        number = next((s.fence[1] for s in refresh.statements if s.fence is not None), None)
        told = Told(
            refresh.strategy.value,
            refresh.reason,
            shorten(refresh.sentence, _LONGEST, placeholder=" …"),
            self.request.began,
            build_time(self.model.found),
            refresh.is_bag,
            refresh.fallback,
            number if built else before.optimized if before is not None else None,
            before.vacuumed if before is not None else self.request.began,
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
        else:
            refuse_state_of_another_model(self.request, bookmark)
        if self.request.partial:
            return self._partial()
        taken = taken_over(self.model, bookmark) if bookmark is not None else None
        if taken is not None and not self.request.full_refresh:
            bookmark, self.differs = taken.bookmark, taken.differs
            self.altered.append(statements.keep_text(self.request, self.model.reading.text))
        if bookmark is not None and self._is_another_query(bookmark):
            return self._query_changed(bookmark, forced, rebuild)
        if bookmark is not None and own_start.is_begun(self.request, found):
            return self._first_rows(bookmark)
        reason = self._reason_to_rebuild(bookmark, found.intact)
        if reason is not None or bookmark is None:
            return self._full(forced or reason or _FIRST, bookmark)
        otherwise = stored_otherwise(self.request, self.warehouse, bookmark, self._how_to_refresh)
        if otherwise is not None:
            self.told += otherwise.warnings
            if otherwise.rebuild is not None:
                return self._full(forced or otherwise.rebuild, bookmark)
            bookmark = otherwise.bookmark
            self.altered += otherwise.altered
        if public_view.stands(self.request, bookmark, self.warehouse):
            return self._kept_up(bookmark, forced, rebuild)
        return self._with_its_view(bookmark, forced, rebuild)

    def _kept_up(self, bookmark: Bookmark, forced: Reason | None, rebuild: bool) -> Refresh:
        """Of a state that stands: what its sources did decides."""
        step = self._next_step(bookmark)
        if step is not None:
            return self._stepped(step, forced, rebuild)
        changes = self.differs or self.model.changes_since(bookmark)
        if isinstance(changes, Reason):
            rebuild = rebuild or changes.code not in _STATE_STAYS  # though the forced reason is
            return self._recompute(forced or changes, bookmark, rebuild)
        if forced is None and bookmark.cut_off:
            forced = _CUT_OFF
        if forced is not None:
            return self._recompute(forced, bookmark, rebuild)
        by_commit = self.request.options.step is Step.COMMIT
        delayed = self.model.delayed_keys if by_commit else ()  # which are no commits of sources
        moved = any(change.changed for key, change in changes.items() if key not in delayed)
        moved = moved or self.model.clock_moved(bookmark)
        if not moved and not any(c.change is Change.COLUMNS for c in changes.values()):
            told = "no source changed" if self.model.tables else "the query reads no table"
            return self._noop(told, bookmark, changes)
        if moved and self.model.program is not None and self.model.program.bindings:
            return self._recompute(_LOOP, bookmark)
        return self._incremental(bookmark, changes)

    def _next_step(self, bookmark: Bookmark) -> TimePoint | None:
        """The time point that is next, if there is more than one."""
        if self.request.options.step is Step.REFRESH or self.stepping or self.differs is not None:
            return None
        step = next_commit(self.model, bookmark)
        return step if step is not None and step.more else None

    def _stepped(self, step: TimePoint, forced: Reason | None, rebuild: bool) -> Refresh:
        """The refresh up to a time point, behind which there are others."""
        then = AsOf(self.warehouse, step.versions)
        return replace(Planner(self.request, then, stepping=True).plan(forced, rebuild), again=True)

    def _with_its_view(self, bookmark: Bookmark, forced: Reason | None, rebuild: bool) -> Refresh:
        """The same, and the public view is made again, which was dropped or replaced."""
        changes = self.differs or self.model.changes_since(bookmark)
        if isinstance(changes, Reason) and changes.code not in _STATE_STAYS:
            return self._full(forced or changes, bookmark)
        how = self._how_to_refresh(bookmark) if bookmark.maintained else None
        if isinstance(how, Reason):
            return self._full(forced or how, bookmark)
        told = public_view.what_happened(self.request)
        text = public_view.made_again(self.model, bookmark, how)
        if text is None:
            return self._full(forced or Reason("VIEW_MISSING", told, False), bookmark)
        self.view_made = True
        refresh = self._kept_up(
            replace(bookmark, view=public_view.fingerprint(text)), forced, rebuild
        )
        if refresh.strategy is Strategy.FULL:
            return refresh
        view = (*statements.drop_table(self.request), statements.create_view(self.request, text))
        refresh = replace(refresh, statements=(*refresh.statements, *view))
        return refresh.noted(told, "VIEW_MISSING")

    def _partial(self) -> Refresh:
        """For ``--empty`` and ``--sample``: check the query, and give a new view its columns.

        The state is written without a bookmark, so that the next run builds it; a state that
        stands already is left as it is.
        """
        columns = [name for name, _ in self.warehouse.describe(self.request.sql)]
        _refuse_duplicates(columns)
        if self.warehouse.history(self.request.state, 1):
            told = "the query was checked; --empty and --sample leave a built view as it is"
            return Refresh(Strategy.NOOP, "PARTIAL", told)
        request = replace(self.request, storage=Storage())  # of a state that is replaced soon
        sql = self.model.reading.text if self.model.delayed else request.sql
        body = self.warehouse.stand_in(sql)
        planned = [
            *statements.create_schema(request),
            *statements.plain_statements(request, sql, body, columns, None, 0),
        ]
        told = "built by --empty or --sample; the next run builds it from all rows"
        return Refresh(Strategy.FULL, "PARTIAL", told, tuple(planned), sentence=told)

    # -- reasons ---------------------------------------------------------------------------

    def _reason_to_rebuild(self, bookmark: Bookmark | None, intact: bool) -> Reason | None:
        if self.request.options.policy is Policy.FULL:
            return Reason("POLICY_FULL", "ivm_policy is full", False)
        if self.request.full_refresh and bookmark is not None:
            return Reason("FULL_REFRESH", "asked for by full_refresh", False)
        if bookmark is None:
            return _FIRST
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
                what[0].upper() + what[1:] + ", and the configuration forbids a rebuild",
                hint="Run with --full-refresh, or set on_configuration_change: apply.",
            )
        if choice is OnConfigurationChange.CONTINUE:
            return self._by_the_former_query(bookmark, forced, rebuild)
        return self._full(Reason("QUERY_CHANGED", what, False), bookmark)

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

    # -- strategies ------------------------------------------------------------------------

    def _noop(self, told: str, bookmark: Bookmark, changes: Mapping[str, SourceChange]) -> Refresh:
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
        moved = self._committed(statements.keep_bookmark(self.request), bookmark, changes)
        return Refresh(Strategy.NOOP, "UNCHANGED", told, (*self.altered, moved))

    def _incremental(self, bookmark: Bookmark, changes: dict[str, SourceChange]) -> Refresh:
        how = self._how_to_refresh(bookmark)
        if isinstance(how, Reason):
            return self._full(how, bookmark)
        if self.model.clock_moved(bookmark, how.query.shows):
            return self._clock_moved(how, bookmark)
        read = {k: c for k, c in changes.items() if c.changed and k in how.query.sources}
        asks_clock = any(isinstance(node, ClockFilter) for node in how.query.plan.walk())
        clock = self.model.clock(bookmark)
        clock_moved = asks_clock and self.model.clock_moved(bookmark)
        if not read and not clock_moved:
            return self._noop("no row changed that the query reads", bookmark, changes)
        try:
            found = Following(self.model, how, changes, clock, clock_moved).follow(read)
        except Exception as error:
            return self._full(planner_error(error, self.warehouse.failure), bookmark)
        if isinstance(found, Reason):
            return self._recompute(found, bookmark)
        if found.merge is None:
            return self._moved_on("no row changed that the query sees", bookmark, changes)
        self.merged = found.plan
        merge = self._committed(found.merge, bookmark, changes)
        moved = clock if clock_moved else None
        if found.recomputes:
            return self._merged(
                Strategy.RECOMPUTE, _CHEAPER, merge, how.layout, bookmark, found.read, moved
            )
        why = Reason("CHANGED", "sources changed" if found.read else "the clock moved")
        return self._merged(
            Strategy.INCREMENTAL, why, merge, how.layout, bookmark, found.read, moved
        )

    def _clock_moved(self, how: Maintained, bookmark: Bookmark) -> Refresh:
        """Of a query that reads no table the rows that differ; of others most rows would."""
        if self.model.tables:
            return self._full(_CLOCK_MOVED, bookmark)
        return self._recompute(replace(_CLOCK_MOVED, fallback=False), bookmark)

    def _recompute(self, reason: Reason, bookmark: Bookmark, rebuild: bool = False) -> Refresh:
        """Without following what changed: the rows that differ where the state can stay.

        So models above can follow these. Else, and where most of the work would be to compare, a
        rebuild.
        """
        if rebuild or reason.code not in _STATE_STAYS:
            return self._full(reason, bookmark)
        feeds = self._feeds()  # may be commits, so that what follows is asked after them
        how = self._how_to_refresh(bookmark)
        if isinstance(how, Reason) or not how.comparable or not self._is_kept(how, bookmark):
            return self._full(reason, bookmark)
        current = self.model.current_versions()
        clock = self.model.clock(bookmark)
        try:
            merge = self._merge_of_all(how.layout, current, clock)
        except Exception as error:
            return self._full(planner_error(error, self.warehouse.failure), bookmark)
        if merge is None:
            return self._full(reason, bookmark)
        merge = self._committed(merge, bookmark, current)
        reason = policy.with_advice(reason, feeds)
        policy.refuse_under_strict(self.request, reason, feeds)
        read = {k: c for k, c in current.items() if c.post != bookmark.sources[k]}
        moved = clock if self.model.clock_moved(bookmark) else None
        refresh = self._merged(Strategy.RECOMPUTE, reason, merge, how.layout, bookmark, read, moved)
        return replace(refresh, warning=policy.warning(self.request, reason, feeds, "recomputed"))

    def _is_kept(self, how: Maintained, bookmark: Bookmark) -> bool:
        """Whether the clock leaves the state as useful as it was, and the view's text as it is."""
        if not self.model.clock_moved(bookmark, how.query.shows):
            return True
        return not self.model.tables and not how.layout.view_asks_clock

    def _merge_of_all(
        self, layout: Layout, sources: Mapping[str, SourceChange], clock: Clock | None
    ) -> Statement | None:
        """The statement that recomputes the query; None if the state should not stay."""
        self.model.forget_sizes()  # of what was replaced they tell nothing
        merge, fresh = recompute(layout), contents(layout, FRESH)
        in_memory = self.model.program is not None  # what a loop gives, whatever tables it reads
        if not in_memory and not Cost(self.model, {}).keeps_state(merge.rows, fresh):
            return None
        if not self._state_fits(layout, sources, clock):
            return None
        self.merged = merge.rows
        return recomputing(self.model, merge, sources, clock)

    def _state_fits(
        self, layout: Layout, sources: Mapping[str, SourceChange], clock: Clock | None
    ) -> bool:
        """Whether state and view have the columns that a build would give them.

        A fingerprint does not tell how they are spelled. And it may be of a source's columns that
        were asked at another moment than its version: tables are replaced while a run goes on.
        """
        built = self.warehouse.describe(statements.state_query(layout, sources, clock))
        if dict(built) != self.warehouse.columns(self.request.state):
            return False
        if self.view_made:
            return True
        shown = [name for name, _ in self.warehouse.describe(self.request.sql)]
        return shown == list(self.warehouse.columns(self.request.view) or ())

    def _merged(
        self,
        strategy: Strategy,
        why: Reason,
        merge: Statement,
        layout: Layout,
        bookmark: Bookmark,
        read: Mapping[str, SourceChange],
        clock: Clock | None,
    ) -> Refresh:
        """A refresh by one ``MERGE``, after changes of sources, and of the clock if it is given."""
        ranges = tuple(
            f"{_table(key)}@{bookmark.sources[key].version}→{change.post.version}"
            for key, change in read.items()
        )
        if clock is not None:
            ranges = (*ranges, clock.range(self.model.asked))
        planned = (*self._tuned(), *self.altered, *self._looped(strategy), merge)
        return Refresh(
            strategy,
            why.code,
            why.words,
            planned,
            ranges,
            sentence=why.text if strategy is Strategy.RECOMPUTE else "",
            is_bag=layout.is_bag,
            fallback=why.fallback and strategy is Strategy.RECOMPUTE,
        )

    def _looped(self, strategy: Strategy) -> list[Statement]:
        """The statement that runs the model's loop, if it has one and its rows are asked for."""
        run = self.model.loop_run() if strategy is not Strategy.INCREMENTAL else None
        return [] if run is None else [statements.run_loop(run)]

    def _how_to_refresh(self, bookmark: Bookmark) -> Maintained | Reason:
        """The bound query, or why its state cannot be maintained."""
        if not bookmark.maintained:
            return self._why_not_maintained()
        how = maintained(self.model, bookmark.types)
        if isinstance(how, Reason):
            return how
        if how.fingerprint != bookmark.fingerprint:
            told = "the type of a column that the query reads, or what the planner stores, changed"
            return Reason("SCHEMA_CHANGED", told)
        return how

    def _committed(
        self, statement: Statement, bookmark: Bookmark, changes: Mapping[str, SourceChange]
    ) -> Statement:
        """A statement with the next bookmark and its fence."""
        clock = self.model.clock(bookmark)
        after = replace(
            bookmark,
            refresh=bookmark.refresh + 1,
            sources={key: change.post for key, change in changes.items()},
            instant=clock.post if clock is not None else None,
            sizes=self.model.sizes,
            project=self.request.project or bookmark.project,
            state=table_key(self.request.state),
        )
        fence = statements.fence(self.request, after.refresh)
        return replace(statement, bookmark=after.text(), fence=fence)

    def _tuned(self) -> list[Statement]:
        """What makes the MERGE cheaper where the last commit wrote large files."""
        if statements.DELETION_VECTORS in self.request.properties:
            return []
        commit = self.model.found.commit
        large = commit is not None and commit.bytes_rewritten > _LARGE_FILES
        return [statements.mark_rows_as_deleted(self.request)] if large else []

    def _full(self, reason: Reason, bookmark: Bookmark | None) -> Refresh:
        """A rebuild; under the policy ``strict`` an error instead of a fallback."""
        if self.model.named:
            return self._with_own_rows(reason, bookmark)
        if self.model.delayed and bookmark is not None and reason.code in own_start.STARTS:
            self.model = Model(self.request, self.warehouse, self.model.found, start=True)
        if self.model.delayed and bookmark is not None and reason.code in own_start.STAYS:
            refresh = self._computed_anew(reason, bookmark)
            if refresh is not None:
                return refresh
        number = self._number_of_rebuild(bookmark)
        feeds = self._feeds()
        reason = policy.with_advice(reason, feeds)
        current = self.model.current_versions()
        how = maintained(self.model, None)
        if isinstance(how, Reason) and reason.code != "POLICY_FULL":
            reason = how  # what makes every refresh a rebuild is told first
        policy.refuse_under_strict(self.request, reason, feeds)
        after = Bookmark(
            query=self.model.query_hash,
            fingerprint="",
            refresh=number,
            sources={key: change.post for key, change in current.items()},
            model=".".join(self.request.view),
            unversioned=self.model.unversioned(),
            views=self.model.views,
            instant=self.model.instant if self.model.asked else None,
            project=self.request.project,
            state=table_key(self.request.state),
            shape=self.model.shape,
            storage=self.request.storage.value(),
        )
        text = self.model.reading.text
        request, first, warnings = to_build(self.request, self.warehouse, how)
        self.told += warnings
        if isinstance(how, Maintained):
            clock = self.model.clock(None)
            shown = statements.public_view(self.request, how.layout, clock)
            after = replace(
                after,
                fingerprint=how.fingerprint,
                types=how.types,
                view=public_view.fingerprint(shown),
            )
            planned = self._looped(Strategy.FULL) + statements.build_statements(
                request, text, how.layout, current, clock, after.text(), number
            )
        elif self.model.program is not None:
            raise _loop_without_rules(how)
        else:
            pinned = pin_versions(text, {key: c.post.version for key, c in current.items()})
            if after.instant is not None:
                pinned = at(pinned, after.instant)
            columns = [name for name, _ in self.warehouse.describe(self.request.sql)]
            _refuse_duplicates(columns)
            shown = statements.plain_view(self.request, columns)
            after = replace(after, maintained=False, view=public_view.fingerprint(shown))
            planned = statements.plain_statements(
                request, text, pinned, columns, after.text(), number
            )
        first = [*statements.create_schema(request), *self._keep_old_view(bookmark, after), *first]
        planned = first + planned
        return Refresh(
            Strategy.FULL,
            reason.code,
            reason.words,
            tuple(planned),
            tuple(f"{_table(key)}@{change.post.version}" for key, change in current.items()),
            warning=policy.warning(self.request, reason, feeds, "rebuilt in full"),
            sentence=reason.text if reason.fallback else "",
            fallback=reason.fallback,
        )

    # -- of models that read their own rows --------------------------------------------------

    def _with_own_rows(self, reason: Reason, bookmark: Bookmark | None) -> Refresh:
        """Instead of a rebuild: what the model's rows were cannot be computed anew.

        Raises:
            Unsupported: If they would be lost, and nobody said that they may.
        """
        if bookmark is None or bookmark.start or reason.code in own_start.STARTS:
            return self._start(reason, bookmark)
        refresh = None if reason.code in own_start.LOSES else self._computed_anew(reason, bookmark)
        if refresh is None:
            raise own_start.rows_are_lost(reason)
        return refresh

    def _computed_anew(self, reason: Reason, bookmark: Bookmark) -> Refresh | None:
        """The rows that differ, whatever that costs; None if the state cannot stay.

        Who reads this model as it was before the run can follow that, and no rebuild.
        """
        feeds = self._feeds()
        reason = policy.with_advice(reason, feeds)
        how = maintained(self.model, None)
        if isinstance(how, Reason) or not how.comparable:
            return None
        current, clock = self.model.current_versions(), self.model.clock(bookmark)
        if not self._state_fits(how.layout, current, clock):
            return None
        policy.refuse_under_strict(self.request, reason, feeds)
        after = replace(
            bookmark,
            fingerprint=how.fingerprint,
            types=how.types,
            views=self.model.views,
            shape=self.model.shape,
        )
        merge = recomputing(self.model, recompute(how.layout), current, clock)
        merge = self._committed(merge, after, current)
        if self.model.reading.text != self.request.sql:
            self.altered.append(statements.keep_text(self.request, self.model.reading.text))
        read = {
            key: change
            for key, change in current.items()
            if key in bookmark.sources and change.post != bookmark.sources[key]
        }
        refresh = self._merged(Strategy.RECOMPUTE, reason, merge, how.layout, bookmark, read, None)
        return replace(refresh, warning=policy.warning(self.request, reason, feeds, "recomputed"))

    def _start(self, reason: Reason, bookmark: Bookmark | None) -> Refresh:
        """A state without rows, which the first ones are computed from."""
        model = Model(self.request, self.warehouse, self.model.found, start=True)
        feeds = policy.check_change_feeds(self.request, self.warehouse, model.tables)
        how = maintained(model, None)
        if isinstance(how, Reason):
            raise own_start.not_maintained(how)
        policy.refuse_under_strict(self.request, reason, feeds)
        request, first, warnings = to_build(self.request, self.warehouse, how)
        self.told += warnings
        number = self._number_of_rebuild(bookmark)
        after = own_start.bookmark_at_start(model, reason, number)
        state = statements.empty_state(
            request,
            model.reading.text,
            how.layout,
            model.current_versions(),
            model.clock(None),
            after.text(),
            number,
        )
        schema, kept = statements.create_schema(request), self._keep_old_view(bookmark, after)
        planned = (*schema, *kept, *first, state)
        return Refresh(Strategy.FULL, reason.code, reason.words, planned, again=True)

    def _first_rows(self, bookmark: Bookmark) -> Refresh:
        """The rows that the query gives where the model has none yet."""
        code, told = bookmark.start
        reason = Reason(code, told, False)
        how = maintained(self.model, None)
        if isinstance(how, Reason):
            raise own_start.not_maintained(how)
        feeds = self._feeds()
        current, clock = self.model.current_versions(), self.model.clock(None)
        shown = statements.public_view(self.request, how.layout, clock)
        after = replace(
            bookmark,
            start=(),
            fingerprint=how.fingerprint,
            types=how.types,
            views=self.model.views,
            shape=self.model.shape,
            view=public_view.fingerprint(shown),
        )
        self.view_made = True
        own_start.check_columns(self._state_fits(how.layout, current, clock))
        rows = statements.insert_rows(self.request, how.layout, current, clock)
        planned = (
            statements.keep_text(self.request, self.model.reading.text),
            self._committed(rows, after, current),
            *statements.drop_table(self.request),
            statements.create_view(self.request, shown),
        )
        return Refresh(
            Strategy.FULL,
            reason.code,
            reason.words,
            planned,
            tuple(f"{_table(key)}@{change.post.version}" for key, change in current.items()),
            warning=policy.warning(self.request, reason, feeds, "rebuilt in full"),
        )

    def _number_of_rebuild(self, bookmark: Bookmark | None) -> int:
        """A refresh number that no commit of the state has, even where its bookmark is lost.

        Each refresh is one commit, so that the newest number is at most the newest version plus 1.
        """
        commits = self.warehouse.history(self.request.state, 1)
        version = commits[0].version if commits else -1
        return max(bookmark.refresh if bookmark else 0, version + 1) + 1

    def _keep_old_view(self, bookmark: Bookmark | None, after: Bookmark) -> list[Statement]:
        """Pin the view to the old state where the view of the new one will be another.

        It is while the state has other columns, or the view's text asks the clock. So a run that
        ends before it has made the view leaves one that does not count as the new state's.
        """
        if not self.request.view_exists:
            return []
        if (
            bookmark is not None
            and bookmark.maintained
            and bookmark.fingerprint == after.fingerprint
            and bookmark.instant == after.instant
        ):
            return []
        commits = self.warehouse.history(self.request.state, 1)
        view = self.warehouse.definition(self.request.view)
        if not commits or view is None:
            return []
        pinned = pin_versions(view.text, {table_key(self.request.state): commits[0].version})
        return [statements.keep_view(self.request, pinned)] if pinned != view.text else []

    def _feeds(self) -> Reason | None:
        return policy.check_change_feeds(self.request, self.warehouse, self.model.tables)

    def _why_not_maintained(self) -> Reason:
        found = maintained(self.model, None)
        if isinstance(found, Reason):
            return found
        return Reason("NOW_MAINTAINED", "the planner has rules for the query now", False)


_LONGEST = 200
"""Characters of the sentence that a commit keeps."""
_LARGE_FILES = 2**20
"""Bytes of files from which on it pays to mark rows as deleted, which takes jobs of its own."""
_FIRST = Reason("FIRST_BUILD", "first build", False)
_CHEAPER = Reason("CHEAPER", "to follow what changed would read more", False)
"""No fallback, though all rows are read: a refresh is wanted because it costs less."""
_STATE_STAYS = frozenset(
    {
        "CHANGE_FEED_GAP", "CHANGE_FEED_OFF", "CLOCK_MOVED", "LOOP", "LOOP_CUT_OFF",
        "PLAN_TOO_LARGE", "SOURCE_DIFFERS",
        "SOURCE_RECREATED", "SOURCE_REPLACED",
    }
)  # fmt: skip
"""What makes it impossible to follow a change, and says nothing against the state."""
_LOOP = Reason("LOOP", "the loop is run anew over its sources", False)
_CUT_OFF = Reason("LOOP_CUT_OFF", "a limit cut the loop off at the last refresh", False)
_CONTINUE = "on_configuration_change: continue"
_CLOCK_MOVED = Reason(
    "CLOCK_MOVED", "the date or time that the query asks for beside its conditions is another one"
)


def _table(key: str) -> str:
    """A source's name without its schema."""
    return key.split(".")[-1]


def _loop_without_rules(why: Reason) -> IvmError:
    """The error of a loop program that Spark would have to run, which it cannot."""
    return NotYetImplemented(
        f"Spark cannot run this loop, and the planner has no rules for its model: {why.text}",
        hint=why.details or "Give what stands behind the loop a model of its own.",
    )


def _refuse_duplicates(columns: list[str]) -> None:
    seen: set[str] = set()
    for name in columns:
        if name.lower() in seen:
            raise InvalidModel(
                f"Two output columns are named {name}",
                hint="Give one of them another name with AS.",
            )
        seen.add(name.lower())
