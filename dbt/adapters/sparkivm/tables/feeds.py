"""Which tables of a project need a change feed: those that its maintained models read."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from threading import Lock
from typing import Any

RESERVED = ("_change_type", "_commit_version", "_commit_timestamp")
"""The columns that Delta adds to rows of a change feed; a table with a feed has none of its own."""

_MAINTAINED = "incremental_ivm"
# A seed has no other materialization than `seed`, and so has a snapshot.
_STORED = ("table", "incremental", "seed", "snapshot", _MAINTAINED)


def followed(graph: Mapping[str, Any]) -> frozenset[str]:
    """The nodes that maintained models read, by themselves or through views and ephemeral models.

    A source that one of the project's own nodes makes is read as that node: projects load their
    example data by `dbt seed`, and read it by `source()`.

    Args:
        graph: The project's, as dbt gives it to Jinja.

    Returns:
        Their unique ids. Among them are the views and maintained models on the way.
    """
    nodes = graph["nodes"]
    made = {_name(node, "alias"): id_ for id_, node in nodes.items()}
    sources = graph.get("sources", {})
    found: set[str] = set()
    waiting = [id_ for id_, node in nodes.items() if _materialized(node) == _MAINTAINED]
    while waiting:
        for parent in nodes[waiting.pop()].get("depends_on", {}).get("nodes", ()):
            if parent in sources:
                parent = made.get(_name(sources[parent], "identifier"))
            if parent in found or parent not in nodes:
                continue
            found.add(parent)
            if _materialized(nodes[parent]) not in _STORED:
                waiting.append(parent)
    return frozenset(found)


def _materialized(node: Mapping[str, Any]) -> str:
    return str(node["config"].get("materialized"))


def _name(node: Mapping[str, Any], key: str) -> tuple[str, str]:
    """A relation's name, as Spark compares it: without case."""
    return str(node.get("schema")).lower(), str(node.get(key)).lower()


@lru_cache(maxsize=1)
def _memory(invocation: str) -> list[frozenset[str]]:
    return []


_one_at_a_time = Lock()


def followed_in_run(graph: Mapping[str, Any], invocation: str) -> frozenset[str]:
    """As `followed`; the graph is gone through once a run of dbt.

    Args:
        graph: The project's.
        invocation: The run's id.
    """
    with _one_at_a_time:
        memory = _memory(invocation)
        if not memory:
            memory.append(followed(graph))
        return memory[0]
