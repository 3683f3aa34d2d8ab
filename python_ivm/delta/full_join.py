"""Full outer join: changed rows with their matches, and rows whose only match came or went.

Δ(A⟗B) = ΔA⟕B_post + dangling rows of B_post that A makes or takes + ΔB⟕A_pre + the same of A_pre by
B: first B changes beside the old A, then A beside the new B. A row without a match is dangling
(Nagata et al., §3.3). It is found by the join's condition, with the multiplicity of its copies.

To find them, only that side is read which decides it: where the join's condition compares columns
of one side of an outer join below, that side alone. A row of orders is there whatever its customer
is; so if only customers changed, no line finds or loses its order.

A small delta is named twice: for its own rows, and to find the other side's dangling rows. What
stands on many joins would double at every level. There each row of the other side is asked whether
it has a match, now and before, without naming the delta.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from python_ivm.algebra.affected import affected, negative
from python_ivm.algebra.columns import ColumnRef, beside, columns_of, substitute, under
from python_ivm.algebra.conditions import null_rejected
from python_ivm.algebra.nodes import Filter, FullJoin, LeftJoin, Mark, Node
from python_ivm.algebra.term import Changes, Inner, Term
from python_ivm.algebra.walks import size

_SMALL = 60
"""Up to how many operators a delta may have to be named twice."""


def delta(node: FullJoin, changes: Changes, inner: Inner) -> list[Term]:
    """The terms for a change of the left side, then those for one of the right side."""
    terms: list[Term] = []
    for side, other, partner in (
        (node.left, node.right, changes.post),
        (node.right, node.left, changes.pre),
    ):
        changed = inner(side, changes)
        if not changed:
            continue
        terms += [_with_matches(node, term, partner(other)) for term in changed]
        asked = _deciding(side, node.conditions)
        if not changes.touches(asked):
            continue
        if size(*(term.plan for term in inner(asked, changes))) <= _SMALL:
            terms.append(_dangling(node, partner(other), side, asked, changes))
        else:
            terms.append(_asked(node, partner(other), side, asked, changes))
    return terms


def _deciding(side: Node, conditions: Sequence[exp.Expr]) -> Node:
    """The part of a side whose rows tell whether any of the side's rows meets conditions.

    All rows of an outer join's kept sides are in it, beside those with NULLs, which meet nothing.
    """
    needed = columns_of(exp.and_(*conditions)).intersection(side.schema)
    rejected = set().union(*map(null_rejected, conditions))
    match side:
        case LeftJoin(left=left) if needed and needed.issubset(left.schema):
            return _deciding(left, conditions)
        case FullJoin(left=left, right=right):
            for part in (left, right):
                if needed.issubset(part.schema) and not rejected.isdisjoint(part.schema):
                    return _deciding(part, conditions)
    return side


def _with_matches(node: FullJoin, term: Term, partner: Node) -> Term:
    """Changed rows with their matches, or with NULLs."""
    conditions = tuple(term.over(c) for c in node.conditions)
    plan = LeftJoin(term.plan, partner, conditions, node.label)
    return replace(term, plan=plan, title=f"{term.title} ⟗ {node.label}")


def _dangling(node: FullJoin, partner: Node, side: Node, asked: Node, changes: Changes) -> Term:
    """The partner's rows that match a changed row, and whose only match came or went."""
    label = _label(node, asked)
    found = affected(label, partner, asked, node.conditions, changes)
    plan = LeftJoin(found.matched, changes.post(side), (exp.false(),))
    title = f"dangling rows of {node.label}, now or before"
    return Term(plan, negative(found.tag), False, title, secondary=True)


def _asked(node: FullJoin, partner: Node, side: Node, asked: Node, changes: Changes) -> Term:
    """The partner's rows that have a match now and had none before, or the other way round."""
    label = _label(node, asked)
    post, pre = changes.post(asked), changes.pre(asked)
    now, columns, matches = _marked(beside(label, "now"), partner, post, node, {})
    before, columns, matched = _marked(beside(label, "before"), now, pre, node, columns)
    matches = substitute(matches, columns)
    flipped = Filter(before, exp.NEQ(this=matches, expression=matched))
    count = exp.Case().when(matches.copy(), exp.Literal.number(-1)).else_(exp.Literal.number(1))
    plan = LeftJoin(flipped, changes.post(side), (exp.false(),))
    title = f"dangling rows of {node.label}, now or before"
    shown = {c: columns[c] for c in partner.schema}
    return Term(plan, count, False, title, shown, secondary=True)


def _label(node: FullJoin, side: Node) -> str:
    """A name for what is made of one side, of which perhaps no column is read."""
    default = "left" if side is node.left else "right"
    return f"{node.label}_{side.schema[0].relation if side.schema else default}"


def _marked(
    relation: str,
    rows: Node,
    among: Node,
    node: FullJoin,
    columns: dict[ColumnRef, exp.Expr],
) -> tuple[Mark, dict[ColumnRef, exp.Expr], exp.Expr]:
    """Rows with one more column: whether they have a match among others.

    Args:
        relation: The result's name.
        rows: The rows to mark.
        among: Those to look among.
        node: Has the condition.
        columns: What the condition's columns are in the rows, where they are not the same.

    Returns:
        The marked rows, what all columns became, and the mark.
    """
    items, step = under(relation, rows.schema, taken=(relation,))
    conditions = tuple(substitute(c, columns) for c in node.conditions)
    moved = {c: substitute(e, step) for c, e in columns.items()}
    marked = Mark(rows, among, conditions, relation, items, relation)
    return marked, {**step, **moved}, ColumnRef(relation, relation).expression()
