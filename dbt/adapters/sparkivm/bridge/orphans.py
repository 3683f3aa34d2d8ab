"""States that no model keeps up any more: found, and dropped where they are the project's own."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dbt.adapters.base import BaseRelation
from dbt.adapters.base.meta import AdapterMeta, available
from dbt.adapters.contracts.relation import RelationType
from dbt.flags import get_flags
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.sparkivm.bridge.relations import IVM, KINDS, built, view_text
from dbt.adapters.sparkivm.log import say, warn
from python_ivm.errors import IvmError
from python_ivm.refresh.lifecycle.orphans import Orphan, former_state, orphan, reads_state
from python_ivm.refresh.lifecycle.ownership import shown_table
from python_ivm.refresh.metadata.versions import reads
from python_ivm.render.sources import relation_name


@dataclass(frozen=True)
class _Former:
    """A state that a model had before the run.

    Attributes:
        view: The model's relation.
        state: The table.
    """

    view: tuple[str, str]
    state: tuple[str, str]


class OrphansMixin(metaclass=AdapterMeta):
    """The adapter's part of states that are left behind."""

    def pre_model_hook(self, config: Mapping[str, Any]) -> Any:
        """Before a model is built: note the state that it may leave behind."""
        return self._ivm_state_left_by(config), super().pre_model_hook(config)  # type: ignore[misc]

    def post_model_hook(self, config: Mapping[str, Any], context: Any) -> None:
        """After it: drop that state if the model has no use for it any more."""
        former, others = context
        super().post_model_hook(config, others)  # type: ignore[misc]
        if former is not None:
            self._ivm_drop_former(former)

    @available.parse(lambda *a, **k: [])
    def ivm_orphans(
        self, graph: Mapping[str, Any], drop: bool = False, schemas: Sequence[str] | str = ()
    ) -> list[str]:
        """List the states in the project's schemas that no model keeps up, and drop its own.

        Schemas are searched whose names begin with the target's, too: dbt names custom ones so, and
        no model may be left in one. It may also be another target's; there nothing is dropped.

        Args:
            graph: The project's, as dbt gives it to Jinja.
            drop: Whether to drop those that are provably this project's.
            schemas: Where to look besides the schemas of the target and of the project's nodes.
                Only in all of these something is dropped.

        Returns:
            What to tell the user, line by line.
        """
        project = self.config.project_name
        relations = built(graph, self._ivm_state)
        schemas = [schemas] if isinstance(schemas, str) else schemas
        target = self.config.credentials.schema
        nodes = [node for node in graph["nodes"].values() if node["resource_type"] in KINDS]
        states = [made.state[0] for made in relations.values() if made.state is not None]
        named = [target, *schemas, *(node["schema"] for node in nodes), *states]
        own = {schema.lower() for schema in named}
        searched = [
            schema
            for schema in self._ivm_schemas()
            if schema.lower() in own or schema.lower().startswith(f"{target}_".lower())
        ]
        found = []
        for schema in sorted(searched):
            for relation in self._ivm_delta_tables(schema):
                parts = (relation.schema, relation.identifier)
                state = orphan(self._ivm_warehouse(), parts, project, relations)
                if state is not None:
                    found.append(state if schema.lower() in own else _kept_in(schema, state))
        if not found:
            return [f"No orphaned state in {', '.join(sorted(searched))}."]
        if drop:
            return self._ivm_dropped(found)
        return [*(state.told() for state in found), _how(found, schemas)]

    def _ivm_schemas(self) -> list[str]:
        return [str(next(iter(row.values()))) for row in self._ivm_query("SHOW SCHEMAS")]

    def _ivm_dropped(self, found: list[Orphan]) -> list[str]:
        lines = []
        for state in found:
            if state.keep:
                lines.append(f"kept    {state.told()}")
                continue
            if state.view is not None:
                self.drop_relation(self._ivm_relation(state.view, RelationType.View))
                lines.append(f"dropped {relation_name(state.view)}: the view of that state")
            self.drop_relation(self._ivm_relation(state.state, RelationType.Table))
            lines.append(f"dropped {state.told()}")
        return lines

    def _ivm_delta_tables(self, schema: str) -> list[BaseRelation]:
        """The tables of a schema that may be states."""
        of_schema = self.Relation.create(schema=schema).without_identifier()
        return [
            relation
            for relation in self.list_relations_without_caching(of_schema)
            if relation.type == RelationType.Table
            and (relation.is_delta or not relation.information)
        ]

    def _ivm_relation(self, parts: tuple[str, ...], kind: RelationType) -> BaseRelation:
        return self.Relation.create(schema=parts[-2], identifier=parts[-1], type=kind)

    def _ivm_state_left_by(self, config: Mapping[str, Any]) -> _Former | None:
        """The state that a model's public view shows, if the model has another one now, or none.

        Nothing is asked of Spark unless the view that stands under the model's name reads a table
        whose name begins with the model's.
        """
        model = getattr(config, "model", None)
        if model is None or str(model.resource_type) not in KINDS or not _builds_all_rows():
            return None
        view = (model.schema, model.alias)
        relation = self.get_relation(model.database, *view)
        text = view_text(getattr(relation, "information", None) or "") or ""
        if not re.search(rf"(?<!\w){re.escape(model.alias)}\w", text, re.IGNORECASE):
            return None
        current = None
        if model.config.materialized == IVM:
            current = self._ivm_state(model, view, model.config)
            if all(reads(text, part) for part in current):
                return None
        try:
            state = shown_table(text, model.schema)
            project = self.config.project_name
            if state is not None and former_state(
                self._ivm_warehouse(), state, view, project, current
            ):
                return _Former(view, state)
        except (IvmError, DbtRuntimeError):  # a view that cannot be read is none of this package's
            return None
        return None

    def _ivm_drop_former(self, former: _Former) -> None:
        """Drop a state unless the run failed before the model had another relation."""
        warehouse = self._ivm_warehouse()
        try:
            view = warehouse.definition(former.view)
            stands = view is not None or warehouse.columns(former.view) is not None
            if not stands or (view is not None and reads_state(view.text, former.state)):
                return
            self.drop_relation(self._ivm_relation(former.state, RelationType.Table))
        except DbtRuntimeError as error:
            told = f"{relation_name(former.state)} is no longer used, and could not be dropped"
            warn(f"{told}: {error.msg}")
            return
        say(f"Dropped {relation_name(former.state)}, the former state of {former.view[-1]}")


def _builds_all_rows() -> bool:
    """Whether the command gives a model a relation that can do without the former one."""
    flags = get_flags()
    partial = any(getattr(flags, name, None) for name in ("EMPTY", "SAMPLE"))
    return not partial and getattr(flags, "WHICH", None) != "clone"


def _kept_in(schema: str, state: Orphan) -> Orphan:
    """The same, not to be dropped: another target of the project may keep it up."""
    if state.keep:
        return state
    why = (
        f"no model of this target is in {schema}, and another target may keep it up; if none does, "
        f"drop it by --args '{{drop: true, schemas: [{schema}]}}'"
    )
    return replace(state, keep=why, view=None)


def _how(found: list[Orphan], schemas: Sequence[str]) -> str:
    named = f", schemas: [{', '.join(schemas)}]" if schemas else ""
    arguments = f"--args '{{drop: true{named}}}'"
    own = sum(not state.keep for state in found)
    if not own:
        return f"None of them would be dropped by {arguments}."
    return f"{own} of {len(found)} can be dropped: dbt run-operation ivm_orphans {arguments}"
