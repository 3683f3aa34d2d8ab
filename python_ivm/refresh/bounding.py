"""Asks the warehouse for the ranges of changed keys."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial

from python_ivm.algebra.columns import ColumnRef
from python_ivm.algebra.nodes import Node
from python_ivm.optimize.analysis.provenance import Key
from python_ivm.optimize.analysis.reads import changes_in
from python_ivm.optimize.data_skipping import Range, bounded, looked_up, narrowest
from python_ivm.optimize.irrelevant_updates import (
    Question,
    Relevant,
    comparable,
    question,
    relevant,
)
from python_ivm.optimize.join_key_lookahead import Ahead, looked_ahead
from python_ivm.optimize.predicate_ordering import early
from python_ivm.qualify.schema import kind_of
from python_ivm.refresh import statements as emit
from python_ivm.refresh.model import Model
from python_ivm.refresh.reading import ReadVolume
from python_ivm.refresh.statement import Execution
from python_ivm.render.renderer import Renderer
from python_ivm.sources.clock import Clock
from python_ivm.sources.history import Change, SourceChange
from python_ivm.state.layout import STATE

_MOST_LISTED = 2_500
"""Up to so many combinations of changed keys are written into the MERGE: those of a thousand rows
before and after their update, and some more."""
_MOST_AHEAD = 10_000
"""So many of the keys that are found by looking ahead."""
_MOST_NETTED = 100_000
"""Of so many changed rows it is found out which came and went with the same values."""
_SMALL = 8 * 2**20
"""Up to so many bytes a table is read as fast as its files are chosen."""


Rows = list[list[str | None]]
"""Rows of texts."""


class Bounding:
    """Bounds one refresh's plan by the keys of its changed rows (``delta/bounds.py``).

    Attributes:
        unseen: The changed sources of whose change the query was found to see nothing. A plan that
            follows them is not bounded any further.
    """

    def __init__(
        self,
        model: Model,
        changes: Mapping[str, SourceChange],
        clock: Clock | None = None,
        query: Node | None = None,
        read: Collection[str] = (),
    ) -> None:
        """Take what is asked about.

        Args:
            model: The model.
            changes: What happened to its sources.
            clock: The clock if the model asks it.
            query: The plan of what the state holds; None if it is not asked what it sees.
            read: Those sources that changed, and that it reads.
        """
        self._model = model
        self._clock = clock
        self._volume = ReadVolume(model, changes)
        self._kind = partial(kind_of, model.schemas())
        self._changes = changes
        self._query = query
        self._read = read
        self._known: Mapping[Key, Range] | None = None
        self.unseen: frozenset[str] = frozenset()

    def __call__(
        self, plan: Node, columns: Sequence[ColumnRef]
    ) -> tuple[Node, Mapping[ColumnRef, Range]]:
        """The plan with bounds, and the ranges of those columns that have one."""
        plan, ranges = bounded(plan, columns, STATE, self._kind, self._ranges, self._large)
        if self._known is None and not self._volume.is_worth_a_question(plan):
            self._known = {}
        if self.unseen & changes_in(plan):
            return plan, ranges
        ahead = looked_ahead(plan, self._kind, self._volume.pays_to_ask, self._ahead)
        if self._known is None:
            self._ranges(())
        if self.unseen & changes_in(plan):
            return plan, ranges
        return narrowest(early(ahead, self._kind)), ranges

    def looked_up(self, plan: Node, columns: Sequence[ColumnRef]) -> frozenset[Key]:
        """The columns by which changed keys look up rows of sources and of the state."""
        return looked_up(plan, columns, STATE, self._kind)

    @cached_property
    def _reads(self) -> Mapping[str, Relevant]:
        """What the query reads of those sources that changed."""
        found = relevant(self._query, self._kind) if self._query is not None else {}
        return {source: reads for source, reads in found.items() if source in self._read}

    def _large(self, source: str) -> bool:
        size = self._model.size(source)
        return size is None or size > _SMALL

    def _ranges(self, keys: Collection[Key]) -> Mapping[Key, Range]:
        """What the sources' change feeds hold of keys; they are asked once in a refresh."""
        # A condition may fail for a row that the query leaves out otherwise: then only keys are
        # asked for. A feed that cannot be read bounds nothing: the MERGE says why.
        if self._known is None:
            for reads in (self._reads, {}):
                with suppress(Exception):
                    self._known = self._asked(keys, reads)
                    break
        self._known = self._known or {}
        return self._known

    def _asked(self, keys: Collection[Key], reads: Mapping[str, Relevant]) -> Mapping[Key, Range]:
        """The same, asked, and which changes of what the query reads it does not see."""
        sources = sorted({key.source for key in keys}.union(reads))
        asked = {s: sorted(key.column for key in keys if key.source == s) for s in sources}
        questions = self._questions(asked, reads)
        values = self._answers(list(questions.values()), _MOST_LISTED)
        seen = self._seen(questions, values)
        many = [source for source, rows in seen.items() if len(rows) > _MOST_LISTED]
        if many:
            ends = emit.range_query([(self._changes[s], asked[s]) for s in many])
            for source, (extremes,) in zip(many, self._rows(ends, len(many)), strict=True):
                seen[source] = [extremes[::2], extremes[1::2]]
        found: dict[Key, Range] = {}
        for key in sorted(key for key in keys if key.source in seen):
            place = asked[key.source].index(key.column)
            texts = [row[place] for row in seen[key.source]]
            kind = self._kind(key.source, key.column)
            range_ = Range.of(kind, texts, every=key.source not in many)
            if range_ is not None:
                found[key] = range_
        return found

    def _questions(
        self, asked: Mapping[str, Sequence[str]], reads: Mapping[str, Relevant]
    ) -> dict[str, Question]:
        """What to ask about changes: keys, and whether the query sees something of them."""
        questions = {s: self._question(s, keys, reads.get(s)) for s, keys in asked.items()}
        return {s: q for s, q in questions.items() if q.keys or q.seen is not None}

    def _seen(self, questions: Collection[str], values: Sequence[Rows]) -> dict[str, Rows]:
        """The answers about those changes of which the query sees something."""
        found = dict(zip(questions, values, strict=True))
        seen = {s: rows for s, rows in found.items() if any(row[-1] == "true" for row in rows)}
        self.unseen = frozenset(found.keys() - seen.keys())
        return seen

    def _answers(self, questions: Sequence[Question], most: int) -> list[Rows]:
        """For each question its answers, one more than so many at most."""
        if not questions:
            return []
        state = emit.table(self._model.request.state, self._model.found.version)
        renderer = Renderer(emit.source_relations(self._changes, self._clock, state))
        query = emit.keys_query(questions, most + 1, renderer)
        execution = self._volume.execution(*(q.rows for q in questions), merges=False)
        return self._rows(query, len(questions), execution)

    def _question(self, source: str, keys: Sequence[str], reads: Relevant | None) -> Question:
        """What to ask about a source's change."""
        if reads is None:
            return question(source, Relevant(tuple(keys), None), keys, None)
        change = self._changes[source]
        few = change.rows is not None and change.rows <= _MOST_NETTED
        kinds = [self._kind(source, column) for column in reads.columns]
        nets = few and change.change is Change.GENERAL
        return question(source, reads, keys, comparable(kinds) if nets else None)

    def _rows(self, query: str, parts: int, execution: Execution = Execution.USUAL) -> list[Rows]:
        """The rows of a query of several parts, whose first column is the part's number."""
        found: list[Rows] = [[] for _ in range(parts)]
        for which, *values in self._model.warehouse.texts(query, execution):
            found[int(str(which))].append(values)
        return found

    def _ahead(self, looks: Sequence[Ahead]) -> Sequence[Range | None]:
        """What the keys of looks ahead are; and with them what the query sees, if it is not known.

        All in one query.
        """
        near = [Question(look.near, (look.key,), None) for look in looks]
        asked: Mapping[str, Sequence[str]] = dict.fromkeys(self._reads, ())
        changes = self._questions(asked, self._reads) if self._known is None else {}
        self._known = self._known or {}
        try:
            rows = self._answers([*near, *changes.values()], _MOST_AHEAD)
        except Exception:
            return [None] * len(looks)  # the MERGE, which computes the same, will say why
        if changes:
            self._seen(changes, rows[len(looks) :])
        return [
            self._of_look(look, [row[0] for row in found])
            for look, found in zip(looks, rows[: len(looks)], strict=True)
        ]

    def _of_look(self, look: Ahead, values: Sequence[str | None]) -> Range | None:
        if len(values) > _MOST_AHEAD:
            return None
        if all(value is None for value in values):
            return Range.empty(look.kind)
        return Range.of(look.kind, values, every=True)
