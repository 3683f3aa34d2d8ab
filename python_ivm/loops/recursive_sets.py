"""Which loops are a recursive set: then they follow what changed.

``WITH RECURSIVE f AS (anchor UNION step)``, where each step reads ``f`` once, in a join:
reachability, a bill of material, all ancestors. Each row gets the number of the round in which it
came. A row then follows from the anchor, or from one of an earlier round, so that the round tells
whether a row still follows from others when some go (docs/decisions/0069).

Bindings that read each other so are one set, too, whose rows say of which binding they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

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
from python_ivm.loops.set_steps import Step, steps_apart
from python_ivm.parse.loops import NOW
from python_ivm.rows.kinds import VOID, ValueType

ROUND = "__ivm_round__"
"""The column that holds the round in which a row of a set came; 0 is the anchor's."""
BINDING = "__ivm_binding__"
"""The column that says of which binding a row is, in a set of several."""
_T = TypeVar("_T")


@dataclass(frozen=True)
class RecursiveSet:
    """A loop whose rows are one set.

    Attributes:
        recursion: The set; its last column is :data:`ROUND`.
        columns: Its other columns.
        anchors: The plans of the rows that it begins with, each with its binding.
        steps: Its steps taken apart.
    """

    recursion: Recursion
    columns: SetColumns
    anchors: tuple[tuple[str, Node], ...]
    steps: tuple[Step, ...]

    @property
    def types(self) -> dict[str, str]:
        """Spark's types of all of its columns."""
        kinds = zip(self.columns.names, map(str, self.columns.kinds), strict=True)
        return {**dict(kinds), ROUND: "int"}


@dataclass(frozen=True)
class SetColumns:
    """The columns of a set but the round.

    Those of its binding. Of several bindings columns of one type share one of the set; what a
    binding does not have is NULL in its rows, and :data:`BINDING` is the last column.

    Attributes:
        names: Their names.
        kinds: Their types.
        places: For each binding which of them hold its own columns.
        own: The names of its own columns.
    """

    names: tuple[str, ...]
    kinds: tuple[ValueType, ...]
    places: Mapping[str, tuple[int, ...]]
    own: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, loop: Loop) -> SetColumns:
        """Lay out the columns of a loop's bindings."""
        names: list[str] = []
        kinds: list[ValueType] = []
        places: dict[str, tuple[int, ...]] = {}
        for binding, own in loop.names.items():
            taken: list[int] = []
            for name, kind in zip(own, loop.kinds[binding], strict=True):
                free = (p for p, other in enumerate(kinds) if other == kind and p not in taken)
                place = next(free, len(names))
                if place == len(names):
                    names.append(first_free(name, lambda wanted: wanted not in names))
                    kinds.append(kind)
                taken.append(place)
            places[binding] = tuple(taken)
        if len(places) > 1:
            names.append(BINDING)
            kinds.append(ValueType("string"))
        return cls(tuple(names), tuple(kinds), places, loop.names)

    @property
    def are_shared(self) -> bool:
        """Whether several bindings have them."""
        return len(self.places) > 1

    def laid_out(
        self,
        binding: str,
        own: Sequence[_T],
        null: Callable[[ValueType], _T],
        text: Callable[[str], _T],
    ) -> list[_T]:
        """What a binding has in each column of the set.

        Args:
            binding: The binding.
            own: What it has in its own columns.
            null: Gives a NULL of a type.
            text: Gives a text.
        """
        if not self.are_shared:
            return list(own)
        values = [null(kind) for kind in self.kinds]
        for place, value in zip(self.places[binding], own, strict=True):
            values[place] = value
        values[-1] = text(binding)
        return values


def recursive_set(loop: Loop) -> RecursiveSet | None:
    """A loop as one recursive set; None if it is something else.

    Args:
        loop: The loop of a model.
    """
    if loop.program is None or not _delayed_alike(loop.plans.values()):
        return None
    if any({ROUND, BINDING} & set(names) for names in loop.names.values()):
        return None
    if any(VOID in kinds for kinds in loop.kinds.values()):
        return None  # a state has no column of no type
    anchors: list[tuple[str, Node]] = []
    steps: list[tuple[str, Node]] = []
    for binding, plan in loop.plans.items():
        parts = _united(plan)
        if not parts:
            return None
        for part in parts:
            (steps if _reads(part) else anchors).append((binding, part))
    builder = _SetBuilder(loop, SetColumns.of(loop))
    stepped = [step for binding, part in steps if (step := builder.step(binding, part))]
    if not anchors or len(stepped) < len(steps):
        return None
    begun = [builder.shown(binding, part, exp.Literal.number(0)) for binding, part in anchors]
    recursion = builder.recursion(begun, stepped)
    apart = steps_apart(recursion, len(builder.columns.names))
    return RecursiveSet(recursion, builder.columns, tuple(anchors), tuple(apart)) if apart else None


def _delayed_alike(plans: Iterable[Node]) -> bool:
    """Whether all bindings are read as of the round before, or all as of this one.

    Else a round of the loop is none of the set, and a limit would cut off other rows.
    """
    read = [read_binding(node) for plan in plans for node in plan.walk()]
    return len({one[1] for one in read if one is not None}) == 1


def _united(plan: Node) -> tuple[Node, ...]:
    """The parts of a set, none of those that read the loop a set or a union itself.

    There are none if the plan is no set.
    """
    if not isinstance(plan, Aggregate) or plan.measures:
        return ()
    keys = [key.expression for key in plan.keys]
    whole = keys == [column.expression() for column in plan.input.schema]
    return tuple(_parts(plan.input)) if whole else ()


def _parts(plan: Node) -> Iterator[Node]:
    if _reads(plan) and isinstance(plan, UnionAll):
        for part in plan.parts:
            yield from _parts(part)
    else:  # what is a set within a set may as well be a bag
        yield from (_united(plan) if _reads(plan) else ()) or (plan,)


def _reads(plan: Node) -> bool:
    return any(read_binding(node) is not None for node in plan.walk())


class _SetBuilder:
    """Makes the parts of a loop those of a set."""

    def __init__(self, loop: Loop, columns: SetColumns) -> None:
        """Find names for the set, and for its relation."""
        every = (node for plan in loop.plans.values() for node in plan.walk())
        relations = {column.relation for node in every for column in node.schema}
        name = "_".join(loop.plans)
        self.columns = columns
        self.name = first_free(name, lambda n: not columns.are_shared or n not in loop.plans)
        self.relation = first_free(name, lambda n: n not in relations)

    def recursion(self, anchors: Sequence[Project], steps: Sequence[Project]) -> Recursion:
        """The set of its parts."""
        names = (*self.columns.names, ROUND)
        anchor, step = (
            parts[0] if len(parts) == 1 else UnionAll(tuple(parts), relation, names)
            for parts, relation in (
                (anchors, beside(self.relation, "top")),
                (steps, beside(self.relation, "steps")),
            )
        )
        return Recursion(anchor, step, self.relation, names, self.name)

    def step(self, binding: str, part: Node) -> Project | None:
        """A step over the working table; None if it reads more than one row of the loop."""
        read = [node for node in part.walk() if read_binding(node) is not None]
        if not isinstance(part, Project) or len(read) != 1:
            return None
        (scan,) = read
        assert isinstance(scan, Scan)
        working = self._working(scan)
        came = ColumnRef(scan.relation, ROUND).expression()
        later = exp.Add(this=came, expression=exp.Literal.number(1))
        over = bottom_up(part, lambda node: working if node is scan else node)
        return self.shown(binding, over, later)

    def _working(self, scan: Scan) -> Node:
        """The rows of the binding that a scan reads, under its own names, of the working table."""
        binding = scan.source.partition(".")[2]
        others = [f"__ivm_other_{place}__" for place in range(len(self.columns.names))]
        own = self.columns.own[binding]
        names = self.columns.laid_out(binding, own, lambda kind: others.pop(), lambda text: BINDING)
        working = WorkingTable(scan.relation, self.relation, (*names, ROUND))
        if not self.columns.are_shared:
            return working
        return Filter(working, _is_of(scan.relation, binding))

    def shown(self, binding: str, part: Node, number: exp.Expr) -> Project:
        """A part under the names of the set, with the round of its rows."""
        if not isinstance(part, Project):
            items = tuple(Named(c.name, c.expression()) for c in part.schema)
            part = Project(part, beside(part.schema[0].relation, "rows"), items)
        values = self.columns.laid_out(
            binding,
            [item.expression for item in part.items],
            lambda kind: exp.cast(exp.null(), str(kind)),
            exp.Literal.string,
        )
        named = zip((*self.columns.names, ROUND), (*values, exp.cast(number, "int")), strict=True)
        return replace(part, items=tuple(Named(name, value) for name, value in named))


def _is_of(relation: str, binding: str) -> exp.Expr:
    """Whether a row of a set is of a binding."""
    of = ColumnRef(relation, BINDING).expression()
    return exp.EQ(this=of, expression=exp.Literal.string(binding))


def in_place_of_loop(query: Query, found: RecursiveSet) -> Query:
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
    scans = (node for node in found.recursion.walk() if isinstance(node, Scan))
    read = dict.fromkeys(scan.source for scan in scans)
    return replace(query, plan=made[0], sources=tuple(read))


_Called = Mapping[ColumnRef, exp.Expr]
"""What columns are called in another plan."""


def _over_set(node: Node, found: RecursiveSet) -> tuple[Node, _Called] | None:
    """A plan over the set, and what columns of its input are called there."""
    if isinstance(node, Scan) and node.source.partition(".")[0] == NOW:
        return _of_binding(node, found)
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


def _of_binding(read: Scan, found: RecursiveSet) -> tuple[Node, _Called]:
    """The rows of a binding, of those of the set."""
    binding, columns = read.source.partition(".")[2], found.columns
    places = zip(columns.own[binding], columns.places[binding], strict=True)
    shown = found.recursion.schema
    called = {ColumnRef(read.relation, name): shown[place].expression() for name, place in places}
    if not columns.are_shared:
        return found.recursion, called
    return Filter(found.recursion, _is_of(found.recursion.relation, binding)), called


def _ordered(key: exp.Ordered, called: _Called) -> exp.Ordered:
    copied = key.copy()
    copied.set("this", substitute(key.this, called))
    return copied
