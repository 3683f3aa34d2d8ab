"""What the columns of a plan are: expressions over other columns, or columns of tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sqlglot import exp

from python_ivm.algebra import nodes
from python_ivm.algebra.columns import ColumnRef
from python_ivm.algebra.nodes import Node

Definition = exp.Expr | str
"""An expression, or the Spark type of a table's column."""


def definitions(
    plan: Node, kinds: Callable[[str, str], str | None]
) -> Callable[[exp.Column], Definition | None]:
    """Tells what a column is; None where it is not known.

    Args:
        plan: The plan.
        kinds: The Spark type of a source's column; None where it is not known.
    """
    found: dict[ColumnRef, Definition] = {}
    anchors = {n.relation: n.anchor for n in plan.walk() if isinstance(n, nodes.Recursion)}
    for node in plan.walk():
        for column, definition in _defined(node, kinds, anchors):
            found.setdefault(column, definition)
    return lambda column: found.get(ColumnRef(column.table, column.name))


def _defined(
    node: Node, kinds: Callable[[str, str], str | None], anchors: dict[str, Node]
) -> Iterator[tuple[ColumnRef, Definition]]:
    match node:
        case nodes.Scan():
            types = ((name, kinds(node.source, name)) for name in node.columns)
            yield from ((ColumnRef(node.relation, n), kind) for n, kind in types if kind)
        case nodes.Project() | nodes.Aggregate() | nodes.Window():
            yield from zip(node.schema, node.expressions, strict=False)
        case nodes.Mark():
            yield from ((ColumnRef(node.relation, i.name), i.expression) for i in node.items)
            yield ColumnRef(node.relation, node.mark), exp.true()
        case nodes.UnionAll():
            yield from _by_position(node, node.parts[0])
        case nodes.Recursion():
            yield from _by_position(node, node.anchor)
        case nodes.WorkingTable() if node.recursion in anchors:
            yield from _by_position(node, anchors[node.recursion])
        case nodes.Values():
            yield from zip(node.schema, node.rows[0], strict=True)


def _by_position(node: Node, like: Node) -> Iterator[tuple[ColumnRef, Definition]]:
    columns = zip(node.schema, like.schema, strict=True)
    return ((column, other.expression()) for column, other in columns)
