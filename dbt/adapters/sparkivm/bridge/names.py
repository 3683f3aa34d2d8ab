"""Names of schemas, models and states, checked before anything of theirs runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dbt.adapters.base import BaseAdapter, BaseRelation
from dbt.adapters.base.meta import AdapterMeta
from dbt.adapters.reference_keys import _ReferenceKey
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.sparkivm.bridge.conf import known
from dbt.adapters.sparkivm.bridge.relations import IVM, KINDS, state_name
from dbt.adapters.sparkivm.diagnostics.planner_errors import as_dbt_errors
from dbt.adapters.sparkivm.relation import catalog_of
from python_ivm.errors import InvalidModel
from python_ivm.refresh.lifecycle.names import MOST_OF_RELATION, MOST_OF_SCHEMA, refuse_name
from python_ivm.refresh.metadata.catalog import SESSION_CATALOG

_CATALOG = f"spark.sql.catalog.{SESSION_CATALOG}"
_OF_DELTA = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
_SCHEMA = "Set another schema in the profile or by the config schema."
_ALIAS = "Set another one by the config alias."
_STATE_SCHEMA = "Set another ivm_state_schema."
_SUFFIX = "Set another ivm_state_suffix, or a shorter alias."


class NamesMixin(metaclass=AdapterMeta):
    """The adapter's part of names."""

    def create_schema(self, relation: BaseRelation) -> None:
        """Create a schema.

        Raises:
            CompilationError: If the catalog does not take its name.
        """
        self._ivm_check("schema", relation.schema, MOST_OF_SCHEMA, _SCHEMA)
        super().create_schema(relation)  # type: ignore[misc]

    def pre_model_hook(self, config: Mapping[str, Any]) -> Any:
        """Before a model, seed or snapshot is built, and before its hooks.

        Raises:
            CompilationError: If the catalog does not take its names.
        """
        model = getattr(config, "model", None)
        if model is not None and str(model.resource_type) in KINDS:
            self._ivm_check("schema", model.schema, MOST_OF_SCHEMA, _SCHEMA)
            self._ivm_check("alias", model.alias, MOST_OF_RELATION, _ALIAS)
            if model.config.materialized == IVM:
                view = (model.schema, model.alias)
                schema, state = self._ivm_state(model, view, model.config)
                self._ivm_check("state table's schema", schema, MOST_OF_SCHEMA, _STATE_SCHEMA)
                self._ivm_check("state table's name", state, MOST_OF_RELATION, _SUFFIX)
        return super().pre_model_hook(config)  # type: ignore[misc]

    def get_relation(
        self, database: str | None, schema: str, identifier: str
    ) -> BaseRelation | None:
        """A relation, by dbt's cache where its schema is in it.

        dbt goes through all relations of the schema, four times for each model. Names that differ
        in case alone are left to it.
        """
        if catalog_of(database, schema) is not None:
            return BaseAdapter.get_relation(self, database, schema, identifier)  # type: ignore[arg-type]
        if (None, schema) in self.cache:  # type: ignore[attr-defined]
            key = _ReferenceKey(None, schema.lower(), identifier.lower())
            with self.cache.lock:  # type: ignore[attr-defined]
                cached = self.cache.relations.get(key)  # type: ignore[attr-defined]
            found: BaseRelation | None = cached.inner if cached is not None else None
            if found is None or (found.schema, found.identifier) == (schema, identifier):
                return found
        other: BaseRelation | None = super().get_relation(  # type: ignore[misc]
            database, schema, identifier
        )
        return other

    def list_relations_without_caching(self, schema_relation: BaseRelation) -> list[BaseRelation]:
        """A schema's relations; dbt-spark's know no catalog."""
        found = super().list_relations_without_caching(schema_relation)  # type: ignore[misc]
        catalog = catalog_of(schema_relation.database, schema_relation.schema)
        return [one.in_catalog(catalog) for one in found] if catalog is not None else list(found)

    def _ivm_state(
        self, node: Any, view: tuple[str, str], config: Mapping[str, Any]
    ) -> tuple[str, str]:
        """The schema and name of a maintained model's state table.

        Args:
            node: The model, as dbt's macro for custom schemas takes it.
            view: Its public view.
            config: The model's.
        """
        schema, custom = view[0], config.get("ivm_state_schema")
        if custom:
            given = {"custom_schema_name": str(custom), "node": node}
            made = self.execute_macro("generate_schema_name", kwargs=given)
            schema = str(made).strip()
        return schema, state_name(view[1], config)

    def _ivm_check(self, what: str, name: str, most: int, advice: str) -> None:
        """Refuse a name, unless another catalog than Spark's own may take it."""
        try:
            refuse_name(what, name, most, advice)
        except InvalidModel as error:
            if self._ivm_is_in_sparks_catalog():
                with as_dbt_errors(None):
                    raise error

    def _ivm_is_in_sparks_catalog(self) -> bool:
        """Whether names are Spark's own catalog's, with Delta over it or not."""
        try:
            catalog, _ = self._ivm_warehouse().namespace()
        except DbtRuntimeError:
            return False
        implementation = known(self._ivm_conf(), _CATALOG)
        return catalog == SESSION_CATALOG and implementation in (None, _OF_DELTA)
