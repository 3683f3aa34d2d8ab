"""What the rules give and get: terms of a delta, and which sources changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from python_ivm.algebra.nodes import At, ColumnRef, Named, Node, Scan, substitute


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
    """

    plan: Node
    count: exp.Expr
    inserts_only: bool
    title: str
    columns: Mapping[ColumnRef, exp.Expr] = field(default_factory=dict)

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
    """

    inserts_only: Mapping[str, bool]

    def touches(self, node: Node) -> bool:
        """Whether a source below a node changed."""
        return any(isinstance(n, Scan) and n.source in self.inserts_only for n in node.walk())

    def pre(self, node: Node) -> Node:
        """The node over the sources as they were at the last refresh."""
        return self._at(node, At.PRE)

    def post(self, node: Node) -> Node:
        """The node over the sources as they are now."""
        return self._at(node, At.POST)

    def _at(self, node: Node, at: At) -> Node:
        if isinstance(node, Scan):
            changed = node.source in self.inserts_only
            return replace(node, at=at if changed else At.POST)
        return node.with_inputs(tuple(self._at(child, at) for child in node.inputs))
