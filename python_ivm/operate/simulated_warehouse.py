"""A warehouse in which the refreshes that a run would do before are simulated."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from python_ivm.optimize.cost import Execution
from python_ivm.parse.parser import table_key
from python_ivm.parse.views import View
from python_ivm.refresh.metadata.cached_warehouse import CachedWarehouse
from python_ivm.refresh.metadata.versions import CHANGE_FEED, has_change_feed
from python_ivm.refresh.metadata.warehouse import Warehouse
from python_ivm.refresh.plan import Refresh
from python_ivm.refresh.request import Request
from python_ivm.refresh.statement import StatementKind
from python_ivm.render.sources import relation_name
from python_ivm.sources.clock import Instant
from python_ivm.sources.history import Commit, DataFile, Detail

Name = tuple[str, ...]

_REPLACED = "CREATE OR REPLACE TABLE AS SELECT"
_CHANGED = "MERGE"
_PLANS_ONLY = re.compile(r"\s*EXPLAIN\b", re.IGNORECASE)


class NotLooked(Exception):
    """A question about rows, which a look at metadata does not ask."""


@dataclass(frozen=True)
class _Imagined:
    """A table after a commit that is not there yet.

    Attributes:
        commit: The commit.
        parts: The table's name.
        by: The model whose refresh makes it.
    """

    commit: Commit
    parts: Name
    by: str


class SimulatedWarehouse:
    """A read-only warehouse that pretends that earlier models of the run were refreshed already.

    Every model that is planned over it sees one state of each table. A change feed that a run
    would switch on counts as switched on.

    Attributes:
        left_out: Whether a question about changed rows was left out since :meth:`begin`.
        feeds: The tables whose change feed a run would switch on, since then.
    """

    def __init__(self, warehouse: Warehouse, *, look: bool = False) -> None:
        """Take the warehouse to ask.

        Args:
            warehouse: Is asked for metadata.
            look: Whether it may be asked about changed rows, too, as a run asks.
        """
        self._warehouse = CachedWarehouse(warehouse)
        self._look = look
        self._imagined: dict[str, _Imagined] = {}
        self._views: dict[str, str] = {}
        self._built: dict[str, tuple[Name, Mapping[str, str]]] = {}
        self._switched_on: set[str] = set()
        self.left_out = False
        self.feeds: list[Name] = []

    def begin(self) -> None:
        """Begin with another model."""
        self.left_out = False
        self.feeds = []

    def imagine_refresh(self, request: Request, refresh: Refresh) -> None:
        """Let a model be refreshed as planned: those that read it are planned after it."""
        kinds = {statement.kind for statement in refresh.statements}
        if StatementKind.BUILD in kinds:
            self.imagine(request.state, request.model, replaced=True)
        elif refresh.strategy.merges:
            self.imagine(request.state, request.model, replaced=False)
        for statement in refresh.statements:
            if statement.kind is StatementKind.CREATE_VIEW:
                self._views[_key(request.view)] = statement.sql.partition("AS\n")[2]

    def imagine(self, parts: Name, by: str, *, replaced: bool) -> None:
        """Let a Delta table, if there is one, have one more commit.

        Args:
            parts: The table's name.
            by: The model whose refresh makes the commit.
            replaced: Whether it replaces the table; else it changes rows.
        """
        commits = self._warehouse.history(parts, 1)
        if not commits:
            return
        newest = commits[0]
        time = str(int(newest.timestamp) + 1) if newest.timestamp.isdigit() else newest.timestamp
        operation = _REPLACED if replaced else _CHANGED
        commit = Commit(newest.version + 1, time, operation)
        self._imagined[_key(parts)] = _Imagined(commit, parts, by)

    def imagine_built(self, parts: Name, columns: Mapping[str, str]) -> None:
        """Let there be a Delta table that is not built yet.

        For the types of queries that read it, a temporary view stands in, which has its last name.

        Args:
            parts: The table's name.
            columns: Its columns and their types.
        """
        self._built[_key(parts)] = parts, columns

    def changed_by(self, parts: Name) -> str:
        """The model that makes a table's newest commit, which is not there yet; empty if none."""
        imagined = self._imagined.get(_key(parts))
        return imagined.by if imagined is not None else ""

    def has_change_feed(self, parts: Name) -> bool:
        """Whether a table's change feed is on before the run."""
        return has_change_feed(self._warehouse, parts)

    # -- the protocol Warehouse ------------------------------------------------------------

    def history(self, parts: Name, limit: int | None) -> Sequence[Commit] | None:
        """A table's commits, the imagined one first."""
        if _key(parts) in self._built:
            return [Commit(0, "0", _REPLACED)]
        imagined = self._imagined.get(_key(parts))
        if imagined is None:
            return self._warehouse.history(parts, limit)
        before = self._warehouse.history(parts, limit)
        return [imagined.commit, *(before or ())][:limit]

    def history_now(self, parts: Name, limit: int) -> Sequence[Commit] | None:
        """The same: nothing else is known of now."""
        return self.history(parts, limit)

    def columns(self, parts: Name) -> Mapping[str, str] | None:
        """A relation's columns."""
        _, columns = self._built.get(_key(parts), (parts, None))
        return columns if columns is not None else self._warehouse.columns(parts)

    def properties(self, parts: Name) -> Mapping[str, str]:
        """A Delta table's properties."""
        if _key(parts) in self._built:
            return {CHANGE_FEED: "true"}
        found = self._warehouse.properties(parts)
        return {**found, CHANGE_FEED: "true"} if _key(parts) in self._switched_on else found

    def detail(self, parts: Name) -> Detail | None:
        """A Delta table's newest version, which may be imagined."""
        if _key(parts) in self._built:
            return None
        found = self._warehouse.detail(parts)
        imagined = self._imagined.get(_key(parts))
        if found is None or imagined is None:
            return found
        return replace(found, modified=imagined.commit.timestamp, version=imagined.commit.version)

    def location(self, parts: Name) -> str:
        """Where a Delta table's files lie."""
        return self._warehouse.location(parts)

    def is_partitioned(self, parts: Name) -> bool:
        """Whether a Delta table has partitions."""
        return self._warehouse.is_partitioned(parts)

    def files(self, parts: Name) -> Sequence[DataFile] | None:
        """A Delta table's files; of an imagined version those before it."""
        return self._warehouse.files(parts)

    def namespace(self) -> tuple[str, str]:
        """Catalog and schema of names that have none."""
        return self._warehouse.namespace()

    def instant(self) -> Instant:
        """The time; one for all models."""
        return self._warehouse.instant()

    def definition(self, parts: Name) -> View | None:
        """A view, with the text that an imagined refresh gave it."""
        view = self._warehouse.definition(parts)
        text = self._views.get(_key(parts))
        return view if view is None or text is None else replace(view, text=text)

    def describe(self, sql: str) -> Sequence[tuple[str, str]]:
        """Names and types of a query's columns; of imagined versions those before them."""
        for imagined in self._imagined.values():
            version = imagined.commit.version
            pinned = rf"({re.escape(relation_name(imagined.parts))} VERSION AS OF ){version}\b"
            sql = re.sub(pinned, rf"\g<1>{version - 1}", sql)
        for parts, _ in self._built.values():
            named = r"`?\.`?".join(map(re.escape, parts[-2:]))
            read = rf"(?<![\w`.])`?{named}`?(\s+VERSION AS OF 0\b)?(?![\w`])"
            sql = re.sub(read, f"`{parts[-1]}`", sql, flags=re.IGNORECASE)
        return self._warehouse.describe(sql)

    def texts(
        self, sql: str, execution: Execution = Execution.USUAL
    ) -> Sequence[Sequence[str | None]]:
        """The rows of a query about changed rows, if a look at them is allowed.

        Raises:
            NotLooked: If it is not, or the rows are those of an imagined commit.
        """
        imagined = any(self._names(sql, some) for some in self._imagined.values())
        if not _PLANS_ONLY.match(sql) and (imagined or not self._look):
            self.left_out = True
            raise NotLooked(sql)
        return self._warehouse.texts(sql, execution)

    @staticmethod
    def _names(sql: str, imagined: _Imagined) -> bool:
        return imagined.parts[-1].lower() in sql.lower()

    def doubles_quotes(self) -> bool:
        """Whether two quotes inside a text are one of its characters."""
        return self._warehouse.doubles_quotes()

    def user_functions(self, schema: tuple[str, ...] | None = None) -> Sequence[str]:
        """The functions that users made."""
        return self._warehouse.user_functions(schema)

    def setting(self, key: str) -> str | None:
        """A setting of the session."""
        return self._warehouse.setting(key)

    def enable_change_feed(self, parts: Name) -> None:
        """Only note that a run would switch it on."""
        self._switched_on.add(_key(parts))
        self.feeds.append(parts)


def _key(parts: Name) -> str:
    """A table's schema and name: a session's own catalog may be named or not."""
    return table_key(parts[-2:])
