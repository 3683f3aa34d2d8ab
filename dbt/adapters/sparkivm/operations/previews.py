"""Previews of the models of a run: each planned after those before it."""

from __future__ import annotations

from typing import Any

from dbt.adapters.sparkivm.configs.nodes import (
    Compiled,
    Graph,
    followers,
    in_order,
    is_maintained,
    relations_read,
)
from dbt.adapters.sparkivm.operations.caching_adapter import CachingAdapter
from python_ivm.operate.preview import Preview, failed, preview, with_followers
from python_ivm.operate.simulated_warehouse import SimulatedWarehouse
from python_ivm.refresh.request import Request

_AS_THEY_WERE = ("view", "ephemeral")
"""Materializations of which a run leaves the rows as they are."""


def previews(
    adapter: Any, graph: Graph, compiled: Compiled, *, look: bool, full_refresh: bool = False
) -> list[Preview]:
    """What a run would do to its maintained models, in its order; nothing is written.

    Args:
        adapter: dbt's, on an open connection.
        graph: The project's nodes.
        compiled: The models that the run builds.
        look: Whether changed rows may be read, as the run reads them to decide.
        full_refresh: Whether the run has dbt's flag of this name.
    """
    adapter = CachingAdapter.of(adapter, graph, compiled)
    simulated = SimulatedWarehouse(adapter._ivm_warehouse(), look=look)
    found = []
    for uid in in_order(graph, compiled):
        node = graph["nodes"][uid]
        if not is_maintained(node):
            _imagine(simulated, node)
            continue
        told = _preview(adapter, graph, compiled, uid, simulated, full_refresh)
        left = [f for f in followers(graph, uid) if f not in compiled]
        names = sorted({graph["nodes"][follower]["name"] for follower in left})
        found.append(with_followers(told, names))
    return found


def _preview(
    adapter: Any,
    graph: Graph,
    compiled: Compiled,
    uid: str,
    simulated: SimulatedWarehouse,
    full_refresh: bool,
) -> Preview:
    """A model's preview; what goes wrong is told of it alone."""
    node = graph["nodes"][uid]
    sql = compiled[uid]
    if isinstance(sql, Exception):
        return failed(node["name"], sql)
    try:
        asked = request(adapter, node, sql, full_refresh=full_refresh)
        return preview(asked, simulated, _unbuilt(adapter, graph, compiled, uid))
    except Exception as error:  # whatever it is, the others are looked at
        return failed(node["name"], error)


def request(adapter: Any, node: Any, sql: str, *, full_refresh: bool = False) -> Request:
    """What a run asks of the planner for a model."""
    own = node["config"].get("full_refresh")
    asked = full_refresh or None if own is None else own
    relation = adapter.Relation.create(
        database=node["database"], schema=node["schema"], identifier=node["alias"], type="view"
    )
    found: Request = adapter.ivm_request(node, sql, relation, full_refresh=asked)
    return found


def _unbuilt(adapter: Any, graph: Graph, compiled: Compiled, uid: str) -> list[str]:
    """The relations that a model reads, that do not exist, and that the run builds before it."""
    missing = []
    for above in relations_read(graph, uid):
        node = graph["nodes"][above]
        if above not in compiled:
            continue
        if adapter.get_relation(node["database"], node["schema"], node["alias"]) is None:
            missing.append(node["name"])
    return sorted(missing)


def _imagine(simulated: SimulatedWarehouse, node: Any) -> None:
    """What a run does to a model of another materialization."""
    kind = node["config"]["materialized"]
    if kind not in _AS_THEY_WERE:
        parts = (node["schema"], node["alias"])
        simulated.imagine(parts, node["name"], replaced=kind == "table")
