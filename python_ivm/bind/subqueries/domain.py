"""The domain of a correlated subquery: the distinct values that the outer query's rows give it.

It may hold values that no row has any more. So it is taken of the rows before other subqueries were
joined to them: else each subquery would read those before it once more, and double the plan.

Source: Neumann and Kemper, "Unnesting Arbitrary Queries", BTW 2015, §3 (there D); a magic set.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from python_ivm.algebra import nodes
from python_ivm.algebra.columns import ColumnRef, Named, columns_of, substitute
from python_ivm.algebra.nodes import Node

Values = tuple[exp.Expr, ...]


@dataclass
class Domains:
    """The domains of a model's subqueries.

    Attributes:
        rows: The rows of which a domain was taken.
    """

    rows: list[Node] = field(default_factory=list)

    def of(self, node: Node, relation: str, items: Sequence[Named]) -> nodes.Bindings:
        """The domain of rows, taken of those that they were made of where these have it, too.

        Args:
            node: The rows.
            relation: The domain's name.
            items: Its columns, over the rows.
        """
        own = node, tuple(item.expression for item in items)
        found: tuple[Node, Values] | None = None
        step: tuple[Node, Values] | None = own
        while step is not None:
            if any(step[0] is before for before in self.rows):
                found = step
            step = _before(*step)
        if found is None:
            self.rows.append(node)
        rows, values = found or own
        keys = (Named(item.name, value) for item, value in zip(items, values, strict=True))
        return nodes.Bindings(rows, relation, tuple(keys), ())


def _before(node: Node, values: Values) -> tuple[Node, Values] | None:
    """The rows that an operator keeps, drops, groups or adds columns to, and the values over them.

    None where it has values that they have not: of a join's other side, or NULL for a missing row.
    """
    used = {column for value in values for column in columns_of(value)}
    match node:
        case nodes.Filter() | nodes.ClockFilter():
            return node.input, values
        case nodes.SemiJoin() | nodes.LeftJoin():
            return (node.left, values) if used <= set(node.left.schema) else None
        case nodes.Join():
            part = next((p for p in node.parts if used <= set(p.schema)), None)
            return None if part is None else (part, values)
        case nodes.Mark() | nodes.Project() | nodes.Aggregate():
            items = node.keys if isinstance(node, nodes.Aggregate) else node.items
            below = {ColumnRef(node.relation, item.name): item.expression for item in items}
            if not used <= below.keys():
                return None
            return node.inputs[0], tuple(substitute(value, below) for value in values)
    return None
