"""The SELECT list, DISTINCT over it, and ORDER BY with LIMIT."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from python_ivm.algebra.columns import ColumnRef, Named, first_free
from python_ivm.algebra.nodes import Node, Project, Sort
from python_ivm.bind.clauses import Clauses, Order
from python_ivm.bind.scope import SelectScope
from python_ivm.errors import InvalidModel, NotYetImplemented
from python_ivm.parse.trees import position


def projected(
    select: SelectScope,
    node: Node,
    clauses: Clauses,
    order: Order | None,
) -> Node:
    """The rows that a SELECT shows.

    Args:
        select: The SELECT.
        node: The rows below its projection.
        clauses: The SELECT list and the keys of ORDER BY, over these rows.
        order: Its LIMIT and OFFSET; None if it has neither, nor ORDER BY.

    Raises:
        InvalidModel: If a key is no column of a DISTINCT's result.
    """
    names = list(clauses.names)
    for place, name in enumerate(names):
        if name in names[:place]:
            names[place] = first_free(f"{name}_{place}", lambda free: free not in names)
    items = tuple(Named(n, e) for n, e in zip(names, clauses.selects, strict=True))
    if select.tree.args.get("distinct") is None:
        if order is not None:
            node = Sort(node, clauses.order, order.limit, order.offset)
        return Project(node, select.binder.name(select.wanted), items)
    if select.tree.args["distinct"].args.get("on"):
        raise NotYetImplemented("DISTINCT ON", operator="DISTINCT ON")
    rows = Project(node, select.binder.name(f"{select.wanted}_rows"), items)
    distinct = select.binder.distinct(rows, select.wanted)
    top: Node = distinct
    if order is not None:
        by_expression = {item.expression.unnest(): item.name for item in items}
        over = tuple(_over_distinct(k, by_expression, distinct.relation) for k in clauses.order)
        top = Sort(distinct, over, order.limit, order.offset)
    columns = tuple(Named(c.name, c.expression()) for c in distinct.schema)
    return Project(top, select.binder.name(select.wanted), columns)


def _over_distinct(key: exp.Ordered, outputs: Mapping[exp.Expr, str], relation: str) -> exp.Ordered:
    def replacement(node: exp.Expr) -> exp.Expr:
        name = outputs.get(node)
        return node if name is None else ColumnRef(relation, name).expression()

    copied = key.copy()
    copied.set("this", copied.this.transform(replacement))
    for column in copied.find_all(exp.Column):
        if column.table != relation:
            raise InvalidModel(
                f"ORDER BY names {column.name}, which SELECT DISTINCT does not show",
                **position(column),
            )
    return copied
