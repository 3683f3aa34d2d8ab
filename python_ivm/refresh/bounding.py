"""Asks the warehouse for the ranges of changed keys."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

from python_ivm.algebra.columns import ColumnRef
from python_ivm.algebra.nodes import Node
from python_ivm.delta.ahead import Ahead, looked_ahead
from python_ivm.delta.bounds import Range, bounded, looked_up
from python_ivm.delta.early import early
from python_ivm.delta.origins import Key
from python_ivm.refresh import emit
from python_ivm.refresh.model import Model
from python_ivm.refresh.reading import ReadVolume
from python_ivm.sources.clock import Clock
from python_ivm.sources.history import SourceChange
from python_ivm.sql.render import Renderer
from python_ivm.sql.schema import kind_of
from python_ivm.state.layout import STATE

_MOST_LISTED = 2_500
"""Up to so many combinations of changed keys are written into the MERGE: those of a thousand rows
before and after their update, and some more."""
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
        plan = looked_ahead(plan, self._kind, self._volume.pays_to_ask, self._ahead)
        return early(plan, self._kind), ranges

    def looked_up(self, plan: Node, columns: Sequence[ColumnRef]) -> frozenset[Key]:
        """The columns by which changed keys look up rows of sources and of the state."""
        return looked_up(plan, columns, STATE, self._kind)

    def _large(self, source: str) -> bool:
        size = self._model.size(source)
        return size is None or size > _SMALL

    def _ranges(self, keys: Collection[Key]) -> Mapping[Key, Range]:
        """What the sources' change feeds hold of keys."""
        sources = sorted({key.source for key in keys})
        asked = {s: sorted(key.column for key in keys if key.source == s) for s in sources}
        try:
            values = self._told(partial(emit.keys_query, most=_MOST_LISTED + 1), asked)
            many = {s: asked[s] for s, rows in values.items() if len(rows) > _MOST_LISTED}
            for source, (extremes,) in self._told(emit.range_query, many).items():
                values[source] = [extremes[::2], extremes[1::2]]
        except Exception:
            return {}  # a feed that cannot be read bounds nothing: the MERGE will say why
        found: dict[Key, Range] = {}
        for key in sorted(keys):
            place = asked[key.source].index(key.column)
            texts = [row[place] for row in values[key.source]]
            kind = self._kind(key.source, key.column)
            range_ = Range.of(kind, texts, every=key.source not in many)
            if range_ is not None:
                found[key] = range_
        return found

    def _told(
        self, query: Callable[[emit.Asked], str], asked: Mapping[str, Sequence[str]]
    ) -> dict[str, list[list[str | None]]]:
        """What one query tells of columns of several changes, by source."""
        if not asked:
            return {}
        changes = [(self._changes[source], columns) for source, columns in asked.items()]
        return dict(zip(asked, self._rows(query(changes), len(changes)), strict=True))

    def _rows(self, query: str, parts: int) -> list[list[list[str | None]]]:
        """The rows of a query of several parts, whose first column is the part's number."""
        found: list[list[list[str | None]]] = [[] for _ in range(parts)]
        for which, *values in self._model.warehouse.texts(query):
            found[int(str(which))].append(values)
        return found

    def _ahead(self, looks: Sequence[Ahead]) -> Sequence[Range | None]:
        """What the keys of looks ahead are, asked in one query."""
        state = emit.table(self._model.request.state, self._model.found.version)
        renderer = Renderer(emit.source_relations(self._changes, self._clock, state))
        columns = [(look.near, look.key) for look in looks]
        query = emit.values_query(columns, _MOST_AHEAD + 1, renderer)
        try:
            rows = self._rows(query, len(looks))
        except Exception:
            return [None] * len(looks)  # the MERGE, which computes the same, will say why
        return [
            Range.of(look.kind, [value for (value,) in found], every=True)
            if len(found) <= _MOST_AHEAD
            else None
            for look, found in zip(looks, rows, strict=True)
        ]
