"""Project: linear; the count is carried along as one more column."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from python_ivm.algebra.columns import ColumnRef, Named
from python_ivm.algebra.nodes import COUNT, Node, Project
from python_ivm.delta.term import Changes, Term


def delta(
    node: Project, changes: Changes, inner: Callable[[Node, Changes], list[Term]]
) -> list[Term]:
    """Each term of the input's delta, projected."""
    return [project_term(term, node) for term in inner(node.input, changes)]


def project_term(term: Term, node: Project) -> Term:
    """A term under a projection."""
    items = (*term.named(node.items), Named(COUNT, term.count))
    return replace(
        term,
        plan=Project(term.plan, node.relation, items, term.title),
        count=ColumnRef(node.relation, COUNT).expression(),
        columns={},
    )
