"""What the macros of `dbt run-operation` call: `adapter.ivm_preview` and the like."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dbt.adapters.base.meta import AdapterMeta, available
from dbt.adapters.contracts.relation import RelationType
from dbt_common.exceptions import CompilationError, DbtBaseException, DbtRuntimeError

from dbt.adapters.sparkivm.bridge.refresher import Refresher
from dbt.adapters.sparkivm.bridge.this_run import this_run
from dbt.adapters.sparkivm.bridge.warehouse import SparkWarehouse
from dbt.adapters.sparkivm.configs import nodes
from dbt.adapters.sparkivm.log import warn
from dbt.adapters.sparkivm.operations import changes, inspections
from dbt.adapters.sparkivm.operations.each_model import MOST_ROWS, in_short
from dbt.adapters.sparkivm.operations.history_query import Past, query
from dbt.adapters.sparkivm.operations.previews import previews
from dbt.adapters.sparkivm.prefetched.reading import prefetch
from dbt.adapters.sparkivm.prefetched.unchanged import PrefetchedWarehouse
from python_ivm.errors import Conflict
from python_ivm.operate.adoption import Adoption, adoption
from python_ivm.operate.records import records
from python_ivm.operate.renaming import renaming
from python_ivm.operate.unbuilt import unbuilt
from python_ivm.parse.parser import table_key
from python_ivm.refresh.lifecycle.orphans import reads_state
from python_ivm.refresh.lifecycle.ownership import refuse_state_of_another_model
from python_ivm.refresh.metadata.versions import state_history
from python_ivm.refresh.request import Request
from python_ivm.render.sources import relation_name


class OperationsMixin(metaclass=AdapterMeta):
    """The adapter's part of operations on the whole project."""

    @available.parse(lambda *a, **k: "")
    def ivm_preview(
        self, graph: Mapping[str, Any], models: Sequence[str] | str = (), look: bool = False
    ) -> str:
        """What the next run would do to the project's maintained models, as text.

        Args:
            graph: The project's, as dbt gives it to Jinja.
            models: The names of models that the run builds; none means all.
            look: Whether changed rows may be read, as the run reads them to decide.

        Raises:
            CompilationError: If there is no model of a name.
        """
        from dbt.adapters.sparkivm.operations import texts  # whose tables take a while to import

        compiled = nodes.Texts(self, _chosen(graph, models))
        return texts.of_previews(previews(self, graph, compiled, look=look))

    @available.parse(lambda *a, **k: "")
    def ivm_compiled(self, unique_id: str) -> str:
        """A model's SQL as its own run compiles it: with its package's vars and ephemeral models.

        Args:
            unique_id: The model's.

        Raises:
            Exception: What dbt's compilation raises.
        """
        text = nodes.Texts(self, [unique_id])[unique_id]
        if isinstance(text, Exception):
            raise text
        return text

    @available.parse(lambda *a, **k: "")
    def ivm_check(self, graph: Mapping[str, Any], models: Sequence[str] | str = ()) -> str:
        """Whether and how the project's maintained models can be maintained, as text.

        Args:
            graph: The project's, as dbt gives it to Jinja.
            models: The names of models to look at; none means all.

        Raises:
            CompilationError: If there is no model of a name.
        """
        from dbt.adapters.sparkivm.operations import texts

        compiled = nodes.Texts(self, _chosen(graph, models))
        return texts.of_checks(inspections.check_all(self, graph, compiled))

    @available.parse(lambda *a, **k: "")
    def ivm_status(self, graph: Mapping[str, Any], models: Sequence[str] | str = ()) -> str:
        """Where the project's maintained models stand, as text.

        Args:
            graph: The project's, as dbt gives it to Jinja.
            models: The names of models to look at; none means all.

        Raises:
            CompilationError: If there is no model of a name.
        """
        from dbt.adapters.sparkivm.operations import texts

        compiled = nodes.Texts(self, _chosen(graph, models))
        return texts.of_statuses(inspections.read_statuses(self, graph, compiled))

    @available.parse(lambda *a, **k: query([], {}))
    def ivm_history_query(
        self, graph: Mapping[str, Any] | None = None, since: Mapping[str, int] | None = None
    ) -> str:
        """The refreshes of the project's maintained models, as a query.

        Args:
            graph: The project's, as dbt gives it to Jinja; None asks for the columns alone.
            since: The time of the last refresh that is known already, in milliseconds, by state.
        """
        warehouse, found = self._ivm_warehouse(), []
        for node in nodes.maintained(graph).values() if graph is not None else ():
            view = (node["schema"], node["alias"])
            state = self._ivm_state(node, view, node["config"])
            try:
                past = records(warehouse.history(state, None) or ())
            except DbtBaseException as error:
                warn(f"{node['name']}: its history cannot be read: {in_short(error)}")
                continue
            found.append(Past(table_key(view), table_key(state), past))
        return query(found, since or {})

    def _ivm_warehouse_of(self, graph: Mapping[str, Any], uids: Sequence[str]) -> SparkWarehouse:
        """Answers about tables; of many models the logs of their tables are read once.

        Args:
            graph: The project's, as dbt gives it to Jinja.
            uids: The models that are asked about.
        """
        found = prefetch(self, graph, uids) if self.config.credentials.is_connect else None
        if found is None:
            return self._ivm_warehouse()
        this_run().settings = found.settings
        known = {"conf": self._ivm_conf(), "engine": this_run().engine}
        return PrefetchedWarehouse(self._ivm_query, found, **known)

    @available.parse(lambda *a, **k: [])
    def ivm_maintain(
        self, graph: Mapping[str, Any], models: Sequence[str] | str = (), force: bool = False
    ) -> list[str]:
        """Do what the states of the project's maintained models need.

        Args:
            graph: The project's, as dbt gives it to Jinja.
            models: The names of models; none means all.
            force: Whether it is done in any case.

        Returns:
            What to tell the user, line by line.

        Raises:
            CompilationError: If there is no model of a name.
        """
        compiled = nodes.Texts(self, _chosen(graph, models))
        found = changes.maintain_all(self, graph, compiled, forced=force)
        return [f"{name}: {done.told}" for name, done in found]

    @available.parse(lambda *a, **k: [])
    def ivm_audit(
        self,
        graph: Mapping[str, Any],
        models: Sequence[str] | str = (),
        fraction: float = 0.01,
        seed: int | None = None,
    ) -> list[str]:
        """Recompute a sample of the project's maintained models, and compare.

        Args:
            graph: The project's, as dbt gives it to Jinja.
            models: The names of models; none means all.
            fraction: Which part of the groups or rows, as a fraction of 1.
            seed: Which sample; None takes any.

        Returns:
            What to tell the user, line by line.

        Raises:
            CompilationError: If there is no model of a name, or a sample differs.
        """
        compiled = nodes.Texts(self, _chosen(graph, models))
        chosen = random.randrange(2**31) if seed is None else seed
        found = inspections.audit_all(self, graph, compiled, parts_of(fraction), chosen)
        wrong = [f"{one.model}: {one.told}: {one.differing}" for one in found if one.equal is False]
        if wrong:
            raise CompilationError("\n".join(wrong))
        return [f"{one.model}: {one.told}" for one in found]

    @available.parse(lambda *a, **k: [])
    def ivm_adopt(
        self,
        graph: Mapping[str, Any],
        models: Sequence[str] | str,
        trust: bool = False,
        versions: Mapping[str, int] | None = None,
    ) -> list[str]:
        """Let the tables under the names of maintained models become their states.

        Args:
            graph: The project's, as dbt gives it to Jinja.
            models: The names of models.
            trust: Whether the tables are not compared with the queries.
            versions: The versions of sources that they stand for, by name; else the present ones.

        Returns:
            What to tell the user, line by line.

        Raises:
            CompilationError: If there is no model of a name, or a table is not adopted.
        """
        compiled = nodes.Texts(self, _named(graph, models))
        found = changes.adopt_all(self, graph, compiled, versions=versions, trusted=trust)
        return _done((one.model, one.told, one.done) for one in found)

    @available.parse(lambda *a, **k: [])
    def ivm_rebuild(self, graph: Mapping[str, Any], models: Sequence[str] | str) -> list[str]:
        """Build maintained models anew; no hooks run.

        Args:
            graph: The project's, as dbt gives it to Jinja.
            models: The names of models.

        Returns:
            What to tell the user, line by line.

        Raises:
            CompilationError: If there is no model of a name, or one could not be built.
        """
        compiled = nodes.Texts(self, _named(graph, models))
        return _done(changes.rebuild_all(self, graph, compiled))

    def ivm_adopt_one(
        self, request: Request, *, versions: Mapping[str, int], trusted: bool
    ) -> changes.Adopted:
        """Let the table under a model's name become its state.

        Args:
            request: The model.
            versions: The versions of sources that the table stands for; else the present ones.
            trusted: Whether it is not compared with the query.

        Returns:
            What was done; or why nothing, where the table does not equal the query.

        Raises:
            IvmError: If it cannot be adopted; if it was written meanwhile.
        """
        warehouse = self._ivm_warehouse()
        planned = adoption(request, warehouse, request.view, versions=versions, trusted=trusted)
        found = None if trusted else self._ivm_difference(request, planned)
        if trusted and planned.repeated is not None:
            again = self._ivm_query(f"SELECT count(*) AS n FROM (\n{planned.repeated}\n) AS again")
            if again[0]["n"]:
                told = f"{again[0]['n']:,} groups of the query are in the table more than once"
                found = changes.Adopted(request.model, f"refused: {told}; {_ANEW}")
        if found is not None:
            return found
        if planned.warning:
            warn(f"{request.model}: {planned.warning.removeprefix(f'{request.model}: ')}")
        existing = self.get_relation(None, *request.view)

        def drop() -> None:
            newest = warehouse.history(planned.table, 1)
            if not newest or newest[0].version != planned.version:
                self._ivm_query(f"DROP TABLE {relation_name(request.state)}")
                raise Conflict(
                    f"{relation_name(planned.table)} was written meanwhile",
                    model=request.model,
                    hint="It is as it was. Adopt it while nobody writes to it.",
                )
            self.drop_relation(existing)

        refresher = Refresher(self._ivm_query, self._ivm_conf(), warehouse, drop)
        refresher.run(request, planned.statements)
        return changes.Adopted(request.model, planned.told, done=True)

    def _ivm_difference(self, request: Request, planned: Adoption) -> changes.Adopted | None:
        """What there is to say of a table that does not equal its model's query."""
        each = "greatest(abs(expected_rows - actual_rows), 1)"
        rows = self._ivm_query(
            f"SELECT *, sum({each}) OVER () AS all_rows FROM (\n{planned.difference}\n) "
            f"AS differing LIMIT {MOST_ROWS}"
        )
        if not rows:
            return None
        number = int(rows[0]["all_rows"])
        told = f"{number:,} row{'' if number == 1 else 's'} of table and query differ"
        shown = [{k: str(v) for k, v in row.items() if k != "all_rows"} for row in rows]
        return changes.Adopted(request.model, f"refused: {told}; {_ANEW}", differing=shown)

    def ivm_rename_one(self, request: Request, former: tuple[str, str], suffix: str) -> None:
        """Move the state of a model's former name to its present one.

        Args:
            request: The model under its present name.
            former: Schema and name of the public view that it had.
            suffix: What the name of its state ends with.

        Raises:
            IvmError: If there is no such state, or something has its new place.
        """
        warehouse = self._ivm_warehouse()
        refresher = Refresher(self._ivm_query, self._ivm_conf(), warehouse, lambda: None)
        refresher.run(request, renaming(former, request, warehouse, suffix))

    def ivm_drop_one(self, request: Request) -> str:
        """Drop a model's state, and its public view if it shows that state.

        Of a state whose log is damaged the view alone tells that it is the model's.

        Args:
            request: The model.

        Returns:
            What was dropped, or why nothing.

        Raises:
            IvmError: If the state is another model's.
        """
        warehouse, state = self._ivm_warehouse(), request.state
        view = warehouse.definition(request.view)
        shown = view is not None and reads_state(view.text, state)
        try:
            found = state_history(warehouse, state)
        except DbtRuntimeError as error:
            if not shown:
                told = f"the history of {relation_name(state)} cannot be read"
                return f"{told}, and no view shows it; kept: {in_short(error)}"
        else:
            bookmark = found.bookmark
            if found.newer:
                return f"{unbuilt(found)}; kept"
            if bookmark is None:
                missing = warehouse.columns(state) is None
                return "it is not built" if missing else f"{relation_name(state)} is no state; kept"
            refuse_state_of_another_model(request, bookmark)
        done = []
        if shown:
            self.drop_relation(self._ivm_relation(request.view, RelationType.View))
            done.append(relation_name(request.view))
        self.drop_relation(self._ivm_relation(state, RelationType.Table))
        return f"dropped {', '.join([*done, relation_name(state)])}"


_ANEW = "the table is left as it is. dbt-sparkivm rebuild builds the model anew"


def _done(told: Iterable[tuple[str, str, bool]]) -> list[str]:
    """Lines to show, of work that was done for each model.

    Raises:
        CompilationError: If some was not.
    """
    found = [(f"{model}: {what}", done) for model, what, done in told]
    if not all(done for _, done in found):
        raise CompilationError("\n".join(line for line, _ in found))
    return [line for line, _ in found]


def parts_of(fraction: float) -> int:
    """Into how many parts a view falls, of which a fraction is one.

    Raises:
        CompilationError: If it is no fraction.
    """
    if not 0 < fraction <= 1:
        raise CompilationError("The fraction is a number above 0, and at most 1")
    return max(1, round(1 / fraction))


def _named(graph: Mapping[str, Any], models: Sequence[str] | str) -> list[str]:
    """The unique ids of models, of which at least one is named.

    Raises:
        CompilationError: If none is, or there is no model of a name.
    """
    if not models:
        raise CompilationError("Name the models, as in --args '{models: [revenue]}'")
    return _chosen(graph, models)


def _chosen(graph: Mapping[str, Any], models: Sequence[str] | str) -> list[str]:
    """The unique ids of models, by their names; all of them if none is named."""
    named = [models] if isinstance(models, str) else list(models)
    found = {u: n for u, n in graph["nodes"].items() if n["resource_type"] == "model"}
    if not named:
        return list(found)
    unknown = [n for n in named if n not in {node["name"] for node in found.values()} | set(found)]
    if unknown:
        raise CompilationError(f"There is no model named {', '.join(unknown)}")
    return [uid for uid, node in found.items() if uid in named or node["name"] in named]
