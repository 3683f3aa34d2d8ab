"""Asks the warehouse about changed rows: their keys, and whether the query sees them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, partial

from python_ivm.algebra.nodes import Node
from python_ivm.optimize.analysis.bounds import Range
from python_ivm.optimize.analysis.provenance import Key
from python_ivm.optimize.analysis.reads import changes_in
from python_ivm.optimize.context import Lookahead, Question
from python_ivm.optimize.cost import Cost, Execution
from python_ivm.optimize.irrelevant_updates import Relevant, comparable, question, relevant
from python_ivm.qualify.schema import kind_of
from python_ivm.refresh.model import Model
from python_ivm.render.questions import keys_query, range_query
from python_ivm.render.renderer import Renderer
from python_ivm.render.sources import source_relations, table
from python_ivm.sources.clock import Clock
from python_ivm.sources.history import Change, SourceChange

_MOST_LISTED = 2_500
"""The most combinations of changed keys that are written into the MERGE: enough for a thousand rows
before and after their update."""
_MOST_AHEAD = 10_000
"""The same for keys that a lookahead found."""
_MOST_NETTED = 100_000
"""Up to this many changed rows, those that came and went with the same values are left out."""

Rows = list[list[str | None]]
"""Rows of texts."""


class ChangedKeys:
    """Answers the optimizer's questions about changed rows, at most three times in a refresh.

    Attributes:
        known_unseen: The changed sources of whose change the query was found to see nothing.
    """

    def __init__(
        self,
        model: Model,
        changes: Mapping[str, SourceChange],
        cost: Cost,
        clock: Clock | None,
        query: Node,
        read: Collection[str],
    ) -> None:
        """Take what is asked about.

        Args:
            model: The model.
            changes: What happened to its sources.
            cost: What reads cost.
            clock: The clock if the model asks it.
            query: The plan of what the state holds.
            read: Those sources that changed, and that it reads.
        """
        self._model = model
        self._clock = clock
        self._cost = cost
        self._kind = partial(kind_of, model.schemas())
        self._changes = changes
        self._query = query
        self._read = read
        self._known: Mapping[Key, Range] | None = None
        self.known_unseen: frozenset[str] = frozenset()

    def ranges(self, keys: Collection[Key]) -> Mapping[Key, Range]:
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

    def of_lookaheads(self, plan: Node, looks: Sequence[Lookahead]) -> Sequence[Range | None]:
        """What the keys of lookaheads are; and with them what the query sees, if it is not known.

        All in one query.
        """
        self._spare(plan)
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
            self._of_lookahead(look, [row[0] for row in found])
            for look, found in zip(looks, rows[: len(looks)], strict=True)
        ]

    def unseen(self, plan: Node) -> frozenset[str]:
        """The sources that a plan follows, but of whose change the query sees nothing."""
        self._spare(plan)
        self.ranges(())
        return self.known_unseen & changes_in(plan)

    def _spare(self, plan: Node) -> None:
        """Ask nothing about a plan that reads so little that a question would take longer.

        Of a state whose rows were all written anew, there is often nothing to follow.
        """
        if any(self._changes[source].rewritten for source in self._read):
            return
        if self._known is None and not self._cost.is_worth_a_question(plan):
            self._known = {}

    @cached_property
    def _reads(self) -> Mapping[str, Relevant]:
        """What the query reads of those sources that changed."""
        found = relevant(self._query, self._kind)
        return {source: reads for source, reads in found.items() if source in self._read}

    def _asked(self, keys: Collection[Key], reads: Mapping[str, Relevant]) -> Mapping[Key, Range]:
        """The same, asked, and which changes of what the query reads it does not see."""
        sources = sorted({key.source for key in keys}.union(reads))
        asked = {s: sorted(key.column for key in keys if key.source == s) for s in sources}
        questions = self._questions(asked, reads)
        values = self._answers(list(questions.values()), _MOST_LISTED)
        seen = self._seen(questions, values)
        many = [source for source, rows in seen.items() if len(rows) > _MOST_LISTED]
        if many:
            ends = range_query([(self._changes[s], asked[s]) for s in many])
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
        self.known_unseen = frozenset(found.keys() - seen.keys())
        return seen

    def _answers(self, questions: Sequence[Question], most: int) -> list[Rows]:
        """For each question its answers, at most one more than `most` of them."""
        if not questions:
            return []
        state = table(self._model.request.state, self._model.found.version)
        renderer = Renderer(source_relations(self._changes, self._clock, state))
        query = keys_query(questions, most + 1, renderer)
        execution = self._cost.execution(*(q.rows for q in questions), merges=False)
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

    def _of_lookahead(self, look: Lookahead, values: Sequence[str | None]) -> Range | None:
        if len(values) > _MOST_AHEAD:
            return None
        if all(value is None for value in values):
            return Range.empty(look.kind)
        return Range.of(look.kind, values, every=True)
