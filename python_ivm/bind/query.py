"""A bound model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from python_ivm.algebra.nodes import Node
from python_ivm.parse.hints import Hint

VIEW = "ivm_view"
"""The relation name of a plan's result."""

COPIES = "copies"
"""The note on a table in the tree: the column that holds the multiplicity of each row."""


@dataclass(frozen=True)
class Hints:
    """The model's hints that a build follows.

    Attributes:
        joins: By relation of the plan, the names of hints of how to join it.
        partitions: The hints of the outermost SELECT of how to divide its rows.
    """

    joins: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    partitions: tuple[Hint, ...] = ()


NO_HINTS = Hints()
"""Those of most models."""


@dataclass(frozen=True)
class Query:
    """A bound model.

    Attributes:
        plan: The normalized logical plan; its result is the relation :data:`VIEW`.
        columns: The visible columns' names as the user spells them.
        sources: Planner keys of the tables that it reads, in the order of first use.
        chooses: Whether Spark may give several results for the model, of which the plan gives one.
        shows: What it reads of the clock elsewhere than in a condition; it is maintained while this
            stays the same.
        hints: How a build should be computed.
    """

    plan: Node
    columns: tuple[str, ...]
    sources: tuple[str, ...]
    chooses: bool = False
    shows: frozenset[str] = frozenset()
    hints: Hints = NO_HINTS
