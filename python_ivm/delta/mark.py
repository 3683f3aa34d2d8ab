"""Mark (EXISTS or IN as a value): ΔA marked by B_post, and the rows whose mark may have flipped."""

from __future__ import annotations

from dataclasses import replace

from python_ivm.algebra.affected import affected
from python_ivm.algebra.columns import ColumnRef, Named
from python_ivm.algebra.nodes import COUNT, Mark
from python_ivm.algebra.term import Changes, Inner, Term


def delta(node: Mark, changes: Changes, inner: Inner) -> list[Term]:
    """The left side's terms with their mark, and affected rows with their new and old marks."""
    count = ColumnRef(node.relation, COUNT).expression()
    terms = []
    for term in inner(node.left, changes):
        plan = replace(
            node,
            left=term.plan,
            right=changes.post(node.right),
            conditions=tuple(term.over(c) for c in node.conditions),
            items=(*term.named(node.items), Named(COUNT, term.count)),
        )
        terms.append(replace(term, plan=plan, count=count, columns={}))
    if changes.touches(node.right):
        found = affected(
            node.relation, changes.pre(node.left), node.right, node.conditions, changes
        )
        plan = replace(
            node,
            left=found.rows,
            right=found.right,
            conditions=found.conditions,
            items=(*node.items, Named(COUNT, found.tag)),
        )
        terms.append(Term(plan, count, False, f"rows whose {node.mark} may have flipped"))
    return terms
