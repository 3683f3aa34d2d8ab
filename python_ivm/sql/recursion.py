"""WITH RECURSIVE: a CTE that names itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlglot import exp

from python_ivm.algebra.columns import Named
from python_ivm.algebra.nodes import (
    Aggregate,
    Bindings,
    ClockFilter,
    Filter,
    FullJoin,
    Generate,
    Join,
    LeftJoin,
    Mark,
    Node,
    Project,
    Recursion,
    SemiJoin,
    Sort,
    UnionAll,
    Window,
    WorkingTable,
)
from python_ivm.errors import InvalidModel, NotYetImplemented
from python_ivm.sql.ctes import cte_of
from python_ivm.sql.parse import position

if TYPE_CHECKING:
    from python_ivm.sql.bind import Binder, Cte

_LINEAR = (Project, Filter, ClockFilter, Join, Generate)
"""What may read the working table in any input."""
_ASKING = (LeftJoin, SemiJoin, Mark)
"""What may read it on the left only."""
_NAMES: dict[type[Node], str] = {
    Aggregate: "an aggregate or DISTINCT",
    Bindings: "a subquery that is correlated by other than equalities",
    FullJoin: "a full join",
    LeftJoin: "the optional side of an outer join",
    Sort: "ORDER BY or LIMIT",
    UnionAll: "a set operation",
    Window: "a window function",
}
"""What may not read it, as users call it."""


def is_recursive(tree: exp.Expr) -> bool:
    """Whether the query of a CTE names that CTE."""
    own = tree.parent
    with_ = own.parent if isinstance(own, exp.CTE) else None
    if not isinstance(with_, exp.With) or not with_.recursive:
        return False
    return any(cte_of(table) is own for table in tree.find_all(exp.Table))


def recursion(binder: Binder, tree: exp.Expr, ctes: Mapping[str, Cte]) -> Recursion:
    """Bind a recursive CTE.

    Args:
        binder: The model's.
        tree: The query of the CTE.
        ctes: The CTEs before it.

    Raises:
        InvalidModel: If anchor and step have different numbers of columns.
        NotYetImplemented: If it is not the UNION ALL of an anchor and a step, or the step reads
            the rows of the last round by other operators than joins, filters and projections.
    """
    own = tree.parent
    assert isinstance(own, exp.CTE)
    cut = any(tree.args.get(k) for k in ("order", "limit", "offset", "with_"))
    if not isinstance(tree, exp.Union) or tree.args.get("distinct") or cut:
        raise _no_rule("A recursive CTE that is not the UNION ALL of two queries", tree)
    if any(cte_of(table) is own for table in tree.left.find_all(exp.Table)):
        raise _no_rule("A recursive CTE whose first part names it", tree)
    relation = binder.name(own.alias)
    anchor = binder.query(tree.left, f"{relation}_anchor", ctes)
    names = tuple(own.alias_column_names) or tuple(column.name for column in anchor.schema)
    working = WorkingTable(relation, relation, names)
    step = binder.query(tree.right, f"{relation}_step", binder.beside(ctes, own.alias, working))
    widths = {len(anchor.schema), len(step.schema), len(names)}
    if len(widths) > 1:
        raise InvalidModel(
            f"Anchor and step of a recursive CTE have {len(anchor.schema)} and {len(step.schema)} "
            f"columns, and the CTE {len(names)}",
            **position(tree),
        )
    readers = sorted(_readers(step, relation), key=lambda node: not isinstance(node, Bindings))
    for node in readers:
        name = _NAMES.get(type(node), "a subquery")
        raise _no_rule(f"A recursive CTE that reads itself below {name}", tree)
    return Recursion(
        _renamed(anchor, names, binder), _renamed(step, names, binder), relation, names
    )


def _renamed(part: Node, names: tuple[str, ...], binder: Binder) -> Node:
    """A part with the recursion's column names."""
    if isinstance(part, Project):
        items = zip(names, part.items, strict=True)
        return replace(part, items=tuple(Named(name, i.expression) for name, i in items))
    return binder.named(part, names, binder.name(part.schema[0].relation))


def refuse_endless(plan: Node) -> None:
    """Refuse what ends only as Spark stops at enough rows: all rounds could be endless.

    Raises:
        NotYetImplemented: If a recursion stands below a LIMIT without an order.
    """
    for node in plan.walk():
        cuts = isinstance(node, Sort) and node.limit is not None and not node.order
        if cuts and any(isinstance(below, Recursion) for below in node.walk()):
            raise NotYetImplemented(
                "LIMIT without ORDER BY over a recursive CTE", operator="WITH RECURSIVE"
            )


def _readers(step: Node, recursion: str) -> Iterator[Node]:
    """The operators that read a recursion's working table though Spark does not let them."""
    reading: dict[int, bool] = {}

    def reads(node: Node) -> bool:
        if id(node) not in reading:
            own = isinstance(node, WorkingTable) and node.recursion == recursion
            reading[id(node)] = own or any([reads(child) for child in node.inputs])
        return reading[id(node)]

    reads(step)
    for node in step.walk():
        if isinstance(node, _LINEAR):
            continue
        asked = node.inputs[1:] if isinstance(node, _ASKING) else node.inputs
        if any(map(reads, asked)):
            yield node


def _no_rule(construct: str, tree: exp.Expr) -> NotYetImplemented:
    return NotYetImplemented(construct, operator="WITH RECURSIVE", **position(tree))
