"""Which recursions are linear: each step reads the rows of the last round once."""

from __future__ import annotations

from python_ivm.algebra.nodes import Node, Project, Recursion, UnionAll, WorkingTable
from python_ivm.algebra.walks import fold


def steps_of(node: Recursion) -> tuple[Node, ...]:
    """The steps of a recursion: a set may have several, as parts of a union."""
    step = node.step
    return step.parts if node.is_set and isinstance(step, UnionAll) else (step,)


def reads_set(plan: Node) -> bool:
    """Whether a recursive set stands in a plan, whose rows a loop computes."""
    return any(isinstance(node, Recursion) and node.is_set for node in plan.walk())


def last_rounds(node: Recursion) -> tuple[WorkingTable, ...]:
    """How each step reads the last round, if all do so once: then the recursion is linear.

    What else may stand in a step is linear in that row (``bind/recursion.py``).

    Returns:
        A working table for each step; none if the recursion is not linear.
    """

    def readers(part: Node, below: list[list[WorkingTable]]) -> list[WorkingTable]:
        if isinstance(part, WorkingTable) and part.recursion == node.relation:
            return [part]
        return [found for some in below for found in some]

    found: list[WorkingTable] = []
    for step in steps_of(node):
        read = fold(step, readers)
        if not isinstance(step, Project) or len(read) != 1:
            return ()
        found += read
    return tuple(found)
