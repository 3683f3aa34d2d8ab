"""Asks the warehouse for the ranges of changed keys."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial

from python_ivm.algebra.columns import ColumnRef
from python_ivm.algebra.nodes import Node
from python_ivm.delta.ahead import Ahead, looked_ahead
from python_ivm.delta.bounds import Range, bounded, looked_up
from python_ivm.delta.origins import Key
from python_ivm.refresh import emit
from python_ivm.refresh.model import Model
from python_ivm.refresh.reading import ReadVolume
from python_ivm.sources.clock import Clock
from python_ivm.sources.history import SourceChange
from python_ivm.sql.render import Renderer
from python_ivm.sql.schema import kind_of
from python_ivm.state.layout import STATE

_MOST_LISTED = 1000
"""Up to so many combinations of changed keys are written into the MERGE."""
_MOST_AHEAD = 10_000
"""So many of the keys that are found by looking ahead."""
_SMALL = 8 * 2**20
"""Up to so many bytes a table is read as fast as its files are chosen."""


class Bounding:
    """Bounds one refresh's plan by the keys of its changed rows (``delta/bounds.py``)."""

    def __init__(
        self, model: Model, changes: Mapping[str, SourceChange], clock: Clock | None = None
    ) -> None:
        """Take the model, what happened to its sources, and the clock if it is asked."""
        self._model = model
        self._clock = clock
        self._volume = ReadVolume(model, changes)
        self._kind = partial(kind_of, model.schemas())
        self._changes = changes

    def __call__(
        self, plan: Node, columns: Sequence[ColumnRef]
    ) -> tuple[Node, Mapping[ColumnRef, Range]]:
        """The plan with bounds, and the ranges of those columns that have one."""
        plan, ranges = bounded(plan, columns, STATE, self._kind, self._ranges, self._large)
        return looked_ahead(plan, self._kind, self._volume.pays_to_ask, self._ahead), ranges

    def looked_up(self, plan: Node, columns: Sequence[ColumnRef]) -> frozenset[Key]:
        """The columns by which changed keys look up rows of sources and of the state."""
        return looked_up(plan, columns, STATE, self._kind)

    def _large(self, source: str) -> bool:
        size = self._model.size(source)
        return size is None or size > _SMALL

    def _ranges(self, keys: Collection[Key]) -> Mapping[Key, Range]:
        """What the sources' change feeds hold of keys."""
        found: dict[Key, Range] = {}
        for source in sorted({key.source for key in keys}):
            asked = sorted(key for key in keys if key.source == source)
            try:
                values, every = self._values(source, [key.column for key in asked])
            except Exception:
                continue  # a feed that cannot be read bounds nothing: the MERGE will say why
            for key, texts in zip(asked, values, strict=True):
                range_ = Range.of(self._kind(key.source, key.column), texts, every)
                if range_ is not None:
                    found[key] = range_
        return found

    def _values(self, source: str, columns: list[str]) -> tuple[list[list[str | None]], bool]:
        """All values of columns of a change if they are few, else the lowest and the highest.

        Returns:
            The values, column by column, and whether they are all.
        """
        change = self._changes[source]
        query = emit.keys_query(change, columns, _MOST_LISTED + 1)
        rows = self._model.warehouse.texts(query)
        if len(rows) <= _MOST_LISTED:
            return [[row[i] for row in rows] for i in range(len(columns))], True
        (row,) = self._model.warehouse.texts(emit.range_query(change, columns))
        return [list(row[2 * i : 2 * i + 2]) for i in range(len(columns))], False

    def _ahead(self, looks: Sequence[Ahead]) -> Sequence[Range | None]:
        """What the keys of looks ahead are, asked in one query."""
        state = emit.table(self._model.request.state, self._model.found.version)
        renderer = Renderer(emit.source_relations(self._changes, self._clock, state))
        columns = [(look.near, look.key) for look in looks]
        query = emit.values_query(columns, _MOST_AHEAD + 1, renderer)
        try:
            rows = self._model.warehouse.texts(query)
        except Exception:
            return [None] * len(looks)  # the MERGE, which computes the same, will say why
        values = [[value for which, value in rows if which == str(n)] for n in range(len(looks))]
        return [
            Range.of(look.kind, found, every=True) if len(found) <= _MOST_AHEAD else None
            for look, found in zip(looks, values, strict=True)
        ]
