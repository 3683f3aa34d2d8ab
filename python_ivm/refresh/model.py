"""One model and what it reads, as they are when a refresh is planned."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property

from sqlglot import exp

from python_ivm.algebra.nodes import Node
from python_ivm.errors import NotParsed, ReadOtherwise
from python_ivm.loops.given import given_query, over_no_rows
from python_ivm.loops.loop import Loop, loop_of
from python_ivm.loops.program import program_of
from python_ivm.loops.recursive_sets import RecursiveSet, recursive_set
from python_ivm.loops.run import LoopRun
from python_ivm.parse.clock_calls import asked, at, calls
from python_ivm.parse.loops import NOW
from python_ivm.parse.marks import has_marks
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
from python_ivm.parse.views import InlinedQuery, View, read
from python_ivm.qualify.checks.determinism import check_deterministic
from python_ivm.qualify.checks.session_settings import refuse_other_reading
from python_ivm.qualify.checks.substitution import refuse_substitution
from python_ivm.qualify.schema import Schemas, TableSchema
from python_ivm.refresh.delays import own_rows, refusals
from python_ivm.refresh.metadata import versions
from python_ivm.refresh.metadata.cached_warehouse import CachedWarehouse
from python_ivm.refresh.metadata.catalog import Catalog, same_name
from python_ivm.refresh.metadata.model_sources import ModelSources
from python_ivm.refresh.metadata.redefined import said
from python_ivm.refresh.metadata.table_statistics import TableStatistics
from python_ivm.refresh.options import Options, Output
from python_ivm.refresh.reason import Reason, not_parsed
from python_ivm.refresh.request import Request
from python_ivm.rows.kinds import ValueType
from python_ivm.sources.clock import Clock, Instant
from python_ivm.sources.history import SourceChange
from python_ivm.state.bookmark import NOT_BUILT, Bookmark, Found, digest


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
        sources: The versions of the tables, and what happened to them.
        statistics: Their sizes and files, and those of the state.
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
        self.found = found
        self._catalog = Catalog(
            self.warehouse, request.settings, self.found.steady, previous=request.previous
        )
        self.named: list[TableReference] = []
        self.unread: NotParsed | None = None
        self.request = request = replace(request, sql=without_terminator(request.sql))
        refuse_substitution(request.sql, warehouse.setting)
        try:
            parsed = parse(request.sql)
            refuse_other_reading(request.sql, request.settings, warehouse.doubles_quotes)
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
        self.sources = ModelSources(
            self.tables,
            self.reading.views,
            warehouse,
            self._catalog,
            found,
            request.options,
            self.own_key,
            self.delayed,
            start,
        )
        self.statistics = TableStatistics(
            request.state, self.tables, warehouse, self._catalog, found.bookmark
        )
        self.views = {key: said(view) for key, view in self.reading.views.items()}
        refusals.refuse_reading_itself(self)
        refusals.refuse_log_of_itself(self)
        refusals.refuse_two_times(self)
        refusals.refuse_paths_apart_by_case(self)
        refusals.refuse_new_rows_of_no_history(self)

    def _left_to_spark(self, error: NotParsed) -> InlinedQuery:
        """The text as it is: it is not known what it reads.

        Raises:
            NotParsed: If Spark does not take it either.
            Exception: Spark's error, if the planner reads the text otherwise than Spark.
        """
        try:
            self.warehouse.describe(self.request.sql)
        except Exception as of_spark:
            raise (of_spark if isinstance(error, ReadOtherwise) else error) from None
        self.unread = error
        return InlinedQuery(self.request.sql, exp.Select(), (), {})

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
        return given_query(node, sources or self.sources.current_versions(), self.clock(None))

    def _kinds(self, node: Node) -> list[ValueType]:
        return [ValueType.of(kind) for _, kind in self.warehouse.describe(self._given(node))]

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

        And of what the rows depend on beside them. Empty where the text cannot be read, or names
        versions of its tables.
        """
        text = without_schemas(self.reading.text) if self.unread is None else None
        if text is None:
            return ""
        return digest(text, dict(self.request.settings), *_of_options(self.request.options))

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

    def changes_since(self, bookmark: Bookmark) -> dict[str, SourceChange] | Reason:
        """What happened to each source since a bookmark, or why that cannot be followed."""
        if self.unread is not None:
            return not_parsed(self.unread)
        return self.sources.changes_since(bookmark)

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
    return digest(text, dict(settings), *previous, *_of_options(options))


def _of_options(options: Options) -> list[str]:
    """What a model's rows depend on beside its query."""
    more = [options.output.value] if options.output is not Output.ROWS else []
    return more + ([f"step {options.order}"] if options.order is not None else [])
