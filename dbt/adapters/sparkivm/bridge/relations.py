"""What dbt knows of the relations that a project builds."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from python_ivm.parse.parser import table_key
from python_ivm.refresh.lifecycle.orphans import Built

STATE_SUFFIX = "__ivm_state"
IVM = "incremental_ivm"
KINDS = ("model", "seed", "snapshot")
"""What dbt builds, of all resource types."""

_VIEW_TEXT = re.compile(
    r"^View Text: (.*?)\n(?=View (?:Original Text|Schema Mode|Catalog and Namespace|"
    r"Query Output Columns): |Schema: )",
    re.DOTALL | re.MULTILINE,
)


def state_name(identifier: str, config: Mapping[str, Any]) -> str:
    """The name of a maintained model's state table.

    Args:
        identifier: The public view's name.
        config: The model's.
    """
    return str(identifier) + str(config.get("ivm_state_suffix") or STATE_SUFFIX)


def view_text(information: str) -> str | None:
    """A view's text in what Spark lists of a relation; None if it is not told there."""
    found = _VIEW_TEXT.search(information)
    return found[1] if found else None


StateOf = Callable[[Any, tuple[str, str], Mapping[str, Any]], tuple[str, str]]
"""Tells the state of a node whose public view has this name, and this config."""


def built(graph: Mapping[str, Any], state_of: StateOf) -> dict[str, Built]:
    """What a project builds, by schema and name as a planner key.

    Args:
        graph: The project's, as dbt gives it to Jinja.
        state_of: Tells the state of a maintained model.
    """
    found = {}
    for node in graph["nodes"].values():
        if node["resource_type"] in KINDS:
            config, schema = node["config"], node["schema"]
            name = node.get("alias") or node["name"]
            materialized = str(config.get("materialized"))
            state = state_of(node, (schema, name), config) if materialized == IVM else None
            found[table_key((schema, name))] = Built(materialized, state)
    return found
