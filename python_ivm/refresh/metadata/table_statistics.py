"""Sizes and files of the tables that a model reads, and of its state."""

from __future__ import annotations

from collections.abc import Sequence

from python_ivm.parse.loops import NOW
from python_ivm.parse.marks import AS_OF_LAST
from python_ivm.parse.parser import TableReference, table_key
from python_ivm.refresh.metadata.cached_warehouse import CachedWarehouse
from python_ivm.refresh.metadata.catalog import Catalog
from python_ivm.sources.history import DataFile
from python_ivm.state.bookmark import Bookmark
from python_ivm.state.layout import STATE

_SIZES_LAST = 16
"""After this many refreshes tables are asked for their sizes again, by a Spark job for each one
that has changed."""


class TableStatistics:
    """What is known of tables; :class:`python_ivm.optimize.cost.Statistics` of one model.

    Attributes:
        sizes: Bytes of tables, by name, as far as they were asked for.
    """

    def __init__(
        self,
        state: tuple[str, ...],
        tables: Sequence[TableReference],
        warehouse: CachedWarehouse,
        catalog: Catalog,
        bookmark: Bookmark | None,
    ) -> None:
        """Take what the last refreshes asked; a table that grows is asked again before long.

        Args:
            state: The name of the model's state.
            tables: The model's sources.
            warehouse: Is asked.
            catalog: Knows the states below the names that the model reads.
            bookmark: The newest one of the state, if it has one.
        """
        self._state = state
        self._tables = tables
        self._warehouse = warehouse
        self._catalog = catalog
        kept = bookmark is not None and bookmark.refresh % _SIZES_LAST != 0
        self.sizes: dict[str, int] = dict(bookmark.sizes) if bookmark is not None and kept else {}

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
            detail = self._warehouse.detail(parts)
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
        return None if parts is None else self._warehouse.files(parts)

    def parts(self, source: str) -> tuple[str, ...] | None:
        """The name of a source of the plan, of which the model's own state is one."""
        if source == STATE:
            return self._state
        return next((table.parts for table in self._tables if table.key == source), None)
