"""What is read at once for a command or a run: which tables it concerns, and where they lie."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from dbt.adapters.contracts.relation import RelationType

from dbt.adapters.sparkivm.configs.nodes import SEEN_THROUGH, Graph, is_maintained, upstream
from dbt.adapters.sparkivm.prefetched.many_logs import FEW, ManyLogs, Name, location, name_of
from dbt.adapters.sparkivm.prefetched.unchanged import Listed, PrefetchedMetadata
from dbt.adapters.sparkivm.relation import catalog_of
from python_ivm.refresh.metadata.catalog import SESSION_CATALOG

_STATEMENTS = re.compile(r"\b(?:run_query|call\s+statement|load_result)\b")
"""By these a model may write anything while it is compiled."""


def prefetch_for_run(
    adapter: Any, graph: Graph, selected: Collection[str]
) -> PrefetchedMetadata | None:
    """What is read at once of the models of a run; None where each is asked about.

    So it is of few models, and if something of the run may write tables before a model asks.

    Args:
        adapter: dbt's, on an open connection.
        graph: The project's nodes, as dbt gives them to Jinja.
        selected: The unique ids of what the run builds.
    """
    chosen = [uid for uid in selected if uid in graph["nodes"]]
    if any(_may_write(graph["nodes"][uid]) for uid in chosen):
        return None
    return prefetch(adapter, graph, chosen, listing=False)


def prefetch(
    adapter: Any, graph: Graph, chosen: Collection[str], *, listing: bool = True
) -> PrefetchedMetadata | None:
    """What is read at once of models; None of few, each of which is asked about.

    So are those of another catalog than Spark's own, which need not list where tables lie.

    Args:
        adapter: dbt's, on an open connection.
        graph: The project's nodes, as dbt gives them to Jinja.
        chosen: The unique ids of nodes.
        listing: Whether schemas may be listed in which no model lives: a source's may have
            thousands of tables.
    """
    models = [uid for uid in chosen if is_maintained(graph["nodes"][uid])]
    if len(models) < FEW:
        return None
    namespace = adapter._ivm_warehouse().namespace()
    if namespace[0].lower() != SESSION_CATALOG:
        return None
    read = {above for uid in models for above in _read_by(graph, uid)}
    states: dict[Name, Name] = {}
    for uid in {*models, *(above for above in read if above in graph["nodes"])}:
        node = graph["nodes"][uid]
        if is_maintained(node):
            view = (node["schema"], node["alias"])
            states[name_of(view)] = name_of(adapter._ivm_state(node, view, node["config"]))
    sources = {
        name_of((node["schema"], node["identifier"]))
        for node in (graph["sources"][above] for above in read if above in graph["sources"])
        if (listing or (None, node["schema"]) in adapter.cache)
        and catalog_of(node.get("database"), node["schema"]) is None
    }
    sources -= {
        name_of((n["schema"], n.get("alias") or n["name"])) for n in graph["nodes"].values()
    }
    listed, located = {}, {}
    for name in {*states, *states.values(), *sources}:
        relation = adapter.get_relation(None, *name)
        if relation is None:
            continue
        information = relation.information or ""
        where = location(information) if relation.is_delta else None
        if where is not None:
            located[name] = where
        if name not in sources:
            listed[name] = Listed(relation.type == RelationType.View, information)
    logs = ManyLogs(adapter._ivm_session(), located)
    return PrefetchedMetadata(logs, listed, namespace, adapter._ivm_settings())


def _may_write(node: Mapping[str, Any]) -> bool:
    """Whether a node runs statements of its own, which may write tables or change settings."""
    config = node["config"]
    own = config.get("pre-hook") or config.get("post-hook") or config.get("sql_header")
    return bool(own) or _STATEMENTS.search(str(node.get("raw_code") or "")) is not None


def _read_by(graph: Graph, uid: str) -> Iterator[str]:
    """The sources and nodes whose tables a model reads, by views and ephemeral models, too."""
    for above in upstream(graph["nodes"][uid]):
        node = graph["nodes"].get(above)
        if node is not None and node["config"].get("materialized") in SEEN_THROUGH:
            yield from _read_by(graph, above)
        elif node is not None or above in graph["sources"]:
            yield above
