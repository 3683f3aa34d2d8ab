"""WITH RECURSIVE: a recursion over signed rows, of what a change begins and ends.

A recursion R is the least solution of R = A ⊎ T(R), with the anchor A and the steps T. If each
step reads the last round once, T is linear in it: T(P ⊎ Q) = T(P) ⊎ T(Q). Then

    ΔR = S ⊎ T_post(ΔR),   S = ΔA ⊎ ΔT(R_pre)

where ΔT is the delta that the step's tables make over the rows that there were. This is a recursion
too, of few rows. The rows of S are not consolidated: each goes its own way, so that a change which
closes a cycle has no end, and never a wrong one (docs/decisions/0064).

Sources: semi-naive evaluation (Bancilhon and Ramakrishnan, SIGMOD 1986), of signed multisets
(Green, Ives and Tannen, "Reconcilable Differences", ICDT 2009), which delete as they insert.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from python_ivm.algebra.columns import ColumnRef, Named, beside
from python_ivm.algebra.linear_recursion import last_rounds, steps_of
from python_ivm.algebra.nodes import (
    Node,
    Project,
    Recursion,
    UnionAll,
    WorkingTable,
)
from python_ivm.algebra.term import Changes, Inner, Term
from python_ivm.algebra.walks import bottom_up, over

COPIES = "__ivm_copies__"
"""The column of a recursion over signed rows that holds how often a row comes, or goes."""


def delta(node: Recursion, changes: Changes, inner: Inner) -> list[Term]:
    """The rows that come and go; where the step is not linear all rows, now and before."""
    working = last_rounds(node)
    if not working:
        return _recomputed(node, changes)
    changed = beside(node.relation, "changed")
    counted = {one: replace(one, recursion=changed, names=(*one.names, COPIES)) for one in working}
    step, copies = _counting_steps(node, counted)
    of_anchor, of_step = inner(node.anchor, changes), inner(step, changes)
    seeds = [_seed(node, node.anchor, term, term.count) for term in of_anchor]
    seeds += [_seed(node, step, term, _times(term, copies)) for term in of_step]
    before = {counted[one]: _rows_before(node, one, changes) for one in working}
    rows = replace(
        node,
        anchor=bottom_up(
            _united(seeds), lambda n: before.get(n, n) if isinstance(n, WorkingTable) else n
        ),
        step=changes.post(step),
        relation=changed,
        names=(*node.names, COPIES),
        loop=changed if node.is_set else "",
    )
    names = {c: ColumnRef(changed, c.name).expression() for c in node.schema}
    only_grows = all(term.inserts_only for term in (*of_anchor, *of_step))
    count = ColumnRef(changed, COPIES).expression()
    return [Term(rows, count, only_grows, f"Δ{node.relation}", names)]


def _rows_before(node: Recursion, working: WorkingTable, changes: Changes) -> Project:
    """The recursion's rows as they were, each once, under the names of the step."""
    names = zip(working.names, node.schema, strict=True)
    items = [Named(name, column.expression()) for name, column in names]
    one = Named(COPIES, _bigint(exp.Literal.number(1)))
    return Project(changes.pre(node), working.relation, (*items, one))


def _counting_steps(
    node: Recursion, counted: Mapping[WorkingTable, WorkingTable]
) -> tuple[Node, ColumnRef]:
    """The steps that carry the rows' copies along, and the column that holds them."""
    steps = zip(steps_of(node), counted.items(), strict=True)
    made = [_counting(step, *working) for step, working in steps]
    if len(made) == 1:
        return made[0]
    assert isinstance(node.step, UnionAll)
    union = replace(
        node.step, parts=tuple(part for part, _ in made), names=(*node.step.names, COPIES)
    )
    return union, ColumnRef(union.relation, COPIES)


def _counting(part: Node, working: WorkingTable, counted: WorkingTable) -> tuple[Node, ColumnRef]:
    """A part of a step that carries the rows' copies along, and the column that holds them."""
    if part is working:
        return counted, ColumnRef(counted.relation, COPIES)
    inputs = list(part.inputs)
    place = next(n for n, child in enumerate(inputs) if any(p is working for p in child.walk()))
    inputs[place], copies = _counting(inputs[place], working, counted)
    made = over(part, tuple(inputs))
    if not isinstance(made, Project):
        return made, copies
    more = replace(made, items=(*made.items, Named(COPIES, copies.expression())))
    return more, ColumnRef(made.relation, COPIES)


def _seed(node: Recursion, part: Node, term: Term, copies: exp.Expr) -> Project:
    """A term of the anchor's or the step's delta, with the columns of the recursion's rows."""
    columns = zip(node.names, part.schema, strict=False)  # the step's copies are its last
    items = [Named(name, term.over(column.expression())) for name, column in columns]
    return Project(
        term.plan,
        beside(node.relation, "rows"),
        (*items, Named(COPIES, _bigint(copies))),
        term.title,
    )


def _united(seeds: list[Project]) -> Node:
    if len(seeds) == 1:
        return seeds[0]
    return UnionAll(tuple(seeds), seeds[0].relation, tuple(item.name for item in seeds[0].items))


def _times(term: Term, copies: ColumnRef) -> exp.Expr:
    carried = term.over(copies.expression())
    return exp.Mul(this=exp.paren(term.count.copy()), expression=carried)


def _bigint(value: exp.Expr) -> exp.Expr:
    """Spark asks for the same types of anchor and step."""
    return exp.cast(value.copy(), "bigint")


def _recomputed(node: Recursion, changes: Changes) -> list[Term]:
    """Two terms: the rows now, and those before with the opposite sign."""
    now, before = changes.post(node), changes.pre(node)
    return [
        Term(now, exp.Literal.number(1), False, f"{node.relation} now, recomputed"),
        Term(before, exp.Literal.number(-1), False, f"{node.relation} before, recomputed"),
    ]
