"""A warehouse that is asked everything once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from python_ivm.optimize.cost import Execution
from python_ivm.parse.views import View
from python_ivm.refresh.metadata.cache import MetadataCache
from python_ivm.refresh.metadata.warehouse import Warehouse
from python_ivm.sources.clock import Instant
from python_ivm.sources.history import Commit, DataFile, Detail

T = TypeVar("T")


class CachedWarehouse:
    """A warehouse that is asked everything once, so that a plan sees one state of each table.

    Attributes:
        failure: The last error of a question about the catalog: no bug of the planner, as that of a
            query may be.
        stand_in: What is described in a query's place, where it reads what is not there yet.
    """

    def __init__(self, warehouse: Warehouse) -> None:
        """Take the warehouse to ask."""
        self._warehouse = warehouse
        self._answers = MetadataCache()
        self.failure: Exception | None = None
        self.stand_in: Callable[[str], str] = lambda sql: sql
        self._stand_ins: dict[str, str] = {}

    def history(self, parts: tuple[str, ...], limit: int | None) -> Sequence[Commit] | None:
        """A table's commits."""
        return self._answers.history(
            parts, limit, lambda most: self._ask(lambda: self._warehouse.history(parts, most))
        )

    def history_now(self, parts: tuple[str, ...], limit: int) -> Sequence[Commit] | None:
        """A table's commits as of now."""
        return self._ask(lambda: self._warehouse.history_now(parts, limit))

    def columns(self, parts: tuple[str, ...]) -> Mapping[str, str] | None:
        """A relation's columns."""
        return self._once(parts, "columns", lambda: self._warehouse.columns(parts))

    def properties(self, parts: tuple[str, ...]) -> Mapping[str, str]:
        """A table's properties."""
        return self._once(parts, "properties", lambda: self._warehouse.properties(parts))

    def location(self, parts: tuple[str, ...]) -> str:
        """Where a table lies."""
        return self._once(parts, "location", lambda: self._warehouse.location(parts))

    def is_partitioned(self, parts: tuple[str, ...]) -> bool:
        """Whether a table has partitions."""
        return self._once(parts, "partitions", lambda: self._warehouse.is_partitioned(parts))

    def detail(self, parts: tuple[str, ...]) -> Detail | None:
        """A table's newest version."""
        return self._answers.detail(parts, lambda: self._ask(lambda: self._warehouse.detail(parts)))

    def files(self, parts: tuple[str, ...]) -> Sequence[DataFile] | None:
        """A table's files."""
        return self._once(parts, "files", lambda: self._warehouse.files(parts))

    def namespace(self) -> tuple[str, str]:
        """The session's catalog and schema."""
        return self._once((), "namespace", self._warehouse.namespace)

    def instant(self) -> Instant:
        """The time."""
        return self._once((), "instant", self._warehouse.instant)

    def definition(self, parts: tuple[str, ...]) -> View | None:
        """A view."""
        return self._once(parts, "definition", lambda: self._warehouse.definition(parts))

    def describe(self, sql: str) -> Sequence[tuple[str, str]]:
        """The types of a query's columns."""
        sql = self.stand_in(self._stand_ins.get(sql, sql))
        return self._answers.other((), sql, lambda: self._warehouse.describe(sql))

    def describe_instead(self, sql: str, other: str) -> None:
        """Describe another text for a query that reads what need not stand."""
        self._stand_ins[sql] = other

    def texts(
        self, sql: str, execution: Execution = Execution.USUAL
    ) -> Sequence[Sequence[str | None]]:
        """The rows of a query whose columns are texts, executed so."""
        return self._warehouse.texts(sql, execution)

    def user_functions(self, schema: tuple[str, ...] | None = None) -> Sequence[str]:
        """The functions that users made."""
        ask = partial(self._warehouse.user_functions, schema)
        return self._once(schema or (), "user functions", ask)

    def doubles_quotes(self) -> bool:
        """How the engine reads a doubled quote."""
        return self._ask(self._warehouse.doubles_quotes)

    def setting(self, key: str) -> str | None:
        """A setting of the session."""
        return self._ask(lambda: self._warehouse.setting(key))

    def enable_change_feed(self, parts: tuple[str, ...]) -> None:
        """Switch it on, which is a commit."""
        self._ask(lambda: self._warehouse.enable_change_feed(parts))
        self._answers.forget(parts)

    def _once(self, parts: tuple[str, ...], question: str, ask: Callable[[], T]) -> T:
        return self._answers.other(parts, question, lambda: self._ask(ask))

    def _ask(self, ask: Callable[[], T]) -> T:
        try:
            return ask()
        except Exception as error:
            self.failure = error
            raise
