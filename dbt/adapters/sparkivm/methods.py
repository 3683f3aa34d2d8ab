"""What the macros of maintained models call: `adapter.ivm_*`."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from dbt.adapters.base import BaseRelation
from dbt.adapters.base.meta import AdapterMeta, available
from dbt.adapters.contracts.connection import AdapterResponse
from dbt.adapters.contracts.relation import RelationType
from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.sparkivm.bridge.comments import persist
from dbt.adapters.sparkivm.bridge.conf import Conf, SessionConf, StatementConf
from dbt.adapters.sparkivm.bridge.delta_log import DeltaLogs
from dbt.adapters.sparkivm.bridge.refresher import Outcome, Refresher
from dbt.adapters.sparkivm.bridge.relations import view_text
from dbt.adapters.sparkivm.bridge.shortcuts import SessionShortcuts
from dbt.adapters.sparkivm.bridge.this_run import this_run
from dbt.adapters.sparkivm.bridge.warehouse import (
    Row,
    RunWarehouse,
    Shortcuts,
    SparkWarehouse,
    of_server,
)
from dbt.adapters.sparkivm.commands.cloning import Cloner
from dbt.adapters.sparkivm.configs.maintained import storage_of, typed_columns, warn_once
from dbt.adapters.sparkivm.connection.session import SessionHandle, SessionOfThread
from dbt.adapters.sparkivm.connection.settings import spark_text
from dbt.adapters.sparkivm.diagnostics.planner_errors import as_dbt_errors
from dbt.adapters.sparkivm.log import warn
from dbt.adapters.sparkivm.prefetched.of_run import prefetched_once
from dbt.adapters.sparkivm.prefetched.reading import prefetch_for_run
from dbt.adapters.sparkivm.prefetched.unchanged import PrefetchedMetadata, SourceLogs, nothing_to_do
from dbt.adapters.sparkivm.telemetry.observing import observed
from python_ivm.errors import IvmError
from python_ivm.explain.explain import explain
from python_ivm.loops.run import Relation
from python_ivm.operate.maintenance import Maintenance, maintenance
from python_ivm.parse.parser import table_key
from python_ivm.parse.previous import previous_tables
from python_ivm.qualify.checks.session_settings import ALWAYS, other_than_defaults
from python_ivm.refresh.consistency import consistency_query, loop_to_run
from python_ivm.refresh.delays.start import readable
from python_ivm.refresh.metadata.versions import shows_state
from python_ivm.refresh.options import Options
from python_ivm.refresh.request import Request

logger = AdapterLogger("SparkIvm")


_VARYING = re.compile(r"\b(run_started_at|invocation_id)\b(?=[^{}]*\}\})")
"""What Jinja renders otherwise at each run, as an expression in its braces."""


class IvmMixin(metaclass=AdapterMeta):
    """The adapter's methods for maintained models."""

    @available.parse(lambda *a, **k: None)
    def ivm_request(
        self,
        model: Mapping[str, Any],
        sql: str,
        target: BaseRelation,
        *,
        full_refresh: bool | None = None,
        partial: bool = False,
    ) -> Request:
        """What a model asks of the planner.

        Args:
            model: The node, as dbt gives it to Jinja.
            sql: Its compiled SQL.
            target: The public view.
            full_refresh: True asks for a rebuild, False forbids that of a changed query.
            partial: Whether the SQL reads no rows or a sample of them.

        Raises:
            CompilationError: If the model's configuration is wrong.
        """
        config = dict(model["config"])
        view = (target.schema, target.identifier)
        schema, state = self._ivm_state(model, view, config)
        existing = self.get_relation(target.database, target.schema, target.identifier)
        is_view = existing is not None and existing.type == RelationType.View
        information = getattr(existing, "information", None) or ""
        text = view_text(information) if is_view else None
        # A view that still reads a former version of the state was left by a run that was killed.
        stands = not information or shows_state(text or information, state)
        root = config.get("location_root")
        with as_dbt_errors(str(model["name"])):
            return Request(
                model=str(model["name"]),
                sql=sql,
                view=view,
                state=(schema, state),
                options=Options.of(config),
                settings=this_run().settings or self._ivm_settings(),
                full_refresh=full_refresh,
                view_exists=is_view and stands,
                view_text=text,
                table_in_the_way=existing is not None and not is_view,
                properties={
                    str(k): spark_text(v) for k, v in (config.get("tblproperties") or {}).items()
                },
                location=f"{root}/{state}" if root else None,
                storage=storage_of(model),
                partial=partial,
                project=self.config.project_name,
                began=round(time.time() * 1000),
                columns=typed_columns(model),
                previous=dict(this_run().previous),
                varying=tuple(dict.fromkeys(_VARYING.findall(str(model.get("raw_code") or "")))),
            )

    @available.parse(lambda *a, **k: "")
    def ivm_readable(self, request: Request) -> str:
        """The model's SQL as something that Spark can describe, also before the first build.

        A model that reads its own rows reads none of them in it.
        """
        with as_dbt_errors(request.model):
            return readable(request, self._ivm_warehouse())

    @available.parse(lambda *a, **k: None)
    def ivm_refresh(
        self, request: Request, graph: Mapping[str, Any], selected: Sequence[str] = ()
    ) -> Outcome:
        """Plan a model's refresh and carry it out.

        Args:
            request: The model and its configuration.
            graph: The project's, as dbt gives it to Jinja.
            selected: The unique ids of what the run builds, likewise.

        Raises:
            CompilationError: If the model is wrong.
            DbtRuntimeError: If it cannot be refreshed.
        """
        warn_once(graph)
        view = self.get_relation(None, request.view[0], request.view[1])
        conf = self._ivm_conf()
        with as_dbt_errors(request.model):
            prefetched = self._ivm_prefetched(graph, selected)
            warehouse = self._ivm_run_warehouse(request, graph, conf, prefetched)
        profile = self.config.credentials
        watched = observed(profile.telemetry, request, profile.host or "")
        with as_dbt_errors(request.model), watched as refreshing:
            refresher = Refresher(
                self._ivm_query,
                conf,
                warehouse,
                lambda: self.drop_relation(view),
                self._ivm_show(),
                self._ivm_tuples,
                refreshing.statement,
            )
            idle = nothing_to_do(request, prefetched, warehouse) if prefetched is not None else None
            if prefetched is not None and idle is None:
                prefetched.write(request)
            outcome = refresher.refresh(request, idle)
            refreshing.response = outcome.response
        if request.options.auto_maintain and not request.partial:
            self.ivm_maintain_one(request)
        return outcome

    def ivm_maintain_one(self, request: Request, *, forced: bool = False) -> Maintenance:
        """Do what a model's state needs; what goes wrong there is no reason to fail a run.

        Args:
            request: The model.
            forced: Whether it is done in any case.

        Returns:
            What was done, or why nothing.
        """
        conf, warehouse = self._ivm_conf(), self._ivm_warehouse()
        refresher = Refresher(self._ivm_query, conf, warehouse, lambda: None)
        try:
            now = round(time.time() * 1000)
            planned = maintenance(request, warehouse, now, forced=forced)
            refresher.run(request, planned.statements)
        except (IvmError, DbtRuntimeError) as error:
            told = str(getattr(error, "msg", error)).strip().splitlines()[0]
            warn(
                f"{request.model}: the rows are right, but its files were not tidied by OPTIMIZE "
                f"and VACUUM: {told}"
            )
            return Maintenance(told=f"failed: {told}")
        return planned

    @available.parse(lambda *a, **k: None)
    def ivm_persist_docs(
        self, view: BaseRelation, description: str, columns: Mapping[str, Mapping[str, Any]]
    ) -> None:
        """Write a model's descriptions to its public view.

        Args:
            view: The public view.
            description: The model's, or nothing.
            columns: The model's columns, as dbt gives them to Jinja, or none.
        """
        comments = {name: str(column.get("description") or "") for name, column in columns.items()}
        persist(self._ivm_query, (view.schema, view.identifier), description, comments)

    @available.parse(lambda *a, **k: None)
    def ivm_clone(
        self,
        target: BaseRelation,
        other: BaseRelation,
        existing: BaseRelation | None,
        request: Request | None = None,
    ) -> AdapterResponse:
        """Clone a relation of another schema.

        Args:
            target: The clone.
            other: What is cloned.
            existing: What has the clone's name, and goes.
            request: What the clone's model asks of the planner, if it is a maintained one.

        Raises:
            CompilationError: If something else has the place of the clone's state.
            DbtRuntimeError: If it cannot be cloned.
        """
        cloner = Cloner(self._ivm_query, self._ivm_conf(), self._ivm_warehouse())
        this, that = ((r.schema, r.identifier) for r in (target, other))

        def make_room() -> None:
            if existing is not None:
                self.drop_relation(existing)

        with as_dbt_errors(target.identifier):
            if request is not None and other.type == RelationType.View:
                response = cloner.model(request, that, make_room)
                if response is not None:
                    return response
            make_room()
            if other.type == RelationType.View:
                return cloner.view(this, that)
            return cloner.table(this, that, is_delta=bool(other.is_delta))

    @available.parse(lambda *a, **k: "")
    def ivm_explain(self, request: Request) -> str:
        """How a model is maintained, as text."""
        with as_dbt_errors(request.model):
            return explain(request, self._ivm_warehouse())

    @available.parse(lambda *a, **k: "")
    def ivm_consistency_query(self, view: BaseRelation, runs: int | None = None) -> str:
        """The SQL of the rows in which a maintained view differs from its query.

        Args:
            view: The public view.
            runs: How many of its last runs are replayed; None means all, if it reads its own rows.
        """
        with as_dbt_errors(view.identifier):
            parts, warehouse = (view.schema, view.identifier), self._ivm_warehouse()
            loop = loop_to_run(parts, warehouse)
            if loop is not None:
                show = self._ivm_show() or (lambda relation: self._ivm_query(relation.view()))
                for relation in loop.run(self._ivm_tuples)[0]:
                    show(relation)
            return consistency_query(parts, warehouse, runs)

    def _ivm_settings(self) -> dict[str, str]:
        """The session settings by which a query's result can differ."""
        conf = self._ivm_conf()
        given = other_than_defaults(conf.every_given())
        return {key: conf.get(key) for key in ALWAYS} | given

    def _ivm_warehouse(self) -> SparkWarehouse:
        """Answers about tables as of each question."""
        known = (self._ivm_query, self._ivm_shortcuts(), self._ivm_conf())
        return SparkWarehouse(*known, this_run().engine)

    def _ivm_prefetched(
        self, graph: Mapping[str, Any], selected: Sequence[str]
    ) -> PrefetchedMetadata | None:
        """What the run reads at once of its models, where each question would be a job."""
        run = this_run(graph)
        if not self.config.credentials.is_connect or run.looks_back:
            return None

        def read() -> PrefetchedMetadata | None:
            try:
                return prefetch_for_run(self, graph, selected)
            except DbtRuntimeError as error:  # then each model asks, and says what is wrong
                logger.debug(f"nothing is read at once: {error}")
                return None

        found = prefetched_once(read)
        run.settings = found.settings if found is not None else None
        return found

    def _ivm_run_warehouse(
        self,
        request: Request,
        graph: Mapping[str, Any],
        conf: Conf,
        prefetched: PrefetchedMetadata | None,
    ) -> RunWarehouse:
        """Answers about tables as one model of a run sees them.

        What others read as it was before the run is looked at before the model writes it.
        """
        run = this_run(graph)
        sources = run.sources or set()
        shortcuts = self._ivm_shortcuts()
        if prefetched is not None:
            shortcuts = SourceLogs(self._ivm_session(), prefetched, frozenset(sources))

        def seeing(*names: tuple[str, ...]) -> RunWarehouse:
            also = {(name[-2].lower(), name[-1].lower()) for name in names}
            known = (self._ivm_query, sources | also, run.answers)
            return RunWarehouse(*known, shortcuts, conf, run.engine)

        if run.looks_back:
            seeing(request.view, request.state).look(request.view, request.state)
        marked = {table_key(found.parts[-2:]) for found in previous_tables(request.sql)}
        states = {view: before.state for view, before in request.previous.items() if view in marked}
        return seeing(*(tuple(view.split(".")) for view in states), *states.values())

    def _ivm_shortcuts(self) -> Shortcuts | None:
        """What this thread's session tells of tables; of logs, where Spark runs in this process."""
        if self.config.credentials.is_connect:
            return SessionShortcuts(self._ivm_session())
        handle = self.connections.get_thread_connection().handle
        return DeltaLogs(handle) if isinstance(handle, SessionHandle) else None

    def _ivm_session(self) -> SessionOfThread:
        """The session of the thread that asks, which is opened then."""
        return SessionOfThread(lambda: self.connections.get_thread_connection().handle)

    def _ivm_show(self) -> Callable[[Relation], object] | None:
        """What makes a temporary view of rows, where Spark takes them as they are."""
        profile = self.config.credentials
        if not (profile.is_connect or profile.is_session):
            return None
        handle = self._ivm_session()

        def show(relation: Relation) -> None:
            handle.run(
                lambda session: session.createDataFrame(
                    relation.all_rows, relation.schema
                ).createOrReplaceTempView(relation.name)
            )

        return show

    def _ivm_conf(self) -> Conf:
        """The settings of this thread's connection."""
        if self.config.credentials.is_connect:
            return SessionConf(self._ivm_session())
        handle = self.connections.get_thread_connection().handle
        if isinstance(handle, SessionHandle):
            return SessionConf(handle)
        return StatementConf(self._ivm_rows)

    def _ivm_query(self, sql: str) -> list[Row]:
        """Run a statement on this thread's connection, under dbt's query comment."""
        return self._ivm_rows(self.connections._add_query_comment(sql))

    def _ivm_tuples(self, sql: str) -> Iterable[Sequence[Any]]:
        """Run a query of maybe many rows, and give their values in the order of the columns."""
        sql = self.connections._add_query_comment(sql)
        _, cursor = self.connections.add_query(sql, auto_begin=False)
        with self.connections.exception_handler(sql):
            if isinstance(cursor, SessionHandle):
                return cursor.fetch_tuples()
            return [tuple(map(of_server, row)) for row in cursor.fetchall()]

    def _ivm_rows(self, sql: str) -> list[Row]:
        _, cursor = self.connections.add_query(sql, auto_begin=False)
        with self.connections.exception_handler(sql):
            if isinstance(cursor, SessionHandle):  # whose columns would be one more question
                return [row.asDict() for row in cursor.fetchall()]
            names = [column[0] for column in cursor.description or []]
            rows = cursor.fetchall() if names else []
        return [dict(zip(names, map(of_server, row), strict=True)) for row in rows or []]
