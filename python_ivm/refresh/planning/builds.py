"""Builds of a state from all rows, of models that read their own rows, too."""

from __future__ import annotations

from dataclasses import replace

from python_ivm.errors import InvalidModel, IvmError, NotYetImplemented
from python_ivm.parse.clock_calls import at
from python_ivm.parse.parser import pin_versions
from python_ivm.refresh import policy, statement_builders
from python_ivm.refresh.delays import log
from python_ivm.refresh.delays import start as own_start
from python_ivm.refresh.delays.points import first_point
from python_ivm.refresh.incremental import recomputing
from python_ivm.refresh.lifecycle import public_view
from python_ivm.refresh.lifecycle.storing import to_build
from python_ivm.refresh.maintainability import Maintained, maintained
from python_ivm.refresh.model import Model
from python_ivm.refresh.plan import Refresh, Strategy
from python_ivm.refresh.planning.commits import PlannerBase, read_whole, table_name
from python_ivm.refresh.reason import Reason
from python_ivm.refresh.statement import StatementKind
from python_ivm.state.bookmark import Bookmark
from python_ivm.state.recompute import recompute


class Builds(PlannerBase):
    """Plans rebuilds, and what takes their place where rows would be lost."""

    def _plan_rebuild(self, reason: Reason, bookmark: Bookmark | None) -> Refresh:
        """A rebuild; under the policy ``strict`` an error instead of a fallback."""
        if self.model.named:
            return self._with_own_rows(reason, bookmark)
        if self.is_log and bookmark is not None and reason.code not in own_start.STARTS:
            return self._logged_anew(reason, bookmark)
        if self.model.delayed and bookmark is not None and reason.code in own_start.STARTS:
            self.model = Model(self.request, self.warehouse, self.model.found, start=True)
        if self.model.delayed and bookmark is not None and reason.code in own_start.STAYS:
            refresh = self._plan_recompute_in_place(reason, bookmark)
            if refresh is not None:
                return refresh
        number = self._number_of_rebuild(bookmark)
        feeds = self._feeds()
        reason = policy.with_advice(reason, feeds)
        self._to_first_point()
        current = self.model.sources.current_versions()
        how = maintained(self.model, None)
        if self.is_log:
            how = log.checked(how, number)
            self.warnings += log.what_is_lost(bookmark)
        if isinstance(how, Reason) and reason.code != "POLICY_FULL":
            reason = how  # what makes every refresh a rebuild is told first
        policy.refuse_under_strict(self.request, reason, feeds)
        after = self._bookmark_of_build(number, current)
        text = self.model.reading.text
        request, first, warnings = to_build(self.request, self.warehouse, how)
        self.warnings += warnings
        if isinstance(how, Maintained):
            clock = self.model.clock(None)
            shown = statement_builders.public_view(self.request, how.layout, clock)
            after = replace(
                after,
                fingerprint=how.fingerprint,
                types=how.types,
                view=public_view.fingerprint(shown),
            )
            planned = self._loop_statements(
                Strategy.FULL, how.layout
            ) + statement_builders.build_statements(
                request, text, how.layout, current, clock, after.text(), number
            )
        elif self.model.program is not None:
            raise _loop_without_rules(how)
        else:
            pinned = pin_versions(text, {key: c.post.version for key, c in current.items()})
            if after.instant is not None:
                pinned = at(pinned, after.instant)
            columns = [name for name, _ in self.warehouse.describe(self.request.sql)]
            refuse_duplicates(columns)
            shown = statement_builders.plain_view(self.request, columns)
            after = replace(after, maintained=False, view=public_view.fingerprint(shown))
            planned = statement_builders.plain_statements(
                request, text, pinned, columns, after.text(), number
            )
        first = [
            *statement_builders.create_schema(request),
            *self._keep_old_view(bookmark, after),
            *first,
        ]
        planned = first + planned
        return Refresh(
            Strategy.FULL,
            reason.code,
            reason.words,
            tuple(planned),
            tuple(f"{table_name(key)}@{change.post.version}" for key, change in current.items()),
            warning=policy.warning(self.request, reason, feeds, "rebuilt in full"),
            sentence=reason.text if reason.fallback else "",
            fallback=reason.fallback,
            reads=read_whole(current),
        )

    def _to_first_point(self) -> None:
        """See of sources whose rows have an order the first ones, if the model has steps."""
        if self.model.sources.ordered:
            self.model.sources.point = first_point(self.model).value

    def _with_own_rows(self, reason: Reason, bookmark: Bookmark | None) -> Refresh:
        """Instead of a rebuild: what the model's rows were cannot be computed anew.

        Raises:
            Unsupported: If they would be lost, and nobody said that they may.
        """
        if bookmark is None or bookmark.start or reason.code in own_start.STARTS:
            return self._start(reason, bookmark)
        refresh = (
            None
            if reason.code in own_start.LOSES
            else self._plan_recompute_in_place(reason, bookmark)
        )
        if refresh is None:
            raise own_start.rows_are_lost(reason)
        return refresh

    def _plan_recompute_in_place(self, reason: Reason, bookmark: Bookmark) -> Refresh | None:
        """The rows that differ, whatever that costs; None if the state cannot stay.

        Who reads this model as it was before the run can follow that, and no rebuild.
        """
        feeds = self._feeds()
        reason = policy.with_advice(reason, feeds)
        how = maintained(self.model, None)
        if isinstance(how, Reason) or not how.comparable:
            return None
        current, clock = self.model.sources.current_versions(), self.model.clock(bookmark)
        if not self._state_fits(how.layout, current, clock):
            return None
        policy.refuse_under_strict(self.request, reason, feeds)
        after = replace(
            bookmark,
            fingerprint=how.fingerprint,
            types=how.types,
            views=self.model.views,
            shape=self.model.shape,
            cut_off=False,
        )
        merge = recomputing(self.model, recompute(how.layout), current, clock)
        merge = self._with_bookmark(merge, after, current)
        if self.model.reading.text != self.request.sql:
            self.altered.append(statement_builders.keep_text(self.request, self.model.reading.text))
        return self._recompute_plan(reason, feeds, merge, how.layout, bookmark, current, None)

    def _logged_anew(self, reason: Reason, bookmark: Bookmark) -> Refresh:
        """Of a log: the rows that the query has now and had not at the last step.

        Raises:
            Unsupported: If it is not known what it had.
        """
        feeds = self._feeds()
        reason = policy.with_advice(reason, feeds)
        how = self._how_to_refresh(bookmark)
        changes = log.since_last_step(self.model, bookmark)
        if isinstance(how, Reason) or changes is None or reason.code in own_start.LOSES:
            raise log.rows_are_lost(how if isinstance(how, Reason) else reason)
        clock = self.model.clock(bookmark)
        if not self._state_fits(how.layout, changes, clock):
            raise log.rows_are_lost(reason)
        policy.refuse_under_strict(self.request, reason, feeds)
        anew = recompute(how.layout)
        self.merged = anew.rows
        merge = self._with_bookmark(
            recomputing(self.model, anew, changes, clock),
            replace(bookmark, cut_off=False),
            changes,
        )
        return self._recompute_plan(reason, feeds, merge, how.layout, bookmark, changes, None)

    def _start(self, reason: Reason, bookmark: Bookmark | None) -> Refresh:
        """A state without rows, which the first ones are computed from."""
        model = Model(self.request, self.warehouse, self.model.found, start=True)
        feeds = policy.check_change_feeds(self.request, self.warehouse, model.tables)
        how = maintained(model, None)
        if isinstance(how, Reason):
            raise own_start.not_maintained(how)
        policy.refuse_under_strict(self.request, reason, feeds)
        request, first, warnings = to_build(self.request, self.warehouse, how)
        self.warnings += warnings
        number = self._number_of_rebuild(bookmark)
        after = own_start.bookmark_at_start(model, reason, number)
        state = statement_builders.empty_state(
            request,
            model.reading.text,
            how.layout,
            model.sources.current_versions(),
            model.clock(None),
            after.text(),
            number,
        )
        schema = statement_builders.create_schema(request)
        kept = self._keep_old_view(bookmark, after)
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
        self._to_first_point()
        current, clock = self.model.sources.current_versions(), self.model.clock(None)
        shown = statement_builders.public_view(self.request, how.layout, clock)
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
        request, _, _ = to_build(self.request, self.warehouse, how)
        rows = statement_builders.write_rows(
            StatementKind.INSERT, request, how.layout, current, clock
        )
        planned = (
            statement_builders.keep_text(self.request, self.model.reading.text),
            self._with_bookmark(rows, after, current),
            *statement_builders.drop_table(self.request),
            statement_builders.create_view(self.request, shown),
        )
        return Refresh(
            Strategy.FULL,
            reason.code,
            reason.words,
            planned,
            tuple(f"{table_name(key)}@{change.post.version}" for key, change in current.items()),
            warning=policy.warning(self.request, reason, feeds, "rebuilt in full"),
            reads=read_whole(current),
        )


def _loop_without_rules(why: Reason) -> IvmError:
    """The error of a loop program that Spark would have to run, which it cannot."""
    return NotYetImplemented(
        f"Spark cannot run this loop, and the planner has no rules for its model: {why.text}",
        hint=why.details or "Give what stands behind the loop a model of its own.",
    )


def refuse_duplicates(columns: list[str]) -> None:
    """Refuse a query of which two columns have one name, as a table would.

    Raises:
        InvalidModel: If it has.
    """
    seen: set[str] = set()
    for name in columns:
        if name.lower() in seen:
            raise InvalidModel(
                f"Two output columns are named {name}",
                hint="Give one of them another name with AS.",
            )
        seen.add(name.lower())
