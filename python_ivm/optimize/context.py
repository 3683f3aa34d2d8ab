"""What passes know beside the plan: types, costs, and what is asked of changed rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from sqlglot import exp

from python_ivm.algebra.columns import ColumnRef
from python_ivm.algebra.nodes import Node
from python_ivm.optimize.analysis.bounds import Bound, Range
from python_ivm.optimize.analysis.provenance import Key, Kinds
from python_ivm.optimize.cost import Cost
from python_ivm.state.layout import Layout
from python_ivm.state.merge import Merge


@dataclass(frozen=True)
class Question:
    """What is asked about a change, or about what it is joined with.

    Attributes:
        rows: A plan of its rows.
        keys: Those of its columns whose values are asked for.
        seen: Whether the model's query sees one of the rows; None if it sees all.
    """

    rows: Node
    keys: tuple[ColumnRef, ...]
    seen: exp.Expr | None


@dataclass(frozen=True)
class Lookahead:
    """Keys that are asked for before a large table is read by them.

    Attributes:
        near: What a change was joined with so far.
        key: A column of it.
        kind: The column's Spark type.
        far: The column of a table that equals it.
        or_null: Whether NULL equals NULL.
        known: What bounds that column anyway, to few values; None if nothing does.
    """

    near: Node
    key: ColumnRef
    kind: str
    far: ColumnRef
    or_null: bool
    known: Bound | None


class ChangeProbe(Protocol):
    """What is asked of changed rows, at most three times in a refresh."""

    def ranges(self, keys: Collection[Key]) -> Mapping[Key, Range]:
        """Ranges of columns of changes; one that has only NULLs or is not known is left out."""

    def of_lookaheads(self, plan: Node, looks: Sequence[Lookahead]) -> Sequence[Range | None]:
        """The values of their keys in a plan; None where they are not few, or cannot be told."""

    @property
    def known_unseen(self) -> frozenset[str]:
        """The sources of whose change the query sees nothing, as far as it was asked."""

    def unseen(self, plan: Node) -> frozenset[str]:
        """The same; asked now if it was not, and if a plan reads so much that it pays."""


class Nothing:
    """Answers where no change is there to be asked: nothing is known, all is seen."""

    def ranges(self, keys: Collection[Key]) -> Mapping[Key, Range]:
        """None."""
        return {}

    def of_lookaheads(self, plan: Node, looks: Sequence[Lookahead]) -> Sequence[Range | None]:
        """None."""
        return [None] * len(looks)

    @property
    def known_unseen(self) -> frozenset[str]:
        """None."""
        return frozenset()

    def unseen(self, plan: Node) -> frozenset[str]:
        """None."""
        return frozenset()


@dataclass(frozen=True)
class Context:
    """What passes know beside the plan.

    Attributes:
        kinds: The types of the sources' columns.
        cost: What reads cost.
        answers: Answers questions about changed rows.
        follow: Gives the MERGE, not optimized, that follows the changes of all sources but these.
        recompute: The MERGE that recomputes the query instead; None if it cannot.
        layout: What the model stores; None where there is no model.
        net: The sources of whose change the rows that came and went are left out, since an
            expression that can fail is computed of its rows.
        without: The names of passes to leave out, for tests and to find out what one gains.
        changed: The names of the passes that changed the plan, as far as they have run.
    """

    kinds: Kinds
    cost: Cost
    answers: ChangeProbe = field(default_factory=Nothing)
    follow: Callable[[Collection[str]], Merge] | None = None
    recompute: Merge | None = None
    layout: Layout | None = None
    net: frozenset[str] = frozenset()
    without: frozenset[str] = frozenset()
    changed: dict[str, None] = field(default_factory=dict)
