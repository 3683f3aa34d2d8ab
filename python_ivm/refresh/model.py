"""One model and what it reads, as they are when a refresh is planned."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property

from sqlglot import exp

from python_ivm.algebra.nodes import Node
from python_ivm.errors import NotParsed
from python_ivm.loops.given import given_query, over_no_rows
from python_ivm.loops.loop import Loop, loop_of
from python_ivm.loops.program import program_of
from python_ivm.loops.recursive_sets import RecursiveSet, recursive_set
from python_ivm.loops.run import LoopRun
from python_ivm.parse.clock_calls import asked, at, calls
from python_ivm.parse.loops import NOW
from python_ivm.parse.marks import AS_OF_LAST, has_marks
from python_ivm.parse.parser import (
    DIALECT,
    TableReference,
    essence,
    parse,
    table_key,
    table_references,
    without_schemas,
    without_terminator,
)
from python_ivm.parse.previous import marked_tables
from python_ivm.parse.views import Reading, View, read
from python_ivm.qualify.checks.determinism import check_deterministic
from python_ivm.qualify.schema import Schemas, TableSchema
from python_ivm.refresh.delays import ordering, own_rows, refusals
from python_ivm.refresh.metadata import versions
from python_ivm.refresh.metadata.cached_warehouse import CachedWarehouse
from python_ivm.refresh.metadata.catalog import Catalog, same_name
from python_ivm.refresh.metadata.redefined import is_still, said
from python_ivm.refresh.options import Options, Output
from python_ivm.refresh.reason import Reason, not_parsed
from python_ivm.refresh.request import Request
from python_ivm.rows.kinds import Kind
from python_ivm.sources.clock import Clock, Instant
from python_ivm.sources.history import (
    BEFORE_ALL,
    Change,
    DataFile,
    SourceChange,
    SourceVersion,
    Until,
)
from python_ivm.state.bookmark import NOT_BUILT, Bookmark, Found, digest
from python_ivm.state.layout import STATE

_SIZES_LAST = 16
"""After so many refreshes tables are asked for their sizes again, which takes jobs of Spark's for
each that has changed."""


class Model:
    """A model, read once.

    Attributes:
        request: What is asked for.
        warehouse: Answers each question once.
        found: What the history of its state says.
        reading: The query over the tables below its views.
        tables: These tables, each once.
        query_hash: Hash of the model's own text and of the settings that can change its result.
        asked: What the query asks of the clock.
        views: What is kept of each view that was taken apart, by key.
        sizes: Bytes of tables, by name, as far as they were asked for.
        point: Up to which value of a column that orders rows they are seen; None before the first.
        unread: Why the model's text cannot be read, though Spark can.
        named: Where the model names itself, and so reads its own rows as of the last refresh.
    """

    def __init__(
        self,
        request: Request,
        warehouse: CachedWarehouse,
        found: Found = NOT_BUILT,
        *,
        start: bool = False,
    ) -> None:
        """Parse the model and refuse what no rebuild would cure.

        Args:
            request: What is asked for.
            warehouse: Is asked.
            found: What the history of the model's state says.
            start: Whether the model has no rows yet, if it reads its own.

        Raises:
            InvalidModel: If the SQL is wrong.
            Unsupported: If its result does not follow from its sources.
        """
        self.warehouse = warehouse
        self.start = start
        self.point: str | None = None
        self.found = found
        self.sizes = _sizes(self.found.bookmark)
        self._catalog = Catalog(
            self.warehouse, request.settings, self.found.steady, previous=request.previous
        )
        self.named: list[TableReference] = []
        self.unread: NotParsed | None = None
        self.request = request = replace(request, sql=without_terminator(request.sql))
        try:
            parsed = parse(request.sql)
        except NotParsed as error:
            self.reading = self._left_to_spark(error)
        else:
            check_deterministic(parsed)
            self.named = self._own_places(parsed)
            refusals.refuse_loop_of_runs(self, parsed)
            if self.named:
                self._catalog = self._with_own_rows(self._own_rows(start))
            self.reading = read(request.sql, self._catalog)
            if self.delayed:
                warehouse.describe_instead(request.sql, self.reading.text)
            check_deterministic(self.reading.tree)
        self.program = program_of(self.reading.tree)
        if self.program is not None:
            self.warehouse.stand_in = self._without_loop
        self.query_hash = query_hash(request.sql, request.settings, request.options)
        self.asked = {kind for node in calls(self.reading.tree) if (kind := asked(node))}
        if self.asked:
            at(self.reading.text, self.instant)
        self.tables = self.reading.distinct_tables
        self.views = {key: said(view) for key, view in self.reading.views.items()}
        refusals.refuse_reading_itself(self)
        refusals.refuse_log_of_itself(self)
        refusals.refuse_two_times(self)
        refusals.refuse_new_rows_of_no_history(self)

    def _left_to_spark(self, error: NotParsed) -> Reading:
        """The text as it is: it is not known what it reads.

        Raises:
            NotParsed: If Spark does not take it.
        """
        try:
            self.warehouse.describe(self.request.sql)
        except Exception:
            raise error from None
        self.unread = error
        return Reading(self.request.sql, exp.Select(), (), {})

    @property
    def own_key(self) -> str | None:
        """The planner key of the model's own rows; None if it does not read them."""
        return table_key(self._catalog.full_name(self.request.state)) if self.named else None

    @property
    def delayed_keys(self) -> set[str | None]:
        """The planner keys of what is read as of the last step."""
        return {self.own_key, *(table.key for table in self.tables if table.last)}

    def full_name(self, parts: tuple[str, ...]) -> tuple[str, ...]:
        """A relation's name with catalog and schema."""
        return self._catalog.full_name(parts)

    @property
    def delayed(self) -> bool:
        """Whether it reads rows of the run before, which need not be there yet."""
        return bool(self.named) or has_marks(self.request.sql)

    @property
    def tree(self) -> exp.Query:
        """What the planner binds: the query; of a loop program what stands behind the loop."""
        return self.reading.tree if self.program is None else self.program.main

    @cached_property
    def loop(self) -> Loop | None:
        """The model's loop, if it has one.

        Raises:
            InvalidModel: If it is wrong; if no order of its operators is right.
            NotYetImplemented: If something in it cannot be computed.
        """
        if self.program is None:
            return None
        return loop_of(self.program, self._tables(), self.ansi, self._kinds)

    @cached_property
    def recursive_set(self) -> RecursiveSet | None:
        """The model's loop, if it is a recursive set: then it can follow what changed."""
        return recursive_set(self.loop) if self.loop is not None else None

    def loop_run(self, sources: Mapping[str, SourceChange] | None = None) -> LoopRun | None:
        """The model's loop, if it has one.

        Args:
            sources: The sources at the versions to read; None reads them as they are now.
        """
        if self.loop is None or self.program is None or not self.program.bindings:
            return None
        read = {table.name for table in self.program.main.find_all(exp.Table) if table.db == NOW}
        givens = self.loop.givens
        return LoopRun(
            self.request.model,
            self.loop,
            tuple(self._given(node, sources) for node in givens),
            tuple(tuple(self._kinds(node)) for node in givens),
            tuple(name for name in self.program.bindings if name in read),
            self.request.options.limits,
            self.request.options.on_limit,
        )

    def _given(self, node: Node, sources: Mapping[str, SourceChange] | None = None) -> str:
        """The query of what Spark gives to the loop."""
        return given_query(node, sources or self.current_versions(), self.clock(None))

    def _kinds(self, node: Node) -> list[Kind]:
        return [Kind.of(kind) for _, kind in self.warehouse.describe(self._given(node))]

    def _without_loop(self, sql: str) -> str:
        """A query that reads the loop's rows, over no rows of the same types."""
        if self.program is None or (sql != self.request.sql and NOW not in sql):
            return sql
        schemas = self.loop.schemas if self.loop is not None else {}
        if sql == self.request.sql:
            return over_no_rows(str(self.program.main.sql(dialect=DIALECT)), schemas)
        found = self.recursive_set
        if found is not None:  # which the planner's queries read with the rounds of its rows
            schema = TableSchema((NOW, found.recursion.loop), found.types)
            schemas = {**schemas, schema.key: schema}
        return over_no_rows(sql, schemas)

    @cached_property
    def shape(self) -> str:
        """Hash of what is the same in another schema: the query over tables, and the settings.

        Empty where the text cannot be read, or names versions of its tables.
        """
        text = without_schemas(self.reading.text) if self.unread is None else None
        return digest(text, dict(self.request.settings)) if text is not None else ""

    @property
    def ansi(self) -> bool:
        """Whether an expression fails where it has no value, instead of being NULL."""
        return self._catalog.strict_casts

    @property
    def instant(self) -> Instant:
        """The clock at this refresh."""
        return self.warehouse.instant()

    def clock(self, bookmark: Bookmark | None) -> Clock | None:
        """The clock at a bookmark, or else now, and at this refresh; None if it is not asked."""
        if not self.asked:
            return None
        then = bookmark.instant if bookmark is not None else None
        return Clock(then or self.instant, self.instant)

    def clock_moved(self, bookmark: Bookmark, among: Collection[str] | None = None) -> bool:
        """Whether what the query asks of the clock, or a part of it, is not what it was."""
        asked = self.asked if among is None else among
        return bool(asked) and self.instant.differs(bookmark.instant, asked)

    def unversioned(self) -> tuple[str, ...]:
        """The sources that are no Delta tables, by planner key."""
        current = self.current_versions()
        return tuple(table.key for table in self.tables if table.key not in current)

    def not_delta(self, key: str) -> Reason:
        """Why no change of a source can be seen."""
        why = self._catalog.opaque.get(key)
        if why is not None:
            text = f"{key} is a view that cannot be taken apart"
            details = f"{why.rstrip('.')}; read the Delta tables below it"
        else:
            text = f"{key} is not a Delta table"
            details = (
                "so its changes cannot be read: read the Delta tables below it, or store it as one"
            )
        return Reason("SOURCE_NOT_DELTA", text, details=details)

    def changes_since(self, bookmark: Bookmark) -> dict[str, SourceChange] | Reason:
        """What happened to each source since a bookmark, or why that cannot be followed."""
        if self.unread is not None:
            return not_parsed(self.unread)
        if bookmark.unversioned:
            unversioned = self.unversioned()
            if unversioned:
                return self.not_delta(unversioned[0])
            told = f"{', '.join(bookmark.unversioned)} can be followed now"
            return Reason("NOW_MAINTAINED", told, False)
        redefined = self.redefined(bookmark)
        if redefined:
            told = f"{', '.join(redefined)} is not the view that it was"
            return Reason("VIEW_CHANGED", told, False)
        changes: dict[str, SourceChange] = {}
        for table in self.tables:
            if table.key not in bookmark.sources:
                return Reason("SOURCE_NEW", f"{table.key} was not read before")
            if table.last:
                seen = versions.seen_since(self.warehouse, table, bookmark.sources)
                if isinstance(seen, Reason):
                    return seen
                changes[table.key] = self._with_names(table, seen)
                continue
            found = versions.change_since(
                self.warehouse,
                table.parts,
                bookmark.sources[table.key],
                table.key in self.found.steady,
            )
            if isinstance(found, Reason):
                return found
            changes[table.key] = self._with_names(table, self.up_to_point(table, found, bookmark))
        for key, change in changes.items():
            if change.change is Change.REPLACED:
                return Reason("SOURCE_REPLACED", f"{key} was replaced as a whole")
            column = (
                versions.not_of_a_feed(self.warehouse, change.parts) if change.changed else None
            )
            if column is not None:
                return versions.without_feed(change.parts, column)
        return changes

    def redefined(self, bookmark: Bookmark) -> list[str]:
        """The views that are not what they were when the state was built."""
        views = self.reading.views
        changed = [k for k, v in views.items() if not is_still(v, bookmark.views.get(k, ""))]
        return changed or [key for key in bookmark.views if key not in views]

    def current_versions(self) -> dict[str, SourceChange]:
        """The present version of each source that is a Delta table.

        Raises:
            InvalidModel: If a source does not exist.
        """
        found = versions.current_versions(
            self.warehouse, [table for table in self.tables if not table.last]
        )
        for key, until in self.ordered.items():
            if key in found:
                point = replace(until, value=self.point)
                found[key] = versions.seen_until(found[key], point)
        for table in self.tables:
            if table.last and table.key_now in found:
                seen = self._seen_last(table)
                found[table.key] = SourceChange(table.parts, seen, seen, Change.NONE)
        return {
            table.key: self._with_names(table, found[table.key])
            for table in self.tables
            if table.key in found
        }

    def up_to_point(
        self, table: TableReference, change: SourceChange, bookmark: Bookmark
    ) -> SourceChange:
        """What of a source's change is seen up to the model's time point.

        At another one than the bookmark's more of its rows are seen, and nothing else changed.
        """
        order = self.ordered.get(table.key)
        if order is None:
            return change
        before, now = bookmark.sources[table.key].until, replace(order, value=self.point)
        if before == now:
            return versions.seen_until(change, now)
        post = replace(change.post, until=now)
        return replace(
            change, pre=replace(post, until=before), post=post, change=Change.INSERTS, rows=None
        )

    @cached_property
    def ordered(self) -> Mapping[str, Until]:
        """The sources whose rows are taken by the values of a column, before the first one.

        Empty unless ``ivm_step`` names a column, and the model's result depends on its steps.

        Raises:
            InvalidModel: If no source has the column, or if it is of no type that orders rows.
        """
        name = self.request.options.order
        if name is None or not self.tables:
            return {}
        found = ordering.ordered_by(name, self.tables, self.warehouse, self.own_key)
        return found if self.delayed or self.request.options.output is Output.INSERTED else {}

    def _seen_last(self, table: TableReference) -> SourceVersion:
        """The version of a table that the last step saw."""
        bookmark = self.found.bookmark
        if self.start or bookmark is None or bookmark.start:
            return BEFORE_ALL
        return bookmark.sources.get(table.key_now, BEFORE_ALL)

    def schemas(self) -> Schemas:
        """The columns of the sources and of a loop, under the names that the planner gives them.

        Raises:
            InvalidModel: If a source does not exist.
        """
        return {**self._tables(), **(self.loop.schemas if self.loop is not None else {})}

    def _tables(self) -> dict[str, TableSchema]:
        found = {}
        for table in self.tables:
            columns = self.warehouse.columns(table.parts)
            if columns is None:
                raise versions.missing(table)
            named = {name: new for new, name in self._catalog.hidden.get(table.key_now, {}).items()}
            renamed = {named.get(name, name): kind for name, kind in columns.items()}
            found[table.key] = TableSchema(table.parts, renamed)
        return found

    def is_state(self, source: str) -> bool:
        """Whether a source is a state: the model's own, or one of a model that it reads."""
        return source == STATE or source.removesuffix(AS_OF_LAST) in self._catalog.hidden

    def size(self, source: str) -> int | None:
        """A Delta table's size in bytes, maybe that of some refreshes ago; None if unknown."""
        if source.startswith(f"{NOW}."):
            return 0  # of rows that are at hand
        parts = self.parts(source)
        if parts is None:
            return None
        name = table_key(parts)
        if name not in self.sizes:
            detail = self.warehouse.detail(parts)
            if detail is None or detail.bytes is None:
                return None
            self.sizes[name] = detail.bytes
        return self.sizes[name]

    def forget_sizes(self) -> None:
        """Ask for the sizes of tables again, where they are needed."""
        self.sizes = {}

    def files(self, source: str) -> Sequence[DataFile] | None:
        """A Delta table's files; None if they cannot be told cheaply, or are many."""
        parts = self.parts(source)
        return None if parts is None else self.warehouse.files(parts)

    def parts(self, source: str) -> tuple[str, ...] | None:
        """The name of a source of the plan, of which the model's own state is one."""
        if source == STATE:
            return self.request.state
        return next((table.parts for table in self.tables if table.key == source), None)

    def _with_names(self, table: TableReference, change: SourceChange) -> SourceChange:
        # Of a table that has two feeds Spark takes one for another read of it.
        two_feeds = any(other.last and other.key_now == table.key for other in self.tables)
        by_path = table.last or two_feeds or table.key == self.own_key
        return replace(
            change,
            stored=self._catalog.hidden.get(table.key_now, {}),
            location=self.warehouse.location(table.parts) if by_path else "",
        )

    def _own_places(self, parsed: exp.Query) -> list[TableReference]:
        own = self._catalog.full_name(self.request.view)
        return [
            found
            for found in table_references(parsed)
            if not found.pinned and same_name(self._catalog.full_name(found.parts), own)
        ]

    def _own_rows(self, start: bool) -> View:
        """What the model's own name means: the rows of its state, or none at its start."""
        if not start and self.found.bookmark is not None:
            view = own_rows.stored(self.request, self.warehouse)
            if view is not None:
                return view

        def columns(view: View) -> Sequence[tuple[str, str]]:
            text = read(self.request.sql, self._with_own_rows(view)).text
            return self.warehouse.describe(text)

        return own_rows.none_yet(self.request, self.named[0], self.warehouse, columns)

    def _with_own_rows(self, view: View) -> Catalog:
        own = self._catalog.full_name(self.request.view)
        request = self.request
        known = (self.found.steady, (own, view), request.previous)
        return Catalog(self.warehouse, request.settings, *known)


def query_hash(sql: str, settings: Mapping[str, str], options: Options) -> str:
    """Hash of a model's text, whatever its layout, and of what its rows depend on beside it.

    Args:
        sql: The text.
        settings: The settings that it is read under.
        options: The model's configuration.
    """
    text = without_terminator(sql)
    previous: list[str] = []
    with suppress(NotParsed):  # Spark may read it all the same
        previous = [f"{found.key} {mark.value}" for found, mark in marked_tables(text)]
        text = essence(text)
    more = [options.output.value] if options.output is not Output.ROWS else []
    more += [f"step {options.order}"] if options.order is not None else []
    return digest(text, dict(settings), *previous, *more)


def _sizes(bookmark: Bookmark | None) -> dict[str, int]:
    """What the last refreshes asked; a table that grows is asked again before long."""
    if bookmark is None or bookmark.refresh % _SIZES_LAST == 0:
        return {}
    return dict(bookmark.sizes)
