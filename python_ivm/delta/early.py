"""Bounds in front of conditions that are dear to compute, as Spark does not move them there.

Spark moves a bound on a key down to the tables that have it, but computes a table's conditions in
the order in which they come there: what the query itself asks first, and only of what is left
whether it has one of ten keys. A regular expression for each of fifteen million comments so takes
three times as long as to read them. Where a plan has such a condition, the bounds that hold for
its rows are written before it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from python_ivm.algebra.columns import ColumnRef, Named, columns_of, substitute
from python_ivm.algebra.conditions import conjuncts
from python_ivm.algebra.nodes import (
    Aggregate,
    Filter,
    Join,
    LeftJoin,
    Node,
    Project,
    SemiJoin,
    UnionAll,
    Window,
)
from python_ivm.algebra.plans import over
from python_ivm.delta.bounds import BOUNDS
from python_ivm.delta.origins import Kinds, Origins, equalities, family

_CHEAP = (exp.Connector, exp.Cast, exp.Case, exp.If, exp.Coalesce)
"""Functions that take no longer than a comparison."""

Conditions = Sequence[exp.Expr]
"""Bounds, each of one column: what does not meet them is left out further up."""


def early(plan: Node, kinds: Kinds) -> Node:
    """Write bounds before conditions that are dear to compute.

    Args:
        plan: A plan with bounds (``delta/bounds.py``, ``delta/ahead.py``).
        kinds: The types of the sources' columns.

    Returns:
        The plan with its bounds in another order, and some more of them: it has the same rows.
        Nothing is handed down to what several operators read.
    """
    return _Early(plan, kinds).visit(plan, ())


class _Early:
    def __init__(self, plan: Node, kinds: Kinds) -> None:
        self._origins = Origins(kinds)
        self._readers = Counter(id(child) for node in plan.walk() for child in node.inputs)
        self._done: dict[int, Node] = {}

    def visit(self, node: Node, bounds: Conditions) -> Node:
        """A node of whose rows those are needed that meet bounds."""
        if id(node) not in self._done:
            mine = () if self._readers[id(node)] > 1 else bounds
            self._done[id(node)] = self._visited(node, mine)
        return self._done[id(node)]

    def _visited(self, node: Node, bounds: Conditions) -> Node:
        match node:
            case Filter(input=Join() as join) if self._readers[id(join)] == 1:
                conditions = (*join.conditions, *conjuncts(node.condition))
                if any(map(_is_dear, join.conditions)):
                    return self._visited(replace(join, conditions=conditions), bounds)
                return self._filtered(node, bounds)
            case Filter():
                return self._filtered(node, bounds)
            case Project():
                return self._above(node, _under(bounds, node, node.items))
            case Aggregate():
                return self._above(node, _under(bounds, node, node.keys))
            case Window():
                items = [item for item in node.items if item.expression in node.partition]
                return self._above(node, _under(bounds, node, items))
            case UnionAll():
                parts = []
                for part in node.parts:
                    own = {a: b.expression() for a, b in zip(node.schema, part.schema, strict=True)}
                    parts.append(self.visit(part, _handed(bounds, own)))
                return over(node, tuple(parts))
            case Join():
                every = self._with_equal(node, [*bounds, *_bounds(node.conditions)])
                parts = [self.visit(part, _of(every, part)) for part in node.parts]
                return _joined(node, tuple(parts), every)
            case LeftJoin() | SemiJoin():
                return self._sided(node, bounds)
        return self._above(node, ())

    def _above(self, node: Node, bounds: Conditions) -> Node:
        return over(node, tuple(self.visit(child, bounds) for child in node.inputs))

    def _filtered(self, node: Filter, bounds: Conditions) -> Node:
        conditions = conjuncts(node.condition)
        below = self.visit(node.input, [*bounds, *_bounds(conditions)])
        ordered = _ordered(conditions, bounds)
        if ordered == conditions:
            return over(node, (below,))
        return Filter(below, exp.and_(*ordered))

    def _sided(self, node: LeftJoin | SemiJoin, bounds: Conditions) -> Node:
        """A join whose left rows alone are what is left out further up."""
        mine = _of(bounds, node.left)
        own = _bounds(node.conditions)
        pairs = self._with_equal(node, [*mine, *own])
        only_matches = isinstance(node, SemiJoin) and not node.anti
        left = self.visit(node.left, _of(pairs, node.left) if only_matches else mine)
        matching = _of(pairs, node.right)
        return _joined(node, (left, self.visit(node.right, matching)), matching)

    def _with_equal(self, node: Join | LeftJoin | SemiJoin, bounds: Conditions) -> list[exp.Expr]:
        """The bounds, and those of the columns that a join takes for the same."""
        found = list(bounds)
        pairs = [(a, b) for a, b, _ in equalities(node) if self._are_alike(node, a, b)]
        for bound in found:
            for one, other in pairs:
                same = _handed([bound], {one: other.expression()})
                found += [equal for equal in same if equal not in found]
        return found

    def _are_alike(self, node: Node, one: ColumnRef, other: ColumnRef) -> bool:
        """Whether columns are compared as they are: a text that is no number may fail."""
        kinds: set[str | None] = set()
        for column in (one, other):
            below = self._origins.input_with(node, column)
            own = self._origins.kinds(below, column) if below is not None else None
            kinds |= own or {None}
        families = set(map(family, kinds))
        return len(families) == 1 and None not in families


def _joined(node: Join | LeftJoin | SemiJoin, inputs: tuple[Node, ...], bounds: Conditions) -> Node:
    """A join over its new inputs, with those bounds that its dear conditions' tables have."""
    ordered = _ordered(node.conditions, bounds)
    if ordered != list(node.conditions):
        node = replace(node, conditions=tuple(ordered))
    return over(node, inputs)


def _ordered(conditions: Conditions, bounds: Conditions) -> list[exp.Expr]:
    """Conditions, with bounds of the same tables before the first dear one.

    The query's own ones keep their order: one may guard the next.
    """
    dear = [condition for condition in conditions if _is_dear(condition)]
    if not dear:
        return list(conditions)
    tables = {column.relation for condition in dear for column in columns_of(condition)}
    near = [bound for bound in bounds if {c.relation for c in columns_of(bound)} <= tables]
    own = _bounds(conditions)
    others = [condition for condition in conditions if condition not in own]
    first = others.index(dear[0])
    return [*others[:first], *dict.fromkeys((*own, *near)), *others[first:]]


def _is_dear(condition: exp.Expr) -> bool:
    """Whether to compute a condition takes longer than to compare a number."""
    return any(
        isinstance(part, (exp.Func, exp.Like, exp.ILike)) and not isinstance(part, _CHEAP)
        for part in condition.walk()
    )


def _bounds(conditions: Iterable[exp.Expr]) -> list[exp.Expr]:
    """The conditions that are bounds."""
    return [c for c in conditions if any(BOUNDS in part.meta for part in c.walk())]


def _of(bounds: Conditions, node: Node) -> list[exp.Expr]:
    """The bounds of a node's columns."""
    schema = set(node.schema)
    return [bound for bound in bounds if columns_of(bound) <= schema]


def _under(bounds: Conditions, node: Node, items: Iterable[Named]) -> list[exp.Expr]:
    """The bounds of a relation's columns as those of the columns that they show."""
    relation = node.schema[0].relation
    shown = {
        ColumnRef(relation, item.name): item.expression
        for item in items
        if isinstance(item.expression, exp.Column)
    }
    return _handed(bounds, shown)


def _handed(bounds: Conditions, columns: Mapping[ColumnRef, exp.Expr]) -> list[exp.Expr]:
    """Bounds as those of other columns; a bound of none of them is left out.

    They are not marked as bounds by a change's own keys: groups or other tables are in between.
    """
    found = [substitute(bound, columns) for bound in bounds if columns_of(bound) <= set(columns)]
    for bound in found:
        for part in bound.walk():
            if BOUNDS in part.meta:
                part.meta[BOUNDS] = False
    return found
