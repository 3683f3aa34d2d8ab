"""Predicate ordering: bounds come before predicates that are expensive to compute.

Spark moves a bound on a key down to the table that has it. But there it computes the table's
predicates in the order in which they arrive: first the query's own, and the bound only for the rows
that are left. A regular expression over fifteen million comments takes three times as long as
reading them. So the bounds that hold for the rows of an expensive predicate are written before it.

Source: Hellerstein and Stonebraker, "Predicate Migration: Optimizing Queries with Expensive
Predicates", SIGMOD 1993.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

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
from python_ivm.algebra.walks import over, readers
from python_ivm.optimize.analysis.bounds import BOUNDS, is_bound
from python_ivm.optimize.analysis.provenance import Kinds, Provenance, equalities, family
from python_ivm.optimize.context import Context
from python_ivm.state.merge import Merge

_CHEAP = (exp.Connector, exp.Cast, exp.Case, exp.If, exp.Coalesce)
"""Functions that take no longer than a comparison."""


@dataclass(frozen=True, eq=False)
class _Known:
    """A bound of a column: rows that do not meet it are left out further up.

    Attributes:
        column: The column.
        condition: The bound, of this column or of one that it was handed down from.
        own: Its column.
    """

    column: ColumnRef
    condition: exp.Expr
    own: ColumnRef

    def written(self) -> exp.Expr:
        """The condition on the column.

        Where it was handed down it is no longer marked as one by a change's own keys: groups or
        other tables are in between.
        """
        if self.column == self.own:
            return self.condition
        found = substitute(self.condition, {self.own: self.column.expression()})
        for part in found.walk():
            if BOUNDS in part.meta:
                part.meta[BOUNDS] = replace(part.meta[BOUNDS], joined=False)
        return found


Conditions = Sequence[exp.Expr]
Bounds = Sequence[_Known]


def predicate_ordering(merge: Merge, context: Context) -> Merge:
    """Write bounds before predicates that are expensive to compute.

    Args:
        merge: A MERGE with bounds.
        context: Knows the types of the sources' columns.

    Returns:
        It with its bounds in another order, and some more of them: it has the same rows. Nothing is
        handed down to what several operators read.
    """
    plan = merge.rows
    if not any(is_expensive(c) for node in plan.walk() for c in _conditions(node)):
        return merge
    return replace(merge, rows=_Ordering(plan, context.kinds).visit(plan, ()))


class _Ordering:
    def __init__(self, plan: Node, kinds: Kinds) -> None:
        self._provenance = Provenance(kinds)
        self._readers = readers(plan)
        self._done: dict[int, Node] = {}

    def visit(self, node: Node, bounds: Bounds) -> Node:
        """A node of whose rows those are needed that meet bounds."""
        if id(node) not in self._done:
            mine = () if self._readers[id(node)] > 1 else bounds
            self._done[id(node)] = self._visited(node, mine)
        return self._done[id(node)]

    def _visited(self, node: Node, bounds: Bounds) -> Node:
        match node:
            case Filter(input=Join() as join) if self._readers[id(join)] == 1:
                if any(map(is_expensive, join.conditions)):
                    conditions = (*join.conditions, *_conditions(node))
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
                    own = dict(zip(node.schema, part.schema, strict=True))
                    parts.append(self.visit(part, _handed(bounds, own)))
                return over(node, tuple(parts))
            case Join():
                every = self._with_equal(node, [*bounds, *_bounds(node.conditions)])
                parts = [self.visit(part, _of(every, part)) for part in node.parts]
                return _joined(node, tuple(parts), every)
            case LeftJoin() | SemiJoin():
                return self._sided(node, bounds)
        return self._above(node, ())

    def _above(self, node: Node, bounds: Bounds) -> Node:
        return over(node, tuple(self.visit(child, bounds) for child in node.inputs))

    def _filtered(self, node: Filter, bounds: Bounds) -> Node:
        conditions = _conditions(node)
        below = self.visit(node.input, [*bounds, *_bounds(conditions)])
        ordered = _ordered(conditions, bounds)
        if ordered == conditions:
            return over(node, (below,))
        return Filter(below, exp.and_(*ordered))

    def _sided(self, node: LeftJoin | SemiJoin, bounds: Bounds) -> Node:
        """A join whose left rows alone are what is left out further up."""
        mine = _of(bounds, node.left)
        pairs = self._with_equal(node, [*mine, *_bounds(node.conditions)])
        only_matches = isinstance(node, SemiJoin) and not node.anti
        left = self.visit(node.left, _of(pairs, node.left) if only_matches else mine)
        matching = _of(pairs, node.right)
        return _joined(node, (left, self.visit(node.right, matching)), matching)

    def _with_equal(self, node: Join | LeftJoin | SemiJoin, bounds: Bounds) -> list[_Known]:
        """The bounds, and those of the columns that a join takes for the same."""
        found = list(bounds)
        pairs = [(a, b) for a, b, _ in equalities(node) if self._are_alike(node, a, b)]
        known = {(bound.column, id(bound.condition)) for bound in found}
        for bound in found:
            for equal in _handed([bound], *({one: other} for one, other in pairs)):
                if (equal.column, id(equal.condition)) not in known:
                    known.add((equal.column, id(equal.condition)))
                    found.append(equal)
        return found

    def _are_alike(self, node: Node, one: ColumnRef, other: ColumnRef) -> bool:
        """Whether columns are compared as they are: a text that is no number may fail."""
        kinds: set[str | None] = set()
        for column in (one, other):
            below = self._provenance.input_with(node, column)
            own = self._provenance.kinds(below, column) if below is not None else None
            kinds |= own or {None}
        families = set(map(family, kinds))
        return len(families) == 1 and None not in families


def _conditions(node: Node) -> list[exp.Expr]:
    """The conditions that a filter or a join asks."""
    match node:
        case Filter():
            return conjuncts(node.condition)
        case Join() | LeftJoin() | SemiJoin():
            return list(node.conditions)
    return []


def _joined(node: Join | LeftJoin | SemiJoin, inputs: tuple[Node, ...], bounds: Bounds) -> Node:
    """A join over its new inputs, with those bounds that its expensive predicates' tables have."""
    ordered = _ordered(node.conditions, bounds)
    if ordered != list(node.conditions):
        node = replace(node, conditions=tuple(ordered))
    return over(node, inputs)


def _ordered(conditions: Conditions, bounds: Bounds) -> list[exp.Expr]:
    """Conditions, with bounds of the same tables before the first expensive one.

    The query's own ones keep their order: one may guard the next.
    """
    expensive = [condition for condition in conditions if is_expensive(condition)]
    if not expensive:
        return list(conditions)
    tables = {column.relation for condition in expensive for column in columns_of(condition)}
    near = [bound.written() for bound in bounds if bound.column.relation in tables]
    own = [condition for condition in conditions if is_bound(condition)]
    others = [condition for condition in conditions if not is_bound(condition)]
    first = others.index(expensive[0])
    return [*others[:first], *dict.fromkeys((*own, *near)), *others[first:]]


def is_expensive(condition: exp.Expr) -> bool:
    """Whether to compute a condition takes longer than to compare a number."""
    return not is_bound(condition) and any(
        isinstance(part, (exp.Func, exp.Like, exp.ILike)) and not isinstance(part, _CHEAP)
        for part in condition.walk()
    )


def _bounds(conditions: Iterable[exp.Expr]) -> list[_Known]:
    """The conditions that are bounds."""
    found = []
    for condition in filter(is_bound, conditions):
        (column,) = columns_of(condition)
        found.append(_Known(column, condition, column))
    return found


def _of(bounds: Bounds, node: Node) -> list[_Known]:
    """The bounds of a node's columns."""
    schema = set(node.schema)
    return [bound for bound in bounds if bound.column in schema]


def _under(bounds: Bounds, node: Node, items: Iterable[Named]) -> list[_Known]:
    """The bounds of a relation's columns as those of the columns that they show."""
    relation = node.schema[0].relation
    shown = {}
    for item in items:
        if isinstance(item.expression, exp.Column):
            column = ColumnRef(item.expression.table, item.expression.name)
            shown[ColumnRef(relation, item.name)] = column
    return _handed(bounds, shown)


def _handed(bounds: Bounds, *columns: Mapping[ColumnRef, ColumnRef]) -> list[_Known]:
    """Bounds as those of other columns; a bound of none of them is left out."""
    return [
        replace(bound, column=names[bound.column])
        for bound in bounds
        for names in columns
        if bound.column in names
    ]
