"""Left outer join: matched rows and dangling rows.

Primary delta: ΔA⟕B_post and A_pre⋈ΔB, in which the outer join is weakened where the table whose
NULLs it would add is replaced by its delta. Secondary delta: the dangling rows of A_pre that
appear or vanish because their match in B did, found by the join's condition and with the
multiplicity of their copies in A. Source: Larson and Zhou, "Efficient Maintenance of Materialized
Outer-Join Views", ICDE 2007; without keys, for bags: Nagata et al., §3.3.

Where ΔB is itself more than joins of the sources' changes, its two uses would double the executed
plan at every level; then the affected rows of A are joined anew, now and before.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from python_ivm.algebra.affected import Affected, affected, negative
from python_ivm.algebra.nodes import Filter, Generate, Join, LeftJoin, Project, Scan, UnionAll
from python_ivm.algebra.term import Changes, Inner, Term
from python_ivm.delta.join import connected_order

_PLAIN = (Scan, Filter, Project, Join, Generate, UnionAll)


def delta(node: LeftJoin, changes: Changes, inner: Inner) -> list[Term]:
    """The terms of the primary and the secondary delta."""
    terms = [
        replace(
            term,
            plan=with_matches(node, term, changes),
            title=f"{term.title} ⟕ {node.label}",
        )
        for term in inner(node.left, changes)
    ]
    if not changes.touches(node.right):
        return terms
    right_terms = inner(node.right, changes)
    plain = all(isinstance(n, _PLAIN) for term in right_terms for n in term.plan.walk())
    found = affected(
        node.label,
        changes.pre(node.left),
        node.right,
        node.conditions,
        changes,
        whole_rows=not plain,
    )
    if not plain:
        return [*terms, _joined_anew(node, found)]
    return [*terms, *_matched(node, changes, right_terms), _dangling(node, changes, found)]


def with_matches(node: LeftJoin, term: Term, changes: Changes) -> LeftJoin:
    """The rows of a left side's term with their matches in the post-state, or with NULLs."""
    conditions = tuple(term.over(c) for c in node.conditions)
    return LeftJoin(term.plan, changes.post(node.right), conditions, node.label)


def _matched(node: LeftJoin, changes: Changes, right_terms: list[Term]) -> list[Term]:
    """A_pre⋈ΔB: pairs that appear or vanish."""
    terms = []
    for term in right_terms:
        conditions = tuple(term.over(c) for c in node.conditions)
        left = changes.pre(node.left)
        parts = left.parts if isinstance(left, Join) else (left,)
        own = left.conditions if isinstance(left, Join) else ()
        every = (*conditions, *own)
        others = connected_order(term.plan, list(parts), every, len(parts))
        plan = Join((term.plan, *others), every)
        terms.append(replace(term, plan=plan, title=f"{term.title} ⋈ left rows before"))
    return terms


def _dangling(node: LeftJoin, changes: Changes, found: Affected) -> Term:
    """Dangling rows: they vanish where a match appears, and the other way round.

    A join that never matches gives the other side's NULLs their types.
    """
    never = (exp.false(),)
    plan = LeftJoin(found.matched, changes.post(node.right), never)
    title = f"dangling rows whose match in {node.label} appeared or vanished"
    return Term(plan, negative(found.tag), False, title, secondary=True)


def _joined_anew(node: LeftJoin, found: Affected) -> Term:
    """The affected rows' join, now and before."""
    plan = LeftJoin(found.rows, found.right, found.conditions)
    title = f"rows that {node.label} affects, joined now and before"
    return Term(plan, found.tag, False, title, found.columns)
