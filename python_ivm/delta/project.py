"""Project: linear; the count is carried along as one more column."""

from __future__ import annotations

from dataclasses import replace

from python_ivm.algebra.columns import ColumnRef, Named
from python_ivm.algebra.nodes import COUNT, Project
from python_ivm.algebra.term import Changes, Inner, Term


def delta(node: Project, changes: Changes, inner: Inner) -> list[Term]:
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
