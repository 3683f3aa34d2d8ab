"""`dbt docs generate`: what the catalog says of maintained models, and not of their states."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from dbt.adapters.base.meta import AdapterMeta
from dbt.adapters.contracts.relation import RelationConfig
from dbt_common.clients.agate_helper import build_type_tester, merge_tables
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.sparkivm.bridge.relations import IVM
from dbt.adapters.sparkivm.relation import catalog_of
from python_ivm.parse.parser import quoted_name, table_key
from python_ivm.refresh.metadata.versions import state_history
from python_ivm.sources.history import Commit

if TYPE_CHECKING:
    import agate

    from dbt.adapters.sparkivm.bridge.warehouse import SparkWarehouse

_DESCRIPTIONS = {
    "rows": ("Rows", "Rows of the state. One that the view shows several times counts once."),
    "bytes": ("Size", "Bytes of the state's files, without those of its former versions."),
    "last_refresh": ("Last refresh", "The last refresh that found something to do."),
    "strategy": ("Strategy", "Of that refresh: what differed was merged, or the state replaced."),
}
# Of which agate would make numbers, dates and booleans, where all of them look like some.
_TEXTS = (
    "table_database", "table_schema", "table_name", "table_type", "table_comment", "table_owner",
    "column_name", "column_type", "column_comment",
)  # fmt: skip
_OPERATIONS = {"MERGE": "incremental", "CLONE": "clone"}


class CatalogMixin(metaclass=AdapterMeta):
    """The adapter's part of the catalog."""

    def get_catalog(
        self, relation_configs: Iterable[RelationConfig], used_schemas: frozenset[tuple[str, str]]
    ) -> tuple[agate.Table, list[Exception]]:
        """The columns of all relations of the project's schemas."""
        by_catalog: dict[str | None, list[RelationConfig]] = {}
        for config in relation_configs:
            by_catalog.setdefault(catalog_of(config.database, config.schema), []).append(config)
        # dbt-spark looks at one catalog at a time, and goes through its relations twice.
        parts = [super(CatalogMixin, self).get_catalog(found, used_schemas)  # type: ignore[misc]
                 for found in by_catalog.values()]  # fmt: skip
        tables = [table for table, _ in parts]
        return merge_tables(tables), [error for _, errors in parts for error in errors]

    def _get_one_catalog(
        self, information_schema: Any, schemas: Iterable[str], relation_configs: Any
    ) -> agate.Table:
        """The columns of a schema's relations, with statistics of the maintained models."""
        import agate

        (schema,) = schemas
        states = self._ivm_states(relation_configs)
        hidden = {table_key(state) for state in states.values()}
        columns: list[dict[str, Any]] = []
        for relation in self.list_relations(information_schema.database, schema):
            # What dbt builds lies in the target's catalog, whose relations do without its name.
            elsewhere = catalog_of(relation.database, relation.schema) is not None
            name = table_key((relation.schema, relation.identifier))
            if name in hidden and not elsewhere:
                continue
            found = list(self._get_columns_for_catalog(relation))
            state = states.get(name) if found and not elsewhere else None
            stats = statistics(self._ivm_warehouse(), self._ivm_query, state) if state else {}
            columns += [
                {**column, "table_database": relation.database, **stats} for column in found
            ]
        return agate.Table.from_object(columns, column_types=build_type_tester(_TEXTS))

    def _ivm_states(self, nodes: Iterable[Any]) -> dict[str, tuple[str, str]]:
        """The state of each maintained model, by its public view's planner key."""
        found = {}
        for node in nodes:
            if getattr(node.config, "materialized", None) == IVM:
                view = (node.schema, node.identifier)
                found[table_key(view)] = self._ivm_state(node, view, node.config)
        return found


def statistics(
    warehouse: SparkWarehouse, query: Any, state: tuple[str, str]
) -> Mapping[str, str | int | bool]:
    """What the catalog tells of a maintained model, in dbt's columns.

    Args:
        warehouse: Answers questions about tables.
        query: Runs a statement and gives its rows.
        state: The model's state.
    """
    try:
        found = state_history(warehouse, state)
        detail = warehouse.detail(state)
        # Delta answers from the statistics of the files.
        (count,) = query(f"SELECT count(*) AS n FROM {quoted_name(state)}")
    except DbtRuntimeError:
        return {}
    told: dict[str, str | int | None] = {
        "rows": int(count["n"]),
        "bytes": detail.bytes if detail is not None else None,
        "last_refresh": _time(found.commit),
        "strategy": _strategy(found.commit),
    }
    stats: dict[str, str | int | bool] = {}
    for name, value in told.items():
        if value is not None:
            label, description = _DESCRIPTIONS[name]
            stats |= {
                f"stats:{name}:label": label,
                f"stats:{name}:value": value,
                f"stats:{name}:description": description,
                f"stats:{name}:include": True,
            }
    return stats


def _time(commit: Commit | None) -> str | None:
    """A commit's time; in words that a table's columns are not taken for times by."""
    if commit is None or not commit.timestamp.isdigit():
        return None
    time = dt.datetime.fromtimestamp(int(commit.timestamp) / 1000, dt.timezone.utc)
    return f"{time:%Y-%m-%d %H:%M:%S} UTC"


def _strategy(commit: Commit | None) -> str | None:
    return None if commit is None else _OPERATIONS.get(commit.operation, "full")
