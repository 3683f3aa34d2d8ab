"""Refreshes that compute the query anew, and write the rows that differ, or all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from python_ivm.optimize.cost import Cost
from python_ivm.refresh import policy, statement_builders
from python_ivm.refresh.delays import log
from python_ivm.refresh.incremental import recomputing
from python_ivm.refresh.maintainability import Maintained
from python_ivm.refresh.options import StepMode
from python_ivm.refresh.plan import Refresh, Strategy
from python_ivm.refresh.planning.builds import Builds
from python_ivm.refresh.reason import Reason, planner_error
from python_ivm.refresh.statement import Statement, StatementKind
from python_ivm.sources.clock import Clock
from python_ivm.sources.history import SourceChange
from python_ivm.state.bookmark import Bookmark, timings
from python_ivm.state.contents import contents
from python_ivm.state.layout import STATE, Layout
from python_ivm.state.recompute import FRESH, recompute
from python_ivm.state.storage import Storage

_FEW_BYTES = 2**20
"""The largest state that is overwritten because the cost model says that it is cheaper, in bytes.
Models above must then compare its old rows with its new ones."""
_TIMED_BYTES = 2**23
"""The largest state that is overwritten because its recorded times say that it is faster."""
_COMPARED = 100
"""Milliseconds that a model above takes to compare a mebibyte of old rows with the new ones."""


class Recomputes(Builds):
    """Plans refreshes from all rows into a state that stays."""

    def _plan_recompute(self, reason: Reason, bookmark: Bookmark, rebuild: bool = False) -> Refresh:
        """Without following what changed: the rows that differ where the state can stay.

        So models above can follow these. Else, and where most of the work would be to compare, a
        rebuild.
        """
        if self.is_log and rebuild and reason.code == "CHANGE_FEED_GAP":  # nor can it be recomputed
            raise log.rows_are_lost(reason)
        if self.is_log or rebuild or reason.code not in STATE_STAYS:
            return self._plan_rebuild(reason, bookmark)
        feeds = self._feeds()  # may be commits, so that what follows is asked after them
        how = self._how_to_refresh(bookmark)
        if (
            isinstance(how, Reason)
            or not how.comparable
            or not self._clock_keeps_state(how, bookmark)
        ):
            return self._plan_rebuild(reason, bookmark)
        current = self.model.sources.current_versions()
        clock = self.model.clock(bookmark)
        try:
            merge = self._merge_of_all(how.layout, current, clock)
        except Exception as error:
            return self._plan_rebuild(planner_error(error, self.warehouse.failure), bookmark)
        if merge is None:
            return self._plan_rebuild(reason, bookmark)
        # If its loop is cut off once more, that is known when it has run.
        merge = self._with_bookmark(merge, replace(bookmark, cut_off=False), current)
        reason = policy.with_advice(reason, feeds)
        policy.refuse_under_strict(self.request, reason, feeds)
        moved = clock if self.model.clock_moved(bookmark) else None
        return self._recompute_plan(reason, feeds, merge, how.layout, bookmark, current, moved)

    def _reason_to_overwrite(self, bookmark: Bookmark) -> Reason | None:
        """Why all rows of the state are written, though what changed could be followed."""
        learned, number = timings(self.model.found), bookmark.refresh + 1
        rows, changed = self.changed_rows, self.changed_sources
        if not learned.faster_anew(rows, number, 0, changed):
            return None  # before the size of the state is asked for
        if not self._is_rewritable(bookmark, _TIMED_BYTES):
            return None
        compared = _COMPARED * (self.model.statistics.size(STATE) or 0) / 2**20
        found = learned.faster_anew(rows, number, compared, changed)
        if found is None:
            return None
        takes = "may take only" if found.is_trial else "takes about"
        told = (
            f"computing it {takes} {found.anew / 1000:.1f} s, "
            f"following the change takes about {found.followed / 1000:.1f} s"
        )
        return Reason("FASTER", told, False)

    def _asks_first(self, bookmark: Bookmark) -> bool:
        """Whether the query may see nothing of what changed, so that it is worth asking."""
        number = bookmark.refresh + 1
        learned = timings(self.model.found)
        return learned.may_be_unseen(self.changed_rows, number, self.changed_sources)

    def _is_known_to_read_more(self, bookmark: Bookmark) -> bool:
        """Whether all rows are written as the cost model lately found that this reads less."""
        learned, number = timings(self.model.found), bookmark.refresh + 1
        rows, changed = self.changed_rows, self.changed_sources
        if not learned.reads_more(rows, number, changed) or self._asks_first(bookmark):
            return False
        return self._is_rewritable(bookmark)

    def _is_rewritable(self, bookmark: Bookmark, most: int = _FEW_BYTES) -> bool:
        """Whether all rows of the state may be written where the query is computed anew.

        Only if it has at most `most` bytes, and if its rows are a function of what the sources have
        now.
        """
        options, model = self.request.options, self.model
        by_steps = bool(model.sources.ordered) or options.step is StepMode.COMMIT
        own_rows = bool(model.named) or bool(model.delayed) or model.program is not None
        if not options.learn or by_steps or own_rows or self.is_log or model.asked:
            return False
        stored = (self.request.storage, Storage.of_value(bookmark.storage))
        if any(storage.partition_by for storage in stored):  # of which Spark may replace some only
            return False
        size = model.statistics.size(STATE)
        return size is not None and size <= most

    def _overwrite_plan(
        self,
        why: Reason,
        how: Maintained,
        bookmark: Bookmark,
        changes: Mapping[str, SourceChange],
        read: Mapping[str, SourceChange],
    ) -> Refresh:
        """A refresh that writes all rows of the state."""
        written = statement_builders.write_rows(
            StatementKind.REWRITE, self.request, how.layout, changes, None
        )
        written = self._with_bookmark(written, bookmark, changes)
        return self._merge_plan(Strategy.RECOMPUTE, why, written, how.layout, bookmark, read, None)

    def _clock_keeps_state(self, how: Maintained, bookmark: Bookmark) -> bool:
        """Whether the clock leaves the state as useful as it was, and the view's text as it is."""
        if not self.model.clock_moved(bookmark, how.query.shows):
            return True
        return not self.model.tables and not how.layout.view_asks_clock

    def _merge_of_all(
        self, layout: Layout, sources: Mapping[str, SourceChange], clock: Clock | None
    ) -> Statement | None:
        """The statement that recomputes the query; None if the state should not stay."""
        self.model.statistics.forget_sizes()  # of what was replaced they tell nothing
        merge, fresh = recompute(layout), contents(layout, FRESH)
        in_memory = self.model.program is not None  # what a loop gives, whatever tables it reads
        if not in_memory and not Cost(self.model.statistics, {}).keeps_state(merge.rows, fresh):
            return None
        if not self._state_fits(layout, sources, clock):
            return None
        self.merged = merge.rows
        return recomputing(self.model, merge, sources, clock)


STATE_STAYS = frozenset(
    {
        "CHANGE_FEED_GAP", "CHANGE_FEED_OFF", "CLOCK_MOVED", "LOOP", "LOOP_CUT_OFF",
        "PLAN_TOO_LARGE", "RECURSION_LIMIT", "SOURCE_DIFFERS",
        "SOURCE_RECREATED", "SOURCE_REPLACED",
    }
)  # fmt: skip
"""What makes it impossible to follow a change, and says nothing against the state."""
