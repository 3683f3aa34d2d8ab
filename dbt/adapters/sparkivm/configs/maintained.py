"""dbt's configs of a maintained model: how its state is stored, and what has no meaning for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from threading import Lock
from typing import Any

from dbt_common.invocation import get_invocation_id

from dbt.adapters.sparkivm.bridge.relations import IVM
from dbt.adapters.sparkivm.configs.constraints import constraints
from dbt.adapters.sparkivm.log import warn
from python_ivm.errors import InvalidModel
from python_ivm.state.storage import Storage

_RESERVED = "ivm_"
_NOT_ENFORCED = "Delta does not enforce it"


def storage_of(model: Mapping[str, Any]) -> Storage:
    """How a model's state is to be stored.

    Args:
        model: The node, as dbt gives it to Jinja.

    Raises:
        InvalidModel: If the configuration asks for what Delta does not have.
    """
    config = model["config"]
    storage = Storage.of(config)
    if not (config.get("contract") or {}).get("enforced"):
        return storage
    checks: dict[str, str] = {}
    unchecked: dict[str, str] = {}
    for constraint in constraints(model):
        condition = constraint.condition
        name = constraint.name_beside(checks)
        if name.startswith(_RESERVED):
            raise InvalidModel(
                f"A constraint is named {name}",
                hint=f"Names that begin with {_RESERVED} are those of the state's own constraints.",
            )
        if condition is not None:
            checks[name] = condition
        elif constraint.warns:
            unchecked[name] = _NOT_ENFORCED
    return replace(storage, checks=checks, unchecked=unchecked)


def typed_columns(model: Mapping[str, Any]) -> dict[str, str]:
    """A model's columns and their types, where its YAML says the types of all that it lists.

    Args:
        model: The node, as dbt gives it to Jinja.
    """
    columns = (model.get("columns") or {}).values()
    types = {str(column["name"]): str(column.get("data_type") or "") for column in columns}
    return types if all(types.values()) else {}


_MEANINGLESS = (
    "auto_liquid_cluster", "incremental_predicates", "incremental_strategy", "options",
    "unique_key",
)  # fmt: skip
_MOST_TOLD = 3


def without_meaning(config: Mapping[str, Any]) -> list[str]:
    """The configs of a maintained model that say nothing to it."""
    found = [name for name in _MEANINGLESS if config.get(name)]
    found += [name for name in config if name.startswith("merge_") and config.get(name)]
    if config.get("on_schema_change") not in (None, "ignore"):
        found.append("on_schema_change")
    if config.get("file_format") not in (None, "delta"):
        found.append("file_format")
    if config.get("clustered_by") and not config.get("buckets"):
        found.append("clustered_by")
    return sorted(found)


def without_meaning_in(graph: Mapping[str, Any]) -> str | None:
    """What to warn of in a project: each such config, and some of the models that have it."""
    models: dict[str, list[str]] = {}
    for node in graph["nodes"].values():
        if node["resource_type"] == "model" and node["config"].get("materialized") == IVM:
            for name in without_meaning(node["config"]):
                models.setdefault(name, []).append(node["name"])
    if not models:
        return None
    told = "; ".join(f"{name} of {_some(found)}" for name, found in sorted(models.items()))
    return (
        f"Configs without a meaning for {IVM} models, whose rows and columns follow from their "
        f"query alone: {told}. Remove them."
    )


def _some(names: list[str]) -> str:
    shown, more = ", ".join(names[:_MOST_TOLD]), len(names) - _MOST_TOLD
    return f"{shown} and {more} more" if more > 0 else shown


_one_at_a_time = Lock()


@lru_cache(maxsize=1)
def _told_in(invocation: str) -> list[str]:
    return []


def warn_once(graph: Mapping[str, Any]) -> None:
    """Warn of a project's configs without a meaning, once in a run of dbt.

    Raises:
        EventCompilationError: Instead, where dbt is to make warnings errors.
    """
    with _one_at_a_time:
        told = _told_in(get_invocation_id())
        if told:
            return
        told.append(without_meaning_in(graph) or "")
    if told[0]:
        warn(told[0])
