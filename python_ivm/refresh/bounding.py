"""Asks the warehouse for the ranges of changed keys."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from python_ivm.algebra.columns import ColumnRef
from python_ivm.algebra.nodes import Node
from python_ivm.delta.bounds import Key, Range, bounded
from python_ivm.refresh import emit
from python_ivm.refresh.model import Model
from python_ivm.sources.history import SourceChange


class Bounding:
    """Bounds one refresh's plan by the keys of its changed rows (``delta/bounds.py``)."""

    def __init__(self, model: Model, changes: Mapping[str, SourceChange]) -> None:
        """Take the model, and what happened to its sources."""
        self._model = model
        self._schemas = model.schemas()
        self._changes = changes

    def __call__(
        self, plan: Node, columns: Sequence[ColumnRef]
    ) -> tuple[Node, Mapping[ColumnRef, Range]]:
        """The plan with bounds, and the ranges of those columns that have one."""
        return bounded(plan, columns, self._kind, self._ranges)

    def _kind(self, source: str, column: str) -> str | None:
        schema = self._schemas.get(source)
        return None if schema is None else schema.columns.get(schema.spelling(column))

    def _ranges(self, keys: Collection[Key]) -> Mapping[Key, Range]:
        """One query for each source, over its change feed alone."""
        found: dict[Key, Range] = {}
        for source in sorted({key.source for key in keys}):
            asked = sorted(key for key in keys if key.source == source)
            query = emit.range_query(self._changes[source], [key.column for key in asked])
            values = self._model.warehouse.row(query)
            for key, low, high in zip(asked, values[::2], values[1::2], strict=True):
                range_ = Range.of(self._kind(key.source, key.column), low, high)
                if range_ is not None:
                    found[key] = range_
        return found
