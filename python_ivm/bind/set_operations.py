"""INTERSECT and EXCEPT, with ALL or without: counting aggregates over rows tagged by their side.

Source: Griffin and Libkin, "Incremental Maintenance of Views with Duplicates", SIGMOD 1995.
"""

from __future__ import annotations

from sqlglot import exp

from python_ivm.algebra.columns import ColumnRef, Named, beside
from python_ivm.algebra.nodes import Aggregate, Filter, Node, Project, Repeat, UnionAll


def set_operation(
    tree: exp.SetOperation, parts: list[Node], names: tuple[str, ...], relation: str
) -> Node:
    """INTERSECT or EXCEPT of two relations; NULLs are equal, as in DISTINCT.

    Args:
        tree: The operation.
        parts: Its two sides, of equal width.
        names: The result's column names.
        relation: A name that no other relation of the plan has.

    Returns:
        Rows that begin with the result's columns.
    """
    counts = ("in_left", "in_right")
    keys = [f"key_{n}" for n in range(1, len(names) + 1)]
    tagged = tuple(
        Project(
            part,
            beside(relation, "rows"),
            (
                *(Named(key, c.expression()) for key, c in zip(keys, part.schema, strict=True)),
                Named(counts[0], exp.Literal.number(int(side == 0))),
                Named(counts[1], exp.Literal.number(int(side == 1))),
            ),
        )
        for side, part in enumerate(parts)
    )
    rows = UnionAll(tagged, beside(relation, "rows"), (*keys, *counts))

    def column(name: str) -> exp.Expr:
        return ColumnRef(rows.relation, name).expression()

    groups = Aggregate(
        rows,
        relation,
        tuple(Named(key, column(key)) for key in keys),
        tuple(Named(count, exp.Sum(this=column(count))) for count in counts),
    )
    left, right = (ColumnRef(relation, count).expression() for count in counts)
    intersect = isinstance(tree, exp.Intersect)
    if tree.args.get("distinct"):
        zero = exp.Literal.number(0)
        other = exp.GT if intersect else exp.EQ
        condition = exp.and_(
            exp.GT(this=left, expression=zero), other(this=right, expression=zero.copy())
        )
        return Filter(groups, condition)
    if intersect:
        return Repeat(groups, exp.func("least", left, right))
    return Repeat(groups, exp.Sub(this=left, expression=right))
