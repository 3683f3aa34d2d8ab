"""Aggregate and DISTINCT below another operator: the affected groups, new minus old.

Δagg(X) = agg(X_post ⋉ K) - agg(X_pre ⋉ K), where K are the groups that ΔX names. It holds for every
aggregate function. The rows of both states are tagged and restricted in one semi join, so that ΔX
is named once and the executed plan grows with the nesting depth squared at most, where naming it
twice would double it at every level (docs/decisions/0004).

The topmost aggregate of a model is not handled here but by its stored counters (state/).
"""

from __future__ import annotations

from sqlglot import exp

from python_ivm.algebra.affected import affected_keys
from python_ivm.algebra.columns import ColumnRef, Named, beside, columns_of, substitute, under
from python_ivm.algebra.nodes import COUNT, Aggregate, Node, Project, Reduction, UnionAll, Window
from python_ivm.algebra.term import Changes, Inner, Term


def delta(node: Aggregate, changes: Changes, inner: Inner) -> list[Term]:
    """The affected groups: one term, or two where there are no keys."""
    if node.is_global:
        return _global(node, changes)
    if isinstance(node.input, Window) and node.input.for_groups:
        (term,) = inner(node.input, changes)
        return [_by_tag(node, term.plan, term.count)]
    rows, columns = _tagged_rows(node, changes)
    changed = affected_keys(beside(node.relation, "keys"), node.input, node.keys)
    restricted = Reduction(rows, changed, _same_group(node))
    tagged = Aggregate(
        restricted,
        node.relation,
        tuple(Named(k.name, ColumnRef(rows.relation, k.name).expression()) for k in node.keys),
        tuple(Named(m.name, substitute(m.expression, columns)) for m in node.measures),
    )
    return [_by_tag(tagged, restricted, ColumnRef(rows.relation, COUNT).expression())]


def _by_tag(node: Aggregate, rows: Node, tag: exp.Expr) -> Term:
    """The groups of tagged rows, the tag being one more key and the groups' count."""
    plan = Aggregate(rows, node.relation, (*node.keys, Named(COUNT, tag)), node.measures)
    count = ColumnRef(node.relation, COUNT).expression()
    return Term(plan, count, False, f"groups of {node.relation} that changed, new minus old")


def _same_group(node: Aggregate) -> tuple[exp.Expr, ...]:
    return tuple(
        exp.NullSafeEQ(
            this=ColumnRef(beside(node.relation, "rows"), key.name).expression(),
            expression=ColumnRef(beside(node.relation, "keys"), key.name).expression(),
        )
        for key in node.keys
    )


def _tagged_rows(node: Aggregate, changes: Changes) -> tuple[UnionAll, dict[ColumnRef, exp.Expr]]:
    """The input's rows now (+1) and before (-1): keys, and the columns that the measures read."""
    relation = beside(node.relation, "rows")
    used = {c for m in node.measures for c in columns_of(m.expression)}
    arguments, columns = under(
        relation,
        sorted(used, key=lambda c: (c.relation, c.name)),
        taken=[key.name for key in node.keys],
    )
    items = (*node.keys, *arguments)

    def tagged(part: Node, sign: int) -> Project:
        return Project(part, relation, (*items, Named(COUNT, _sign(sign))))

    parts = (tagged(changes.post(node.input), 1), tagged(changes.pre(node.input), -1))
    names = tuple(item.name for item in (*items, Named(COUNT, _sign(1))))
    return UnionAll(parts, relation, names), columns


def _sign(value: int) -> exp.Expr:
    return exp.Literal.number(value)


def _global(node: Aggregate, changes: Changes) -> list[Term]:
    """One row now, one row before: without keys the whole node is recomputed."""
    terms = []
    for part, sign, title in (
        (changes.post(node.input), 1, "now"),
        (changes.pre(node.input), -1, "before"),
    ):
        inside = Aggregate(part, beside(node.relation, "row"), (), node.measures)
        items = tuple(Named(c.name, c.expression()) for c in inside.schema)
        plan = Project(inside, node.relation, (*items, Named(COUNT, _sign(sign))))
        count = ColumnRef(node.relation, COUNT).expression()
        terms.append(Term(plan, count, False, f"{node.relation} {title}, recomputed"))
    return terms
