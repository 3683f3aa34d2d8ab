"""A warehouse that is asked everything once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from python_ivm.refresh.request import Warehouse
from python_ivm.sources.clock import Instant
from python_ivm.sources.history import Commit
from python_ivm.sql.inline import View


class Remembering:
    """A warehouse that is asked for histories, columns and types once.

    So a plan sees one state of each table.
    """

    def __init__(self, warehouse: Warehouse) -> None:
        """Take the warehouse to ask."""
        self._warehouse = warehouse
        self._history: dict[tuple[tuple[str, ...], int | None], Sequence[Commit] | None] = {}
        self._columns: dict[tuple[str, ...], Mapping[str, str] | None] = {}
        self._described: dict[str, Sequence[tuple[str, str]]] = {}
        self._instant: Instant | None = None
        self._namespace: tuple[str, str] | None = None
        self._views: dict[tuple[str, ...], View | None] = {}

    def history(self, parts: tuple[str, ...], limit: int | None) -> Sequence[Commit] | None:
        """The commits, asked once."""
        if (parts, limit) not in self._history:
            self._history[parts, limit] = self._warehouse.history(parts, limit)
        return self._history[parts, limit]

    def columns(self, parts: tuple[str, ...]) -> Mapping[str, str] | None:
        """The columns, asked once."""
        if parts not in self._columns:
            self._columns[parts] = self._warehouse.columns(parts)
        return self._columns[parts]

    def properties(self, parts: tuple[str, ...]) -> Mapping[str, str]:
        """The properties."""
        return self._warehouse.properties(parts)

    def namespace(self) -> tuple[str, str]:
        """The session's catalog and schema, asked once."""
        if self._namespace is None:
            self._namespace = self._warehouse.namespace()
        return self._namespace

    def instant(self) -> Instant:
        """The time, asked once."""
        if self._instant is None:
            self._instant = self._warehouse.instant()
        return self._instant

    def definition(self, parts: tuple[str, ...]) -> View | None:
        """A view, asked once."""
        if parts not in self._views:
            self._views[parts] = self._warehouse.definition(parts)
        return self._views[parts]

    def describe(self, sql: str) -> Sequence[tuple[str, str]]:
        """The types, asked once."""
        if sql not in self._described:
            self._described[sql] = self._warehouse.describe(sql)
        return self._described[sql]

    def user_functions(self) -> Sequence[str]:
        """The functions that users made."""
        return self._warehouse.user_functions()

    def enable_change_feed(self, parts: tuple[str, ...]) -> None:
        """Switch it on, and forget the histories, for that is a commit."""
        self._warehouse.enable_change_feed(parts)
        self._history.clear()
