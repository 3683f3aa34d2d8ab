"""Which loops are one recursive set, and how its step is taken apart.

``WITH RECURSIVE f AS (anchor UNION step)``, whose step reads ``f`` once, in a join: reachability,
a bill of material, all ancestors. Each row gets the number of the round in which it came. A row
then follows from the anchor, or from one of an earlier round, so that the round tells whether a
row still follows from others when some go (docs/decisions/0069).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from python_ivm.algebra.columns import ColumnRef, Named, beside, first_free, substitute
from python_ivm.algebra.nodes import (
    Aggregate,
    Filter,
    Join,
    Node,
    Project,
    Recursion,
    Scan,
    Sort,
    UnionAll,
    WorkingTable,
)
from python_ivm.algebra.walks import bottom_up
from python_ivm.bind.query import Query
from python_ivm.loops.graph import read_binding
from python_ivm.loops.loop import Loop
from python_ivm.parse.loops import NOW

ROUND = "__ivm_round__"
"""The column that holds the round in which a row of a set came; 0 is the anchor's."""


def recursive_set(loop: Loop) -> Recursion | None:
    """A loop as one recursive set; None if it is something else.

    Args:
        loop: The loop of a model.

    Returns:
        The set, with :data:`ROUND` as its last column.
    """
    if loop.program is None or len(loop.plans) != 1:
        return None
    ((name, plan),) = loop.plans.items()
    anchors, step = parts_of(plan)
    if not anchors or not isinstance(step, Project) or ROUND in loop.names[name]:
        return None
    if step_of(step, name, len(loop.names[name])) is None:
        return None
    names = (*loop.names[name], ROUND)
    relations = {column.relation for node in plan.walk() for column in node.schema}
    relation = first_free(name, lambda free: free not in relations)
    read = next(node for node in step.walk() if read_binding(node) is not None)
    assert isinstance(read, Scan)
    working = WorkingTable(read.relation, relation, names)
    later = exp.Add(
        this=ColumnRef(read.relation, ROUND).expression(), expression=exp.Literal.number(1)
    )
    begun = [_with_round(part, _round(exp.Literal.number(0)), names) for part in anchors]
    anchor = begun[0] if len(begun) == 1 else UnionAll(tuple(begun), beside(relation, "top"), names)
    stepped = bottom_up(step, lambda node: working if node is read else node)
    return Recursion(anchor, _with_round(stepped, _round(later), names), relation, names, name)


def parts_of(plan: Node) -> tuple[tuple[Node, ...], Node]:
    """The parts of a UNION that read nothing of the loop, and the one that does.

    There are none of the first sort if the plan is something else.
    """
    parts = _united(plan)
    steps = [part for part in parts if _reads(part)]
    return (tuple(p for p in parts if not _reads(p)), steps[0]) if len(steps) == 1 else ((), plan)


def _united(plan: Node) -> tuple[Node, ...]:
    """The parts of a UNION; none if the plan is something else."""
    if not isinstance(plan, Aggregate) or plan.measures or not isinstance(plan.input, UnionAll):
        return ()
    keys = [key.expression for key in plan.keys]
    whole = keys == [column.expression() for column in plan.input.schema]
    return plan.input.parts if whole else ()


def _reads(plan: Node) -> bool:
    return any(read_binding(node) is not None for node in plan.walk())


def _round(number: exp.Expr) -> exp.Expr:
    return exp.cast(number.copy(), "int")


def _with_round(part: Node, number: exp.Expr, names: tuple[str, ...]) -> Project:
    """A part under the names of the set, with the round of its rows."""
    if not isinstance(part, Project):
        items = tuple(Named(c.name, c.expression()) for c in part.schema)
        part = Project(part, beside(part.schema[0].relation, "rows"), items)
    named = zip(names, (*(item.expression for item in part.items), number), strict=True)
    return replace(part, items=tuple(Named(name, value) for name, value in named))


def in_place_of_loop(query: Query, found: Recursion) -> Query:
    """What stands behind a loop, over the set itself, where only columns and rows are chosen.

    Args:
        query: A model's query, which reads the loop's rows as a table.
        found: The set.

    Returns:
        The query itself, if something else stands there.
    """
    made = _over_set(query.plan, found)
    if made is None:
        return query
    read = dict.fromkeys(node.source for node in found.walk() if isinstance(node, Scan))
    return replace(query, plan=made[0], sources=tuple(read))


def _over_set(node: Node, found: Recursion) -> tuple[Node, Mapping[ColumnRef, exp.Expr]] | None:
    """A plan over the set, and what columns of its input are called there."""
    if isinstance(node, Scan) and node.source == f"{NOW}.{found.loop}":
        called = {ColumnRef(node.relation, name): name for name in found.names}
        return found, {c: ColumnRef(found.relation, n).expression() for c, n in called.items()}
    if not isinstance(node, (Project, Filter, Sort, Join)) or len(node.inputs) != 1:
        return None
    below = _over_set(node.inputs[0], found)
    if below is None:
        return None
    made, called_below = below
    if isinstance(node, Project):
        items = tuple(Named(i.name, substitute(i.expression, called_below)) for i in node.items)
        return replace(node, input=made, items=items), {}
    if isinstance(node, Sort):
        order = tuple(_ordered(key, called_below) for key in node.order)
        return replace(node, input=made, order=order), called_below
    for condition in node.expressions:
        made = Filter(made, substitute(condition, called_below))
    return made, called_below


def _ordered(key: exp.Ordered, called: Mapping[ColumnRef, exp.Expr]) -> exp.Ordered:
    copied = key.copy()
    copied.set("this", substitute(key.this, called))
    return copied


@dataclass(frozen=True)
class Step:
    """The step of a recursive set: what its working table is joined with, and what it shows.

    Attributes:
        relation: The working table's name in the step.
        tables: What it is joined with, each of which reads nothing of the set.
        conditions: Under which conditions.
        items: The rows that follow, over the columns of all.
    """

    relation: str
    tables: tuple[Node, ...]
    conditions: tuple[exp.Expr, ...]
    items: tuple[Named, ...]

    def working(self, *columns: str) -> WorkingTable:
        """The working table with some of its columns."""
        return WorkingTable(self.relation, self.relation, columns)

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


def step_of(step: Node, name: str, width: int) -> Step | None:
    """A step taken apart; None if it reads the set otherwise than by one join.

    Args:
        step: The plan of the step.
        name: The set's name, as a loop's binding or as a recursion's relation.
        width: How many columns the set has, without the round.
    """
    if not isinstance(step, Project):
        return None
    flat = _joined(step.input, name)
    if flat is None:
        return None
    parts, conditions = flat
    working = [part for part in parts if _is_set(part, name)]
    if len(working) != 1:
        return None
    tables = tuple(part for part in parts if part is not working[0])
    relation = working[0].schema[0].relation
    return Step(relation, tables, tuple(conditions), step.items[:width])


def _is_set(node: Node, name: str) -> bool:
    if isinstance(node, WorkingTable):
        return node.recursion == name
    read = read_binding(node)
    return read is not None and read[0] == name


def _joined(node: Node, name: str) -> tuple[list[Node], list[exp.Expr]] | None:
    """The relations that a plan joins, and under which conditions; None if it does more."""
    if _is_set(node, name) or not any(_is_set(part, name) for part in node.walk()):
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
