"""Models of a run to which nothing happened, told without a statement for each of them.

By Spark Connect a model of which no source changed takes some ten questions of a tenth of a second.
A run of many models reads the logs of their states and sources at once, and dbt lists its relations
anyway. From these a model is planned as usual. Whatever they do not tell is no answer, and the
model is then planned again by asking, as is each that has something to do (docs/decisions/0071).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from dbt.adapters.events.logging import AdapterLogger
from sqlglot import exp

from dbt.adapters.sparkivm.bridge.conf import Conf
from dbt.adapters.sparkivm.bridge.engine import Engine
from dbt.adapters.sparkivm.bridge.relations import view_text
from dbt.adapters.sparkivm.bridge.shortcuts import SessionShortcuts
from dbt.adapters.sparkivm.bridge.warehouse import Query, Row, RunWarehouse, SparkWarehouse
from dbt.adapters.sparkivm.connection.session import AnySession
from dbt.adapters.sparkivm.prefetched.many_logs import ManyLogs, Name, name_of
from python_ivm.parse.parser import DIALECT
from python_ivm.parse.views import View
from python_ivm.refresh.metadata.catalog import SESSION_CATALOG
from python_ivm.refresh.plan import Refresh, Strategy
from python_ivm.refresh.request import Request
from python_ivm.refresh.strategy import plan_refresh
from python_ivm.sources.history import Commit, Detail

logger = AdapterLogger("SparkIvm")

_FIELD = re.compile(r"^ \|-- (.*): ([a-z_0-9(), ]+) \(nullable = (?:true|false)\)$")
_TYPES = {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint"}
"""Spark's names of types in a tree, where they are others than in SQL."""
_SIMPLE = re.compile(
    r"(?:bigint|binary|boolean|date|decimal\(\d+,\d+\)|double|float|int|smallint|string|timestamp"
    r"|timestamp_ntz|tinyint)"
)
_SAID = re.compile(r"^View Catalog and Namespace: (\S.*)$", re.MULTILINE)
_SHOWN = re.compile(r"^View Query Output Columns: \[(.*)\]$", re.MULTILINE)
_QUOTED = re.compile(r"`((?:[^`]|``)*)`")
_SCHEMA = "Schema: root\n"


class NotTold(Exception):
    """A statement would have to be run."""


@dataclass(frozen=True)
class Listed:
    """A relation as dbt listed it when the run began.

    Attributes:
        is_view: Whether it is a view.
        information: What Spark told of it.
    """

    is_view: bool
    information: str

    def view(self) -> View | None:
        """The view; None if its text or its columns are not told in full."""
        text, said = view_text(self.information), _SAID.search(self.information)
        columns = _columns(self.information)
        if text is None or said is None or not columns:
            return None
        parts = exp.to_table(said[1].strip(), dialect=DIALECT).parts
        listed = _SHOWN.search(self.information)
        names = _QUOTED.findall(listed[1]) if listed else []
        shown = tuple(name.replace("``", "`") for name in names)
        # Under which settings it was made is not told: a maintained model's needs none.
        return View(text, tuple(p.name for p in parts if p.name), columns, shown, settings=None)


def _columns(information: str) -> dict[str, str]:
    """A relation's columns and types; empty if they are not told, or are not all simple."""
    _, found, tree = information.partition(_SCHEMA)
    columns = {}
    for line in tree.rstrip("\n").split("\n") if found else ():
        field = _FIELD.match(line)
        if field is None:
            return {}
        kind = _TYPES.get(field[2], field[2])
        if not _SIMPLE.fullmatch(kind):
            return {}
        columns[field[1]] = kind
    return columns


class PrefetchedMetadata:
    """What a run reads at once; its threads share it.

    Args:
        logs: The logs of sources and states.
        listed: The public views and the states of maintained models as dbt knew them when the run
            began, by schema and name in lower case.
        namespace: The catalog and the schema with which a session begins.
        settings: The settings with which it begins.
    """

    def __init__(
        self,
        logs: ManyLogs,
        listed: Mapping[Name, Listed],
        namespace: tuple[str, str],
        settings: Mapping[str, str],
    ) -> None:
        """Take what was read."""
        self.logs, self.namespace, self.settings = logs, namespace, settings
        self._listed = listed
        self._views = {name: found.view() for name, found in self._listed.items() if found.is_view}
        self._of_text = {view.text: name for name, view in self._views.items() if view}
        self._written: set[Name] = set()

    def write(self, request: Request) -> None:
        """Let a model's relations be unknown from now on, as it is refreshed."""
        self._written |= {name_of(request.view), name_of(request.state)}
        self.logs.forget(request.state)

    def listed(self, parts: tuple[str, ...]) -> Listed | None:
        """A maintained model's view or state; None of others, and of what was written since."""
        if len(parts) != 2 and parts[:-2] != (SESSION_CATALOG,):
            return None
        name = name_of(parts)
        return None if name in self._written else self._listed.get(name)

    def view(self, parts: tuple[str, ...]) -> View | None:
        """A maintained model's public view; None likewise, and where not all of it is told."""
        return self._views.get(name_of(parts)) if self.listed(parts) is not None else None

    def stored(self, parts: tuple[str, ...]) -> Mapping[str, str] | None:
        """The columns of a state; None likewise."""
        return self.logs.stored(parts) if self.listed(parts) is not None else None

    def of_text(self, sql: str) -> View | None:
        """The public view that Spark made of a query, whose columns it has; None likewise."""
        name = self._of_text.get(sql)
        return self.view(name) if name is not None else None


class SourceLogs(SessionShortcuts):
    """Shortcuts of a session that knows the logs of sources, as all models of a run see them.

    Args:
        handle: The session.
        prefetched: What the run read at once.
        sources: By schema and name in lower case.
    """

    def __init__(
        self, handle: AnySession, prefetched: PrefetchedMetadata, sources: frozenset[Name]
    ) -> None:
        """Take what is known."""
        super().__init__(handle)
        self._logs, self._sources = prefetched.logs, sources

    def history(self, parts: tuple[str, ...], limit: int | None) -> list[Row] | None:
        """A source's commits."""
        return self._logs.history(parts, limit) if self._knows(parts) else None

    def detail(self, parts: tuple[str, ...]) -> Row | None:
        """A source's newest version."""
        return self._logs.detail(parts) if self._knows(parts) else None

    def files(self, parts: tuple[str, ...]) -> list[Row] | None:
        """A source's files."""
        return self._logs.files(parts) if self._knows(parts) else None

    def forget(self, parts: tuple[str, ...]) -> None:
        """Leave a table to statements, as it is written."""
        self._logs.forget(parts)

    def _knows(self, parts: tuple[str, ...]) -> bool:
        return len(parts) > 1 and name_of(parts) in self._sources


class PrefetchedWarehouse(SparkWarehouse):
    """A warehouse that asks for nothing that was read at once.

    Args:
        query: Runs a statement and gives its rows.
        prefetched: What was read at once.
        usual: The warehouse as a run sees it, which is asked about sources; None without a run.
        conf: The session's settings; None if statements change them.
        engine: What is known of the engine.
    """

    def __init__(
        self,
        query: Query,
        prefetched: PrefetchedMetadata,
        usual: RunWarehouse | None = None,
        conf: Conf | None = None,
        engine: Engine | None = None,
    ) -> None:
        """Take what is known."""
        super().__init__(query, prefetched.logs, conf, engine)
        self._prefetched, self._usual = prefetched, usual

    def history(self, parts: tuple[str, ...], limit: int | None) -> Sequence[Commit] | None:
        """A table's commits; None of a view."""
        if self._usual is not None and self._usual.is_source(parts):
            return self._usual.history(parts, limit)
        listed = self._prefetched.listed(parts)
        return None if listed is not None and listed.is_view else super().history(parts, limit)

    def detail(self, parts: tuple[str, ...]) -> Detail | None:
        """A Delta table's newest version."""
        if self._usual is not None and self._usual.is_source(parts):
            return self._usual.detail(parts)
        return super().detail(parts)

    def columns(self, parts: tuple[str, ...]) -> Mapping[str, str] | None:
        """A relation's columns."""
        if self._usual is not None and self._usual.is_source(parts):
            return self._usual.columns(parts)
        view = self._prefetched.view(parts)
        told = view.columns if view is not None else self._prefetched.stored(parts)
        return told if told is not None else SparkWarehouse(self._query).columns(parts)

    def definition(self, parts: tuple[str, ...]) -> View | None:
        """A view."""
        if self._usual is not None and self._usual.is_source(parts):
            return self._usual.definition(parts)
        listed = self._prefetched.listed(parts)
        if listed is not None and not listed.is_view:
            return None
        return self._prefetched.view(parts) or super().definition(parts)

    def describe(self, sql: str) -> Sequence[tuple[str, str]]:
        """Names and types of a query's columns."""
        view = self._prefetched.of_text(sql)
        return list(view.columns.items()) if view is not None else super().describe(sql)

    def namespace(self) -> tuple[str, str]:
        """The session's catalog and schema."""
        return self._prefetched.namespace


def nothing_to_do(
    request: Request, prefetched: PrefetchedMetadata, usual: RunWarehouse
) -> Refresh | None:
    """The refresh of a model that has nothing to do; None if that is not known without asking.

    Args:
        request: The model.
        prefetched: What the run read at once.
        usual: The warehouse as the run sees it.
    """
    if request.full_refresh or request.partial or request.previous:
        return None
    left_open: list[str] = []

    def refuse(sql: str) -> NoReturn:
        left_open.append(sql)
        raise NotTold(sql)

    try:
        refresh = plan_refresh(request, PrefetchedWarehouse(refuse, prefetched, usual))
    except Exception as error:  # whatever it is, the model says so when it is planned by asking
        logger.debug(f"{request.model}: {type(error).__name__}: {error}")
        return None
    finally:
        if left_open:
            logger.debug(f"{request.model} is planned by asking: {left_open[0]}")
    idle = refresh.strategy is Strategy.NOOP and refresh.reason == "UNCHANGED"
    if left_open or not idle or refresh.statements or refresh.warning or refresh.again:
        return None
    return refresh
