"""A bound model."""

from __future__ import annotations

from dataclasses import dataclass

from python_ivm.algebra.nodes import Node

VIEW = "ivm_view"
"""The relation name of a plan's result."""

COPIES = "copies"
"""The note on a table in the tree: the column that holds the multiplicity of each row."""


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
    """

    plan: Node
    columns: tuple[str, ...]
    sources: tuple[str, ...]
    chooses: bool = False
    shows: frozenset[str] = frozenset()
