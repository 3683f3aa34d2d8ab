"""What a plan reads of its tables' states, and which keys bound it.

A condition that a column is one of some literals is moved by Spark as far as it goes: down through
groups by that column, partitions and unions, and, as what is known of a join's rows, along
equalities, to the tables that have it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from python_ivm.algebra import nodes
from python_ivm.algebra.columns import ColumnRef, Named
from python_ivm.algebra.conditions import conjuncts
from python_ivm.algebra.nodes import At, Node
from python_ivm.algebra.walks import OncePerNode
from python_ivm.optimize.analysis.bounds import BOUNDS, Bound, either
from python_ivm.optimize.analysis.provenance import equalities


@dataclass(frozen=True)
class Read:
    """A read of a table's state.

    Attributes:
        source: The table.
        at: The state.
        keys: Those of its columns that are bounded.
    """

    source: str
    at: At
    keys: Mapping[str, Bound] = field(default_factory=dict)


Bounds = Mapping[ColumnRef, Bound]
"""The columns that are bounded."""


def reads(plan: Node) -> list[Read]:
    """The tables' states that a plan reads; those of an operator that is used twice but once.

    It counts twice if other bounds hold of it there.

    Args:
        plan: A plan with bounds (``optimize/analysis/bounds.py``).
    """
    return list(_Reads().below(plan, {}))


def changes_in(plan: Node) -> set[str]:
    """The sources whose change a plan reads."""
    return {n.source for n in plan.walk() if isinstance(n, nodes.Scan) and n.at is At.DELTA}


def bounds_of_pairs(node: nodes.Join | nodes.LeftJoin | nodes.SemiJoin) -> Bounds:
    """The columns of a join's pairs of rows that literals bound, by its conditions or below it."""
    return _Reads().of_pairs(node, {})


def matches_nothing(node: nodes.Join | nodes.LeftJoin | nodes.SemiJoin) -> bool:
    """Whether a join is not to match at all, or compares with a column that is always NULL."""
    return _Reads().matches_nothing(node)


class _Reads:
    def __init__(self) -> None:
        self._seen: set[tuple[int, frozenset[tuple[ColumnRef, Bound]]]] = set()
        self._once = OncePerNode()

    def below(self, node: Node, bounds: Bounds) -> Iterator[Read]:
        """The reads of a node whose columns are bounded."""
        known = (id(node), frozenset(bounds.items()))
        if known in self._seen or self._is_empty(node):
            return
        self._seen.add(known)
        if isinstance(node, nodes.Scan):
            if node.at is not At.DELTA:
                yield Read(node.source, node.at, {c.name: bound for c, bound in bounds.items()})
            return
        for child, below in self._handed_down(node, bounds):
            yield from self.below(child, {c: b for c, b in below.items() if c in child.schema})

    def _handed_down(self, node: Node, bounds: Bounds) -> Iterator[tuple[Node, Bounds]]:
        """An operator's inputs, each with the bounds of its rows, and perhaps of others."""
        match node:
            case nodes.Filter():
                yield node.input, _both(_literal(conjuncts(node.condition)), bounds)
            case nodes.Project():
                yield node.input, _under(bounds, node, node.items)
            case nodes.Window():
                items = [item for item in node.items if item.expression in node.partition]
                yield node.input, _apart(_under(bounds, node, items))
            case nodes.Bindings() | nodes.Recursion():
                yield from ((child, {}) for child in node.inputs)
            case nodes.Aggregate():
                yield node.input, _apart(_under(bounds, node, node.keys))
            case nodes.Mark():
                yield node.left, _under(bounds, node, node.items)
                yield node.right, {}
            case nodes.UnionAll():
                for part in node.parts:
                    places = zip(node.schema, part.schema, strict=True)
                    yield part, _apart({own: bounds[c] for c, own in places if c in bounds})
            case nodes.Join():
                every = self.of_pairs(node, bounds)
                yield from ((part, every) for part in node.parts)
            case nodes.LeftJoin() | nodes.SemiJoin():
                every = self.of_pairs(node, bounds)
                yield node.left, bounds if isinstance(node, nodes.LeftJoin) or node.anti else every
                if not self.matches_nothing(node):  # or it gives NULLs without being read
                    yield node.right, every
            case (
                nodes.ClockFilter()
                | nodes.FullJoin()
                | nodes.Generate()
                | nodes.Repeat()
                | nodes.Sort(limit=None, offset=None)
            ):
                yield from ((child, bounds) for child in node.inputs)
            case _:
                yield from ((child, {}) for child in node.inputs)

    def of_pairs(
        self, node: nodes.Join | nodes.LeftJoin | nodes.SemiJoin, bounds: Bounds
    ) -> Bounds:
        """What is known of a join's pairs of rows, where bounds hold of its own."""
        found = _both(_literal(node.conditions), bounds)
        for child in node.inputs:
            found = _both(found, self._known(child))
        return _with_equal(node, found)

    def matches_nothing(self, node: nodes.Join | nodes.LeftJoin | nodes.SemiJoin) -> bool:
        """Whether a join is not to match at all, or compares with a column that is always NULL."""
        nulls = {column for child in node.inputs for column in self._nulls(child)}
        strict = (a for a, _, or_null in equalities(node) if not or_null)
        return exp.false() in node.conditions or not nulls.isdisjoint(strict)

    def _is_empty(self, node: Node) -> bool:
        """Whether a condition is FALSE, so that there is no row: Spark does not read the tables."""
        return self._once("empty", node, lambda: self._is_empty_now(node))

    def _is_empty_now(self, node: Node) -> bool:
        match node:
            case nodes.Filter():
                return exp.false() in conjuncts(node.condition) or self._is_empty(node.input)
            case nodes.Join():
                return exp.false() in node.conditions or any(map(self._is_empty, node.parts))
            case nodes.SemiJoin(anti=False):
                return exp.false() in node.conditions or any(map(self._is_empty, node.inputs))
            case nodes.LeftJoin() | nodes.SemiJoin():
                return self._is_empty(node.left)
            case nodes.UnionAll():
                return all(map(self._is_empty, node.parts))
            case nodes.Aggregate():
                return bool(node.keys) and self._is_empty(node.input)
            case nodes.Project() | nodes.Window():
                return self._is_empty(node.input)
        return False

    def _nulls(self, node: Node) -> frozenset[ColumnRef]:
        """Columns that are NULL in all rows: those of a right side that matches nothing."""
        return self._once("nulls", node, lambda: self._nulls_of(node))

    def _nulls_of(self, node: Node) -> frozenset[ColumnRef]:
        match node:
            case nodes.LeftJoin() if self.matches_nothing(node):
                return self._nulls(node.left).union(node.right.schema)
            case nodes.LeftJoin() | nodes.SemiJoin():
                return self._nulls(node.left)
            case nodes.Filter():
                return self._nulls(node.input)
            case nodes.Join():
                return frozenset().union(*map(self._nulls, node.parts))
        return frozenset()

    def _known(self, node: Node) -> Bounds:
        """The columns of a node that conditions below it bound."""
        return self._once("known", node, lambda: dict(self._within(node)))

    def _within(self, node: Node) -> Bounds:
        """The same, computed."""
        match node:
            case nodes.Filter():
                return _both(_literal(conjuncts(node.condition)), self._known(node.input))
            case nodes.Project():
                return _over(self._known(node.input), node, node.items)
            case nodes.Window():
                return _apart(_over(self._known(node.input), node, node.items))
            case nodes.Aggregate():
                return _apart(_over(self._known(node.input), node, node.keys))
            case nodes.UnionAll():
                every = [self._known(part) for part in node.parts]
                places = zip(node.schema, *(part.schema for part in node.parts), strict=True)
                return {
                    own: either([known[c] for c, known in zip(columns, every, strict=True)])
                    for own, *columns in places
                    if all(c in known for c, known in zip(columns, every, strict=True))
                }
            case nodes.Join() | nodes.SemiJoin(anti=False):
                pairs = self.of_pairs(node, {})
                return {c: bound for c, bound in pairs.items() if c in node.schema}
            case nodes.LeftJoin() | nodes.SemiJoin():
                return self._known(node.left)
            case nodes.ClockFilter() | nodes.Generate() | nodes.Repeat() | nodes.Sort():
                return self._known(node.input)
        return {}


def _under(bounds: Bounds, node: Node, items: Iterable[Named]) -> Bounds:
    """The bounds of a relation's columns as those of what they show."""
    shown = {ColumnRef(node.schema[0].relation, item.name): item.expression for item in items}
    found = {_bare(shown[c]): bound for c, bound in bounds.items() if c in shown}
    return {column: bound for column, bound in found.items() if column is not None}


def _over(bounds: Bounds, node: Node, items: Iterable[Named]) -> Bounds:
    """The bounds of columns as those of a relation that shows them."""
    shown = {ColumnRef(node.schema[0].relation, i.name): _bare(i.expression) for i in items}
    return {own: bounds[c] for own, c in shown.items() if c is not None and c in bounds}


def _bare(expression: exp.Expr) -> ColumnRef | None:
    """The column that an expression is, but for a wider type."""
    if isinstance(expression, exp.Cast) and expression.to.is_type("bigint"):
        expression = expression.this
    if isinstance(expression, exp.Column):
        return ColumnRef(expression.table, expression.name)
    return None


def _apart(bounds: Bounds) -> Bounds:
    """The same below a group or a partition."""
    return {column: replace(bound, joined=False) for column, bound in bounds.items()}


def _both(one: Bounds, other: Bounds) -> Bounds:
    """Bounds that both hold: of a column with two, that which leaves fewer values."""
    twice = {column: _tighter(one[column], other[column]) for column in one if column in other}
    return {**other, **one, **twice}


def _tighter(one: Bound, other: Bound) -> Bound:
    tighter = min(one, other, key=lambda bound: (not bound.is_few, bound.values))
    return replace(tighter, joined=one.joined or other.joined)


def _with_equal(node: Node, bounds: Bounds) -> Bounds:
    """The bounds, and those of the columns that a join takes for the same."""
    found = bounds
    pairs = [(one, other) for one, other, _ in equalities(node)]
    while True:
        before = found
        for one, other in pairs:
            if one in found:
                found = _both(found, {other: found[one]})
        if found == before:
            return found


def _literal(conditions: Iterable[exp.Expr]) -> Bounds:
    """The columns of which conditions state a bound, with these."""
    found: Bounds = {}
    for condition in conditions:
        for part in condition.find_all(exp.EQ, exp.In, exp.Between):
            column, bound = part.this.unnest(), part.meta.get(BOUNDS)
            if bound is not None and isinstance(column, exp.Column):
                found = _both(found, {ColumnRef(column.table, column.name): bound})
    return found
