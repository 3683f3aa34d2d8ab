"""The models of a project, in the order in which a run takes them, with their compiled SQL."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from graphlib import TopologicalSorter
from typing import Any

from dbt.compilation import Compiler
from dbt_common.exceptions import DbtBaseException

from dbt.adapters.sparkivm.bridge.relations import IVM

Graph = Mapping[str, Any]
"""The project's nodes, as dbt gives them to Jinja."""
Node = Mapping[str, Any]
"""One of them."""
Compiled = Mapping[str, "str | Exception"]
"""The models that a run would build, by their unique ids: their SQL, or why there is none."""

SEEN_THROUGH = ("view", "ephemeral")
"""Materializations through which a model reads the tables below."""


def in_order(graph: Graph, chosen: Collection[str]) -> list[str]:
    """The unique ids of chosen nodes, each after those that it reads."""
    nodes = graph["nodes"]
    reads = {uid: [u for u in upstream(node) if u in nodes] for uid, node in nodes.items()}
    order = TopologicalSorter({uid: sorted(reads[uid]) for uid in sorted(nodes)}).static_order()
    return [uid for uid in order if uid in chosen]


def is_maintained(node: Mapping[str, Any]) -> bool:
    """Whether a node is a maintained model."""
    return bool(node["resource_type"] == "model" and node["config"]["materialized"] == IVM)


def maintained(graph: Graph) -> dict[str, Mapping[str, Any]]:
    """The project's maintained models by their unique ids."""
    return {uid: node for uid, node in graph["nodes"].items() if is_maintained(node)}


def in_turn(graph: Graph, compiled: Compiled) -> Iterator[tuple[Node, str | Exception]]:
    """The chosen maintained models with their SQL, each after those that it reads."""
    for uid in in_order(graph, compiled):
        node = graph["nodes"][uid]
        if is_maintained(node):
            yield node, compiled[uid]


def relations_read(graph: Graph, uid: str) -> Iterator[str]:
    """The nodes whose relations a model reads; ephemeral models are none."""
    for above in upstream(graph["nodes"][uid]):
        node = graph["nodes"].get(above)
        if node is None:
            continue
        if node["config"].get("materialized") == "ephemeral":
            yield from relations_read(graph, above)
        else:
            yield above


def followers(graph: Graph, uid: str) -> Iterator[str]:
    """The maintained models that read a model, by views and ephemeral models too."""
    for below, node in graph["nodes"].items():
        if node["resource_type"] != "model" or uid not in upstream(node):
            continue
        if is_maintained(node):
            yield below
        elif node["config"].get("materialized") in SEEN_THROUGH:
            yield from followers(graph, below)


class Texts(Mapping[str, "str | Exception"]):
    """Models with their compiled SQL, each compiled by dbt at the first look.

    Args:
        adapter: dbt's, which knows the project; a connection must be open at each look.
        uids: The models' unique ids.
    """

    def __init__(self, adapter: Any, uids: Iterable[str]) -> None:
        """Take what is to be compiled."""
        self._manifest = adapter.get_macro_resolver()
        self._compiler = Compiler(adapter.config)
        self._texts: dict[str, str | Exception | None] = dict.fromkeys(uids)

    def __getitem__(self, uid: str) -> str | Exception:
        """A model's SQL, or the error of its compilation."""
        text = self._texts[uid]
        if text is None:
            text = self._texts[uid] = self._compiled(uid)
        return text

    def __contains__(self, uid: object) -> bool:
        """Whether a model is among them."""
        return uid in self._texts

    def __iter__(self) -> Iterator[str]:
        """Their unique ids."""
        return iter(self._texts)

    def __len__(self) -> int:
        """How many they are."""
        return len(self._texts)

    def _compiled(self, uid: str) -> str | Exception:
        try:
            node = self._manifest.nodes[uid]
            node = self._compiler.compile_node(node, self._manifest, {}, write=False)
        except DbtBaseException as error:
            return error
        return str(node.compiled_code)


def upstream(node: Mapping[str, Any]) -> list[str]:
    """The unique ids of what a node names."""
    return list((node.get("depends_on") or {}).get("nodes") or ())
