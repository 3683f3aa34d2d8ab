"""What dbt's own materializations get where the user says nothing: Delta, and a change feed."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from copy import copy, deepcopy
from dataclasses import dataclass
from typing import Any

from dbt.adapters.base.column import Column
from dbt.adapters.base.meta import AdapterMeta, available
from dbt.adapters.spark.impl import SparkConfig
from dbt_common.invocation import get_invocation_id

from dbt.adapters.sparkivm.connection.settings import spark_text
from dbt.adapters.sparkivm.tables.feeds import RESERVED, followed_in_run
from python_ivm.refresh.metadata.versions import CHANGE_FEED

DELTA = "delta"
_SPARKS_DEFAULT = "spark.sql.sources.default"
_COLUMN_MAPPING = "delta.columnMapping.mode"
# Delta stores names with these only under a column mapping.
_ODD = re.compile(r"[ ,;{}()\n\t=]")
# Types are told as struct<name:type>, where a comma or a parenthesis says nothing.
_ODD_FIELD = re.compile(r"[ ;{}\n\t=]")


@dataclass
class SparkIvmConfig(SparkConfig):
    """What this adapter knows of a node's config beside dbt's own keys."""

    file_format: str = DELTA
    tblproperties: dict[str, Any] | None = None


class DefaultsMixin(metaclass=AdapterMeta):
    """The adapter's hook and methods for the tables of dbt's own materializations."""

    AdapterSpecificConfigs = SparkIvmConfig

    def pre_model_hook(self, config: Any) -> Any:
        """Let a materialization find a file format in the config, before it is run.

        dbt-spark asks for it in a dozen macros, each with a default of its own or none, and dbt
        never looks at the defaults in `AdapterSpecificConfigs`.

        Args:
            config: The `config` of the materialization's Jinja context.
        """
        parameters = self.config.credentials.server_side_parameters or {}
        give_file_format(config, parameters.get(_SPARKS_DEFAULT) or SparkIvmConfig.file_format)
        return super().pre_model_hook(config)  # type: ignore[misc]

    def valid_incremental_strategies(self) -> list[str]:
        """The strategies that dbt knows by name and Spark can do; a project may have its own."""
        return ["append", "merge", "insert_overwrite", "microbatch"]

    @available.parse(lambda *a, **k: {})
    def ivm_table_properties(
        self,
        unique_id: str,
        config: Mapping[str, Any],
        graph: Mapping[str, Any],
        columns: Sequence[Column] = (),
        *,
        from_query: bool = False,
    ) -> dict[str, str]:
        """The properties of a table that dbt creates.

        Args:
            unique_id: The node's.
            config: Its config, as dbt gives it to Jinja.
            graph: The project's.
            columns: The table's, as far as they are known.
            from_query: Whether one statement makes the table and fills it by a query.

        Returns:
            The user's `tblproperties`, and before them what they leave open.
        """
        return properties(
            config.get("file_format"),
            config.get("tblproperties") or {},
            columns,
            is_read=unique_id in followed_in_run(graph, get_invocation_id()),
            from_query=from_query,
        )


def give_file_format(config: Any, file_format: str) -> None:
    """Set the file format of a node that has none, where its materialization looks for it.

    The node itself stays as the user wrote it, and so do dbt's artifacts. A table in buckets, which
    Delta does not have, is left to Spark's own default.

    Args:
        config: dbt's `RuntimeConfigObject`.
        file_format: The default.
    """
    told = config.get("file_format") is not None
    bucketed = config.get("clustered_by") is not None and config.get("buckets") is not None
    if told or bucketed or not hasattr(config.model, "config"):
        return
    node = copy(config.model)
    node.config = deepcopy(node.config)
    node.config["file_format"] = file_format
    config.model = node


def properties(
    file_format: str | None,
    given: Mapping[str, Any],
    columns: Collection[Column],
    *,
    is_read: bool,
    from_query: bool = False,
) -> dict[str, str]:
    """The properties of a table.

    Args:
        file_format: Its format.
        given: Those that the user wants, which win.
        columns: Its columns, as far as they are known.
        is_read: Whether a maintained model reads it.
        from_query: Whether one statement makes the table and fills it by a query, which Delta
            refuses for a table with a column mapping and a change feed.
    """
    wanted = {str(key): spark_text(value) for key, value in given.items()}
    if file_format != DELTA:
        return wanted
    added = {}
    mapped = any(is_odd(column) for column in columns)
    reserved = any(column.name.lower() in RESERVED for column in columns)
    if is_read and not reserved and not (mapped and from_query):
        added[CHANGE_FEED] = "true"
    if mapped:
        added[_COLUMN_MAPPING] = "name"
    told = {key.lower() for key in wanted}
    return {**{k: v for k, v in added.items() if k.lower() not in told}, **wanted}


def is_odd(column: Column) -> bool:
    """Whether a column or a field in it has a name that Delta stores only under a mapping."""
    nested = column.dtype.lower().startswith(("struct", "array", "map"))
    return bool(_ODD.search(column.name) or (nested and _ODD_FIELD.search(column.dtype)))
