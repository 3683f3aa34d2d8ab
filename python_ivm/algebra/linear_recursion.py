"""Which recursions are linear: their step reads the rows of the last round once."""

from __future__ import annotations

from python_ivm.algebra.nodes import Node, Project, Recursion, WorkingTable
from python_ivm.algebra.walks import fold


def last_round(node: Recursion) -> WorkingTable | None:
    """How the step reads the last round, if it does so once: then it is linear.

    What else may stand in a step is linear in that row (``bind/recursion.py``).
    """

    def readers(part: Node, below: list[int]) -> int:
        own = isinstance(part, WorkingTable) and part.recursion == node.relation
        return own + sum(below)

    if not isinstance(node.step, Project) or fold(node.step, readers) != 1:
        return None
    return next(
        part
        for part in node.step.walk()
        if isinstance(part, WorkingTable) and part.recursion == node.relation
    )
