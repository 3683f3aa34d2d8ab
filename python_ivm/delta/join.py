"""Inner join of n inputs: Δ(A⋈B) = ΔA⋈B_pre + A_post⋈ΔB.

Source: Griffin and Libkin, "Incremental Maintenance of Views with Duplicates", SIGMOD 1995; the
form with one pre- and one post-state a term is that of Nagata et al., §2.3. A
self join is a join of two inputs that change at the same time.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from python_ivm.algebra.columns import ColumnRef, columns_of
from python_ivm.algebra.nodes import COUNT, Join, Node
from python_ivm.algebra.term import Changes, Inner, Term


def delta(node: Join, changes: Changes, inner: Inner) -> list[Term]:
    """Each changed input's terms, joined to the earlier inputs now and the later ones before."""
    terms: list[Term] = []
    for index, part in enumerate(node.parts):
        earlier = [changes.post(p) for p in node.parts[:index]]
        later = [changes.pre(p) for p in node.parts[index + 1 :]]
        for term in inner(part, changes):
            conditions = tuple(term.over(c) for c in node.conditions)
            others = connected_order(term.plan, [*earlier, *later], conditions, index)
            plan = Join((term.plan, *others), conditions)
            title = " ⋈ ".join([term.title, *(_title(o, node, changes, index) for o in others)])
            terms.append(replace(term, plan=plan, title=title))
    return terms


def connected_order(
    first: Node, others: list[Node], conditions: tuple[exp.Expr, ...], place: int
) -> list[Node]:
    """The order in which to join: from the delta outwards, along the conditions.

    Spark joins in the order of the text unless it has statistics of every column; a delta that
    comes first keeps every intermediate result as small as the change. Of several inputs that are
    linked the one that stands nearest in the query to what is placed already comes next: what a
    user writes side by side is mostly joined by a key, and what is far apart may be linked by
    something that both happen to have.

    Args:
        first: The delta.
        others: The other inputs, in the query's order.
        conditions: Those of the join.
        place: How many of the others stand before the delta in the query.
    """
    equalities = [isinstance(c, (exp.EQ, exp.NullSafeEQ)) for c in conditions]
    used = list(zip((columns_of(c) for c in conditions), equalities, strict=True))
    columns = set(first.schema)
    places = {place}
    remaining = [(i + (i >= place), other, set(other.schema)) for i, other in enumerate(others)]
    ordered: list[Node] = []

    def rank(input_: tuple[int, Node, set[ColumnRef]]) -> tuple[tuple[int, int], int]:
        position, _, own = input_
        return _links(own, columns, used), -min(abs(position - other) for other in places)

    while remaining:
        chosen = max(remaining, key=rank)
        remaining.remove(chosen)
        position, node, own = chosen
        ordered.append(node)
        places.add(position)
        columns |= own
    return ordered


def _links(
    own: set[ColumnRef], placed: set[ColumnRef], used: list[tuple[set[ColumnRef], bool]]
) -> tuple[int, int]:
    """Whether an equality, and whether a condition at all, links a part to what is placed."""
    link = 0
    for columns, equal in used:
        if columns & own and columns & placed and columns <= own | placed:
            link = 1
            if equal:
                return 1, 1
    return 0, link


def _title(part: Node, join: Join, changes: Changes, index: int) -> str:
    """The name of an unchanged side of a term, such as ``customers before``."""
    names = {c.relation for c in part.schema if c.name != COUNT}
    name = ", ".join(sorted(names)) or "rows"
    position = next(
        (i for i, p in enumerate(join.parts) if {c.relation for c in p.schema} & names), index
    )
    if not changes.touches(join.parts[position]):
        return name
    return f"{name} {'now' if position < index else 'before'}"
