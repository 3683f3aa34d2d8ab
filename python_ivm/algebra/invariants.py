"""What must be true of every plan."""

from __future__ import annotations

from python_ivm.algebra.columns import columns_of
from python_ivm.algebra.nodes import (
    Aggregate,
    ByPosition,
    FullJoin,
    Generate,
    Join,
    LeftJoin,
    Node,
    Project,
)
from python_ivm.errors import Internal


def check(node: Node) -> Node:
    """Check a plan's invariants: names resolve, relations are unique, unions fit.

    Returns:
        The plan itself.

    Raises:
        Internal: If an invariant is broken.
    """
    for current in node.walk():
        visible = {column for child in current.inputs for column in child.schema}
        for expression in current.expressions:
            missing = columns_of(expression) - visible
            if missing:
                names = ", ".join(sorted(f"{c.relation}.{c.name}" for c in missing))
                raise Internal(
                    f"{type(current).__name__} names columns that nothing below has: {names}"
                )
        if isinstance(current, (Join, LeftJoin, FullJoin, Generate, Project, Aggregate)):
            schema = current.schema
            if len(set(schema)) != len(schema):
                raise Internal(f"{type(current).__name__} has two columns of one name: {schema}")
        if isinstance(current, ByPosition):
            for part in current.inputs:
                if len(part.schema) != len(current.names):
                    raise Internal(f"{type(current).__name__} has inputs of different widths")
    return node
