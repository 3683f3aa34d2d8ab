"""What the page shows: the project's graph, and of each maintained model what is known of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from typing import Any

from dbt.adapters.sparkivm.configs.nodes import Compiled, Graph, is_maintained, relations_read
from dbt.adapters.sparkivm.operations import inspections
from dbt.adapters.sparkivm.operations.caching_adapter import CachingAdapter
from dbt.adapters.sparkivm.operations.each_model import in_short
from dbt.adapters.sparkivm.operations.previews import previews, request
from dbt.adapters.sparkivm.operations.report.drawn import Drawn
from dbt.adapters.sparkivm.operations.report.run import DbtRun
from dbt.adapters.sparkivm.operations.totals import totals
from python_ivm.explain.picture import Picture, picture
from python_ivm.operate.records import Record
from python_ivm.sources.history import COMMITS_WITHOUT_JOB

SCHEMA = 1
"""The version of what the page reads."""


def contents(
    adapter: Any,
    graph: Graph,
    compiled: Compiled,
    run: DbtRun | None = None,
    drawn: Drawn | None = None,
) -> dict[str, Any]:
    """Collect what the page shows; writes nothing, and reads only metadata.

    Args:
        adapter: dbt's, on an open connection.
        graph: The project's nodes.
        compiled: The selected models.
        run: What a run did, if the page is of one.
        drawn: The drawings of an earlier page.
    """
    drawn = drawn or Drawn(None)
    adapter = CachingAdapter.of(adapter, graph, compiled)
    coming = {one.model: one for one in previews(adapter, graph, compiled, look=False)}
    stands = {one.model: one for one in inspections.read_statuses(adapter, graph, compiled)}
    histories = inspections.read_histories(adapter, graph, compiled, COMMITS_WITHOUT_JOB)
    past = {name: found for name, found, _ in histories}
    chosen = {uid: graph["nodes"][uid] for uid in compiled}
    models = {}
    for uid, node in chosen.items():
        if is_maintained(node):
            coming_next = coming[node["name"]]
            models[uid] = {
                "status": asdict(stands[node["name"]]),
                "next": asdict(coming_next),
                "refreshes": [asdict(one) for one in past.get(node["name"], ())],
                "full_seconds": _last_full(past.get(node["name"], ())),
                "picture": _picture(adapter, node, compiled[uid], coming_next.reason, drawn),
            }
    drawn.keep()
    return {
        "schema": SCHEMA,
        "at": datetime.now(timezone.utc).isoformat(sep=" ", timespec="seconds"),
        "run": None if run is None else {"at": run.at, "results": dict(run.results)},
        "totals": totals(list(coming.values())),
        "nodes": _nodes(graph, compiled),
        "models": models,
    }


def _picture(
    adapter: Any, node: Mapping[str, Any], sql: str | Exception, reason: str, drawn: Drawn
) -> Mapping[str, Any]:
    if isinstance(sql, Exception):
        return asdict(Picture(trouble=str(sql)))
    try:
        asked, warehouse = request(adapter, node, sql), adapter._ivm_warehouse()
        return drawn.of(asked, warehouse, reason, lambda: asdict(picture(asked, warehouse)))
    except Exception as error:  # whatever it is, the others are drawn
        return asdict(Picture(trouble=in_short(error)))


def _last_full(past: Sequence[Record]) -> float | None:
    """The seconds of the last full build that the history remembers."""
    known = (one.seconds for one in past if one.strategy == "full" and one.seconds is not None)
    return next(known, None)


def _nodes(graph: Graph, compiled: Compiled) -> list[dict[str, Any]]:
    """The selected models and what they read; ephemeral models are seen through."""
    every = {**graph["nodes"], **graph.get("sources", {})}
    found: dict[str, dict[str, Any]] = {}
    for uid in compiled:
        node = every[uid]
        if node["config"]["materialized"] == "ephemeral":
            continue
        reads = [above for above in _reads(graph, uid) if above in every]
        found[uid] = _node(uid, node, reads)
        for above in reads:
            if above not in compiled:
                found.setdefault(above, _node(above, every[above], []))
    return list(found.values())


def _reads(graph: Graph, uid: str) -> list[str]:
    above = list(relations_read(graph, uid))
    return list(dict.fromkeys([*above, *_sources(graph, uid)]))


def _sources(graph: Graph, uid: str) -> list[str]:
    """The sources that a model reads, by ephemeral models too."""
    found = []
    for above in (graph["nodes"][uid].get("depends_on") or {}).get("nodes") or ():
        node = graph["nodes"].get(above)
        if node is None:
            found.append(above)
        elif node["config"].get("materialized") == "ephemeral":
            found += _sources(graph, above)
    return found


def _node(uid: str, node: Mapping[str, Any], reads: Sequence[str]) -> dict[str, Any]:
    kind = str(node["resource_type"])
    config = node.get("config") or {}
    named = f"{node['source_name']}.{node['name']}" if kind == "source" else node["name"]
    return {
        "id": uid,
        "name": str(named),
        "kind": kind,
        "materialized": str(config.get("materialized") or kind),
        "reads": list(reads),
    }
