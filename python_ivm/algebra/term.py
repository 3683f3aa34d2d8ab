"""What the rules give and get: terms of a delta, and which sources changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from python_ivm.algebra import nodes
from python_ivm.algebra.columns import ColumnRef, Named, beside, substitute
from python_ivm.algebra.nodes import At, Node
from python_ivm.algebra.walks import OncePerNode, over
from python_ivm.sources.clock import CLOCK, before


@dataclass(frozen=True)
class Term:
    """One summand of a delta: a relation of the operator's columns with a signed count.

    A delta is the bag union of its terms.

    Attributes:
        plan: Has at least the columns of the operator whose delta it is.
        count: The signed multiplicity, an expression over the plan's columns.
        inserts_only: Whether the count is known to be positive everywhere.
        title: What the term is, for the comment above its SQL.
        columns: What the operator's columns are in this plan, where they are not the same: a
            column of a dangling row's other side is NULL, for instance.
        secondary: Whether it is of an outer join's secondary delta: dangling rows that come where
            their last match went, and go where one came.
    """

    plan: Node
    count: exp.Expr
    inserts_only: bool
    title: str
    columns: Mapping[ColumnRef, exp.Expr] = field(default_factory=dict)
    secondary: bool = False

    def over(self, expression: exp.Expr) -> exp.Expr:
        """An expression over the operator's columns as one over this plan's."""
        return substitute(expression, self.columns) if self.columns else expression

    def named(self, items: Iterable[Named]) -> tuple[Named, ...]:
        """Named expressions over the operator's columns as ones over this plan's."""
        return tuple(Named(item.name, self.over(item.expression)) for item in items)


@dataclass(frozen=True)
class Changes:
    """Which sources changed since the last refresh.

    Attributes:
        inserts_only: For each changed source, whether rows were only added. A source that is not
            named did not change.
        once: What is known of nodes under these changes.
    """

    inserts_only: Mapping[str, bool]
    once: OncePerNode = field(default_factory=OncePerNode, compare=False, repr=False)

    def touches(self, node: Node) -> bool:
        """Whether a source below a node changed."""
        return self.once("touches", node, lambda: self._touches(node))

    def pre(self, node: Node) -> Node:
        """The node over the sources as they were at the last refresh."""
        return self._at(node, At.PRE)

    def post(self, node: Node) -> Node:
        """The node over the sources as they are now."""
        return self._at(node, At.POST)

    def _touches(self, node: Node) -> bool:
        if isinstance(node, nodes.Bindings):
            return False
        if isinstance(node, nodes.Scan):
            return node.source in self.inserts_only
        if isinstance(node, nodes.ClockFilter) and CLOCK in self.inserts_only:
            return True
        return any(self.touches(child) for child in node.inputs)

    def _at(self, node: Node, at: At) -> Node:
        """The node itself over scans of one state; equal parts of a plan stay one node."""
        return self.once(at, node, lambda: self._moved(node, at))

    def _moved(self, node: Node, at: At) -> Node:
        if isinstance(node, nodes.Bindings):
            return self.once("bindings", node, lambda: self._bindings(node))
        if isinstance(node, nodes.Scan):
            wanted = at if node.source in self.inserts_only else At.POST
            return node if node.at is wanted else replace(node, at=wanted)
        moved = over(node, tuple(self._at(child, at) for child in node.inputs))
        if isinstance(moved, nodes.ClockFilter) and CLOCK in self.inserts_only and at is At.PRE:
            return replace(moved, condition=before(moved.condition))
        return moved

    def _bindings(self, node: nodes.Bindings) -> nodes.Bindings:
        """The bindings of both states."""
        post, pre = self.post(node.input), self.pre(node.input)
        if post is pre or self._only_grows(node.input):
            return replace(node, input=post)
        relation = beside(node.relation, "rows")
        names = tuple(key.name for key in node.keys)
        rows = nodes.UnionAll(
            tuple(nodes.Project(part, relation, node.keys) for part in (post, pre)), relation, names
        )
        keys = tuple(Named(name, ColumnRef(relation, name).expression()) for name in names)
        return replace(node, input=rows, keys=keys)

    def _only_grows(self, node: Node) -> bool:
        """Whether all that there was is there still, but for how often it is."""
        match node:
            case nodes.Scan():
                return self.inserts_only.get(node.source, True)
            case nodes.ClockFilter() if CLOCK in self.inserts_only:
                return False
            case nodes.SemiJoin() if node.anti:
                return False
            case nodes.Aggregate() if node.measures:
                return False
        return isinstance(node, _MONOTONE) and all(map(self._only_grows, node.inputs))


Inner = Callable[[Node, Changes], list[Term]]
"""Gives the delta of an operator below."""

_MONOTONE = (
    nodes.Aggregate,
    nodes.ClockFilter,
    nodes.Filter,
    nodes.Generate,
    nodes.Join,
    nodes.Project,
    nodes.SemiJoin,
    nodes.TableFunction,
    nodes.UnionAll,
    nodes.Values,
)
"""What finds no row less where its inputs have more."""
