"""The versions of a model's sources: the present ones, and what happened since a bookmark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from python_ivm.parse.parser import TableReference
from python_ivm.parse.views import View
from python_ivm.refresh.metadata import ordering, versions
from python_ivm.refresh.metadata.cached_warehouse import CachedWarehouse
from python_ivm.refresh.metadata.catalog import Catalog
from python_ivm.refresh.metadata.redefined import is_still
from python_ivm.refresh.options import Options, Output
from python_ivm.refresh.reason import Reason
from python_ivm.sources.history import BEFORE_ALL, Change, SourceChange, SourceVersion, Until
from python_ivm.state.bookmark import Bookmark, Found


@dataclass
class ModelSources:
    """The tables and views that a model reads.

    Attributes:
        tables: The tables below its views, each once.
        views: The views that were taken apart, by key.
        warehouse: Is asked.
        catalog: Knows the tables' names, and why a view could not be taken apart.
        found: What the history of the model's state says.
        options: The model's configuration.
        own_key: The planner key of the model's own rows; None if it does not read them.
        delayed: Whether the model reads rows of the run before.
        start: Whether it has no rows yet.
        point: Up to which value of a column that orders rows they are seen; None before the first.
    """

    tables: Sequence[TableReference]
    views: Mapping[str, View]
    warehouse: CachedWarehouse
    catalog: Catalog
    found: Found
    options: Options
    own_key: str | None
    delayed: bool
    start: bool
    point: str | None = None

    @cached_property
    def ordered(self) -> Mapping[str, Until]:
        """The sources whose rows are taken by the values of a column, before the first one.

        Empty unless ``ivm_step`` names a column, and the model's result depends on its steps.

        Raises:
            InvalidModel: If no source has the column, or if it is of no type that orders rows.
        """
        name = self.options.order
        if name is None or not self.tables:
            return {}
        found = ordering.ordered_by(name, self.tables, self.warehouse, self.own_key)
        return found if self.delayed or self.options.output is Output.INSERTED else {}

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

    def changes_since(self, bookmark: Bookmark) -> dict[str, SourceChange] | Reason:
        """What happened to each source since a bookmark, or why that cannot be followed.

        Args:
            bookmark: Of a refresh before.

        Raises:
            InvalidModel: If a source does not exist.
        """
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
            found = self._change_since(table, bookmark)
            if isinstance(found, Reason):
                return found
            changes[table.key] = self._with_names(table, found)
        for key, change in changes.items():
            if change.change is Change.REPLACED:
                return Reason("SOURCE_REPLACED", f"{key} was replaced as a whole")
            column = (
                versions.not_of_a_feed(self.warehouse, change.parts) if change.changed else None
            )
            if column is not None:
                return versions.without_feed(change.parts, column)
        return changes

    def _change_since(self, table: TableReference, bookmark: Bookmark) -> SourceChange | Reason:
        """What happened to one source since a bookmark, or why that cannot be followed."""
        if table.key not in bookmark.sources:
            return Reason("SOURCE_NEW", f"{table.key} was not read before")
        if table.last:
            return versions.seen_since(self.warehouse, table, bookmark.sources)
        before, steady = bookmark.sources[table.key], table.key in self.found.steady
        found = versions.change_since(self.warehouse, table.parts, before, steady)
        return found if isinstance(found, Reason) else self.up_to_point(table, found, bookmark)

    def up_to_point(
        self, table: TableReference, change: SourceChange, bookmark: Bookmark
    ) -> SourceChange:
        """What of a source's change is seen up to the model's time point.

        At another one than the bookmark's more of its rows are seen, and nothing else changed.

        Args:
            table: The source.
            change: What happened to it since the bookmark.
            bookmark: Of the refresh before.
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

    def unversioned(self) -> tuple[str, ...]:
        """The sources that are no Delta tables, by planner key."""
        current = self.current_versions()
        return tuple(table.key for table in self.tables if table.key not in current)

    def not_delta(self, key: str) -> Reason:
        """Why no change of a source can be seen."""
        why = self.catalog.opaque.get(key)
        if why is not None:
            text = f"{key} is a view that cannot be taken apart"
            details = f"{why.rstrip('.')}; read the Delta tables below it"
        else:
            text = f"{key} is not a Delta table"
            details = (
                "so its changes cannot be read: read the Delta tables below it, or store it as one"
            )
        return Reason("SOURCE_NOT_DELTA", text, details=details)

    def redefined(self, bookmark: Bookmark) -> list[str]:
        """The views that are not what they were when the state was built."""
        views = self.views
        changed = [k for k, v in views.items() if not is_still(v, bookmark.views.get(k, ""))]
        return changed or [key for key in bookmark.views if key not in views]

    def _seen_last(self, table: TableReference) -> SourceVersion:
        """The version of a table that the last step saw."""
        bookmark = self.found.bookmark
        if self.start or bookmark is None or bookmark.start:
            return BEFORE_ALL
        return bookmark.sources.get(table.key_now, BEFORE_ALL)

    def _with_names(self, table: TableReference, change: SourceChange) -> SourceChange:
        # Of a table that has two feeds Spark takes one for another read of it.
        two_feeds = any(other.last and other.key_now == table.key for other in self.tables)
        by_path = table.last or two_feeds or table.key == self.own_key
        return replace(
            change,
            stored=self.catalog.hidden.get(table.key_now, {}),
            location=self.warehouse.location(table.parts) if by_path else "",
        )
