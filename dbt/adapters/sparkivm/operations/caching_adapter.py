"""dbt's adapter for one command: each question about a table is asked once, whoever asks it.

So is what a model asks of the planner.
"""

from __future__ import annotations

from typing import Any

from dbt.adapters.base import BaseRelation

from dbt.adapters.sparkivm.configs.nodes import Compiled, Graph
from python_ivm.refresh.metadata.cached_warehouse import CachedWarehouse
from python_ivm.refresh.request import Request


class CachingAdapter:
    """dbt's adapter, whose warehouse answers each question once.

    Args:
        adapter: dbt's, on an open connection.
        graph: The project's nodes.
        compiled: The models that are asked about.
    """

    def __init__(self, adapter: Any, graph: Graph, compiled: Compiled) -> None:
        """Take the adapter."""
        self._adapter = adapter
        self._warehouse = CachedWarehouse(adapter._ivm_warehouse_of(graph, list(compiled)))
        self._requests: dict[tuple[Any, ...], Request] = {}

    @staticmethod
    def of(adapter: Any, graph: Graph, compiled: Compiled) -> CachingAdapter:
        """The adapter with a cache for these models; itself if it has one already."""
        return (
            adapter
            if isinstance(adapter, CachingAdapter)
            else CachingAdapter(adapter, graph, compiled)
        )

    def _ivm_warehouse(self) -> CachedWarehouse:
        return self._warehouse

    def ivm_request(
        self, model: Any, sql: str, target: BaseRelation, *, full_refresh: bool | None = None
    ) -> Request:
        """What a model asks of the planner."""
        key = model["unique_id"], sql, full_refresh
        if key not in self._requests:
            made = self._adapter.ivm_request(model, sql, target, full_refresh=full_refresh)
            self._requests[key] = made
        return self._requests[key]

    def __getattr__(self, name: str) -> Any:
        """All else is the adapter's."""
        return getattr(self._adapter, name)
