"""ORDER BY and LIMIT below the top of a model: the rows that the limit keeps, new minus old.

The whole input is sorted anew. At the top of a model the public view sorts, over a state that has
all rows.
"""

from __future__ import annotations

from sqlglot import exp

from python_ivm.algebra.columns import ColumnRef, Named, beside, under
from python_ivm.algebra.nodes import COUNT, Project, Sort
from python_ivm.algebra.term import Changes, Inner, Term


def delta(node: Sort, changes: Changes, inner: Inner) -> list[Term]:
    """The input's delta where there is no LIMIT, for then the order has no effect."""
    if node.limit is None and node.offset is None:
        return inner(node.input, changes)
    first = next((c.relation for c in node.schema), "rows")  # only their number may be asked for
    relation = beside(first, "top")
    items, columns = under(relation, node.schema)
    terms = []
    for part, sign, title in (
        (changes.post(node), 1, "now"),
        (changes.pre(node), -1, "before"),
    ):
        plan = Project(part, relation, (*items, Named(COUNT, exp.Literal.number(sign))))
        terms.append(
            Term(
                plan,
                ColumnRef(relation, COUNT).expression(),
                False,
                f"the rows that LIMIT keeps {title}",
                columns,
            )
        )
    return terms
