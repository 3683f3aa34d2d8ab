"""Semijoin and antijoin: Δ(A⋉B) = ΔA⋉B_post + the rows of A_pre that found or lost their match.

Source: Nagata et al., §4.2, with the rows' matches looked up before and after
instead of counted in the view, so that the rule holds below any operator. The antijoin is what the
semijoin leaves over, so that its rows flip the other way.
"""

from __future__ import annotations

from dataclasses import replace

from python_ivm.algebra.affected import affected, negative
from python_ivm.algebra.nodes import SemiJoin
from python_ivm.algebra.term import Changes, Inner, Term


def delta(node: SemiJoin, changes: Changes, inner: Inner) -> list[Term]:
    """The left side's terms that match (or do not), and the rows whose match flipped."""
    terms = [
        replace(
            term,
            plan=filtered(node, term, changes),
            title=f"{term.title} {'▷' if node.anti else '⋉'} {node.label}",
        )
        for term in inner(node.left, changes)
    ]
    if changes.touches(node.right):
        found = affected(node.label, changes.pre(node.left), node.right, node.conditions, changes)
        count = negative(found.tag) if node.anti else found.tag
        title = f"rows whose match in {node.label} appeared or vanished"
        terms.append(Term(found.matched, count, False, title))
    return terms


def filtered(node: SemiJoin, term: Term, changes: Changes) -> SemiJoin:
    """The rows of a left side's term that match (or do not) in the post-state."""
    conditions = tuple(term.over(c) for c in node.conditions)
    return replace(node, left=term.plan, right=changes.post(node.right), conditions=conditions)
