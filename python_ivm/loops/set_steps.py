"""The steps of a recursive set, taken apart: what each joins the rows of the last round with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from python_ivm.algebra.columns import Named
from python_ivm.algebra.linear_recursion import steps_of
from python_ivm.algebra.nodes import Filter, Join, Node, Project, Recursion, WorkingTable


@dataclass(frozen=True)
class Step:
    """A step of a recursive set: what its working table is joined with, and what it shows.

    Attributes:
        last: The working table, as the step reads it, with all columns of the set.
        tables: What it is joined with, each of which reads nothing of the set.
        conditions: Under which conditions.
        items: The rows that follow, over the columns of all.
    """

    last: WorkingTable
    tables: tuple[Node, ...]
    conditions: tuple[exp.Expr, ...]
    items: tuple[Named, ...]

    def working(self, width: int) -> WorkingTable:
        """The working table with the first of its columns."""
        return WorkingTable(self.last.relation, self.last.relation, self.last.names[:width])

    def forward(self, working: Node) -> Project:
        """The rows that follow from those of the working table."""
        joined = Join((working, *self.tables), self.conditions)
        return Project(joined, "__ivm_next__", self.items)

    def backward(self, asked: Node, working: Node, values: Sequence[exp.Expr]) -> Join:
        """Rows that one asks about, each beside the rows of the working table that give it.

        Args:
            asked: The rows.
            working: The working table.
            values: What the step gives, in the types of the asked rows.
        """
        same = tuple(
            exp.NullSafeEQ(this=column.expression(), expression=value.copy())
            for column, value in zip(asked.schema, values, strict=True)
        )
        return Join((asked, *self.tables, working), (*self.conditions, *same))


def steps_apart(node: Recursion, width: int) -> list[Step] | None:
    """The steps of a set taken apart; None if one reads the set otherwise than by one join.

    Args:
        node: The set.
        width: How many columns it has, without the round.
    """
    found = [_step_apart(step, node.relation, width) for step in steps_of(node)]
    steps = [step for step in found if step is not None]
    return steps if len(steps) == len(found) else None


def _step_apart(step: Node, name: str, width: int) -> Step | None:
    if not isinstance(step, Project):
        return None
    flat = _joined(step.input, name)
    if flat is None:
        return None
    parts, conditions = flat
    last = [part for part in parts if _is_last(part, name)]
    if len(last) != 1:
        return None
    (working,) = last
    assert isinstance(working, WorkingTable)
    tables = tuple(part for part in parts if part is not working)
    return Step(working, tables, tuple(conditions), step.items[:width])


def _is_last(node: Node, name: str) -> bool:
    return isinstance(node, WorkingTable) and node.recursion == name


def _joined(node: Node, name: str) -> tuple[list[Node], list[exp.Expr]] | None:
    """The relations that a plan joins, and under which conditions; None if it does more."""
    if _is_last(node, name) or not any(_is_last(part, name) for part in node.walk()):
        return [node], []
    if not isinstance(node, (Filter, Join)):
        return None
    parts: list[Node] = []
    conditions = list(node.expressions)
    for child in node.inputs:
        flat = _joined(child, name)
        if flat is None:
            return None
        parts += flat[0]
        conditions += flat[1]
    return parts, conditions
