"""The commits of a refresh: bookmark, fence, and what goes before a `MERGE`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from python_ivm.algebra.linear_recursion import reads_set
from python_ivm.algebra.nodes import Node
from python_ivm.loops.set_rounds import SetBuild
from python_ivm.parse.parser import pin_versions, table_key
from python_ivm.refresh import policy, statement_builders
from python_ivm.refresh.maintainability import Maintained, maintained
from python_ivm.refresh.metadata import versions
from python_ivm.refresh.metadata.cached_warehouse import CachedWarehouse
from python_ivm.refresh.metadata.warehouse import Warehouse
from python_ivm.refresh.model import Model
from python_ivm.refresh.options import Output
from python_ivm.refresh.plan import Refresh, SourceRead, Strategy
from python_ivm.refresh.reason import Reason
from python_ivm.refresh.request import Request
from python_ivm.refresh.statement import Statement, StatementKind
from python_ivm.sources.clock import Clock
from python_ivm.sources.history import SourceChange, known_sum
from python_ivm.state.bookmark import Bookmark
from python_ivm.state.layout import STEP, Layout


class PlannerBase:
    """What is known of one refresh while it is planned, and how its statements are committed."""

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
        self.warnings: list[str] = []  # what to warn of beside the reason
        self.noted = ""  # what to say of the step
        self.merged: Node | None = None  # the plan of what a MERGE computes
        self.estimated = False  # that to follow what changed reads more, so that all is written
        self.read: Mapping[str, SourceChange] = {}  # what changed of that which the query reads

    def _merge_plan(
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
            f"{table_name(key)}@{bookmark.sources[key].version}→{change.post.version}"
            for key, change in read.items()
        )
        if clock is not None:
            ranges = (*ranges, clock.range(self.model.asked))
        tuned = self._deletion_vector_statements() if merge.kind is StatementKind.MERGE else []
        planned = (*tuned, *self.altered, *self._loop_statements(strategy, layout), merge)
        return Refresh(
            strategy,
            why.code,
            why.words,
            planned,
            ranges,
            sentence=why.text if strategy is Strategy.RECOMPUTE else "",
            is_bag=layout.is_bag,
            fallback=why.fallback and strategy is Strategy.RECOMPUTE,
            reads=tuple(
                SourceRead(key, bookmark.sources[key].version, change.post.version, change.rows)
                for key, change in read.items()
            ),
        )

    def _recompute_plan(
        self,
        reason: Reason,
        feeds: Reason | None,
        merge: Statement,
        layout: Layout,
        bookmark: Bookmark,
        sources: Mapping[str, SourceChange],
        clock: Clock | None,
    ) -> Refresh:
        """A refresh by one ``MERGE`` of the rows that differ; a fallback is warned of.

        Args:
            reason: Why.
            feeds: What there is to say of the sources' change feeds.
            merge: The statement.
            layout: What the state stores.
            bookmark: Of the last refresh.
            sources: The sources at their present versions.
            clock: The clock if it moved.
        """
        known = bookmark.sources
        read = {k: c for k, c in sources.items() if k in known and c.post != known[k]}
        refresh = self._merge_plan(Strategy.RECOMPUTE, reason, merge, layout, bookmark, read, clock)
        return replace(refresh, warning=policy.warning(self.request, reason, feeds, "recomputed"))

    def _loop_statements(self, strategy: Strategy, layout: Layout) -> list[Statement]:
        """The statement that runs the model's loop, if it has one and its rows are asked for."""
        run = self.model.loop_run() if strategy is not Strategy.INCREMENTAL else None
        if run is None:
            return []
        found = self.model.recursive_set
        if found is not None:
            in_place = reads_set(layout.input)
            run = SetBuild(**vars(run), recursive_set=found, in_place=in_place)
        return [statement_builders.run_loop(run)]

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
        return how.at_step(bookmark.refresh + 1)

    def _why_not_maintained(self) -> Reason:
        found = maintained(self.model, None)
        if isinstance(found, Reason):
            return found
        return Reason("NOW_MAINTAINED", "the planner has rules for the query now", False)

    def _with_bookmark(
        self, statement: Statement, bookmark: Bookmark, changes: Mapping[str, SourceChange]
    ) -> Statement:
        """A statement with the next bookmark and its fence."""
        clock = self.model.clock(bookmark)
        after = replace(
            bookmark,
            refresh=bookmark.refresh + 1,
            sources={key: change.post for key, change in changes.items()},
            instant=clock.post if clock is not None else None,
            sizes=self.model.statistics.sizes,
            project=self.request.project or bookmark.project,
            state=table_key(self.request.state),
        )
        fence = statement_builders.fence(self.request, after.refresh)
        return replace(statement, bookmark=after.text(), fence=fence)

    def _bookmark_of_build(self, number: int, sources: Mapping[str, SourceChange]) -> Bookmark:
        """The bookmark of a state that is built, without what depends on how it is maintained.

        Args:
            number: The refresh's number.
            sources: The sources at the versions that it is built from.
        """
        return Bookmark(
            query=self.model.query_hash,
            fingerprint="",
            refresh=number,
            sources={key: change.post for key, change in sources.items()},
            model=".".join(self.request.view),
            unversioned=self.model.sources.unversioned(),
            views=self.model.views,
            instant=self.model.instant if self.model.asked else None,
            project=self.request.project,
            state=table_key(self.request.state),
            shape=self.model.shape,
            storage=self.request.stored(),
            log=self.is_log,
        )

    def _deletion_vector_statements(self) -> list[Statement]:
        """What makes the MERGE cheaper where the last commit wrote large files."""
        if statement_builders.DELETION_VECTORS in self.request.properties:
            return []
        commit = self.model.found.commit
        if commit is None or commit.bytes_rewritten <= _LARGE_FILES:
            return []
        detail = self.warehouse.detail(self.request.state)
        if detail is not None and detail.marks_rows:  # set before all rows were written anew
            return []
        return [statement_builders.mark_rows_as_deleted(self.request)]

    @property
    def changed_rows(self) -> int | None:
        """How many rows changed of the sources that the query reads; None if that is not known."""
        return known_sum([change.rows for change in self.read.values()])

    @property
    def changed_sources(self) -> tuple[int, ...] | None:
        """Which of them changed, by their places among the sorted ones; None if not known."""
        bookmark = self.model.found.bookmark
        places = {} if bookmark is None else {k: n for n, k in enumerate(sorted(bookmark.sources))}
        if not self.read or not self.read.keys() <= places.keys():
            return None
        return tuple(sorted(places[key] for key in self.read))

    @property
    def is_log(self) -> bool:
        """Whether the state is to hold the rows that came."""
        return self.request.options.output is Output.INSERTED

    def _feeds(self) -> Reason | None:
        return policy.check_change_feeds(self.request, self.warehouse, self.model.tables)

    def _state_fits(
        self, layout: Layout, sources: Mapping[str, SourceChange], clock: Clock | None
    ) -> bool:
        """Whether state and view have the columns that a build would give them.

        A fingerprint does not tell how they are spelled. And it may be of a source's columns that
        were asked at another moment than its version: tables are replaced while a run goes on.
        """
        built = self.warehouse.describe(statement_builders.state_query(layout, sources, clock))
        if dict(built) != self.warehouse.columns(self.request.state):
            return False
        if self.view_made:
            return True
        shown = [name for name, _ in self.warehouse.describe(self.request.sql)]
        shown += [STEP] if layout.is_log else []
        return shown == list(self.warehouse.columns(self.request.view) or ())

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
        if pinned == view.text or not self._is_readable(pinned):
            return []
        return [statement_builders.keep_view(self.request, pinned)]

    def _is_readable(self, text: str) -> bool:
        """Whether a view of this text could be read; not where the state lost its columns."""
        try:
            self.warehouse.describe(text)
        except Exception:
            return False
        return True


_LARGE_FILES = 2**20
"""Bytes of files from which on it pays to mark rows as deleted, which takes jobs of its own."""


def read_whole(sources: Mapping[str, SourceChange]) -> tuple[SourceRead, ...]:
    """What a build reads."""
    return tuple(SourceRead(key, None, change.post.version) for key, change in sources.items())


def table_name(key: str) -> str:
    """A source's name without its schema."""
    return key.split(".")[-1]
