"""What the planner may ask the warehouse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from python_ivm.optimize.cost import Execution
from python_ivm.parse.views import View
from python_ivm.sources.clock import Instant
from python_ivm.sources.history import Commit, DataFile, Detail


class Warehouse(Protocol):
    """What the planner asks; all but `texts` of the catalog, by one cheap metadata query.

    `texts` reads a change, and `enable_change_feed` is a commit to a source.
    """

    def history(self, parts: tuple[str, ...], limit: int | None) -> Sequence[Commit] | None:
        """A table's commits, newest first; None if it is missing or not a Delta table.

        Args:
            parts: The table's name.
            limit: How many are asked for; more may be told. None means all.
        """

    def history_now(self, parts: tuple[str, ...], limit: int) -> Sequence[Commit] | None:
        """The same as of now, even if the run sees an older version of the table."""

    def columns(self, parts: tuple[str, ...]) -> Mapping[str, str] | None:
        """A relation's columns and their Spark types, in order; None if it is missing."""

    def properties(self, parts: tuple[str, ...]) -> Mapping[str, str]:
        """A Delta table's properties."""

    def location(self, parts: tuple[str, ...]) -> str:
        """Where a Delta table lies."""

    def is_partitioned(self, parts: tuple[str, ...]) -> bool:
        """Whether a Delta table has partitions now."""

    def detail(self, parts: tuple[str, ...]) -> Detail | None:
        """A Delta table's newest version; None if it cannot be told."""

    def files(self, parts: tuple[str, ...]) -> Sequence[DataFile] | None:
        """A Delta table's files; None if they cannot be told cheaply, or are many."""

    def namespace(self) -> tuple[str, str]:
        """Catalog and schema of names that have none."""

    def instant(self) -> Instant:
        """The time by the session's clock and in its time zone."""

    def definition(self, parts: tuple[str, ...]) -> View | None:
        """A view; None if there is no such view."""

    def describe(self, sql: str) -> Sequence[tuple[str, str]]:
        """Names and types of a query's columns."""

    def texts(
        self, sql: str, execution: Execution = Execution.USUAL
    ) -> Sequence[Sequence[str | None]]:
        """The rows of a query whose columns are texts, executed so."""

    def doubles_quotes(self) -> bool:
        """Whether two quotes inside a text are one of its characters."""

    def user_functions(self, schema: tuple[str, ...] | None = None) -> Sequence[str]:
        """The functions that users made and that can be named without a schema, in lower case.

        Args:
            schema: In which they are named, maybe with its catalog; None is the session's.
        """

    def setting(self, key: str) -> str | None:
        """The value that somebody gave a setting of the session; None if nobody did."""

    def enable_change_feed(self, parts: tuple[str, ...]) -> None:
        """Switch a source's change feed on."""
