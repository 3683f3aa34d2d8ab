"""UNION ALL: linear; the delta is the union of the inputs' deltas."""

from __future__ import annotations

from python_ivm.algebra.columns import Named
from python_ivm.algebra.nodes import Node, Project, UnionAll
from python_ivm.algebra.term import Changes, Inner, Term
from python_ivm.delta.project import project_term


def delta(node: UnionAll, changes: Changes, inner: Inner) -> list[Term]:
    """Every input's terms under the union's names."""
    return [
        project_term(term, renamed(part, node))
        for part in node.parts
        for term in inner(part, changes)
    ]


def renamed(part: Node, union: UnionAll) -> Project:
    """An input of a union under the union's names."""
    items = tuple(
        Named(name, column.expression())
        for name, column in zip(union.names, part.schema, strict=True)
    )
    return Project(part, union.relation, items)
