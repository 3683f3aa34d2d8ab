"""WITH RECURSIVE: a CTE that names itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlglot import exp

from python_ivm.algebra import nodes
from python_ivm.algebra.columns import Named
from python_ivm.algebra.nodes import Node
from python_ivm.bind.scope import Ctes, ModelScope, beside, renamed
from python_ivm.errors import InvalidModel, LoopNotExecutable, NotYetImplemented
from python_ivm.parse.ctes import cte_of
from python_ivm.parse.trees import position

_EVERYWHERE = (nodes.Project, nodes.Filter, nodes.ClockFilter, nodes.Join, nodes.Generate)
"""The operators that may read the working table in any input."""
_ON_THE_LEFT = (nodes.LeftJoin, nodes.SemiJoin, nodes.Mark)
"""Those that may read it on their left side."""
_NOWHERE: dict[type[Node], str] = {
    nodes.Aggregate: "an aggregate or DISTINCT",
    nodes.Bindings: "a subquery that is correlated by other than equalities",
    nodes.FullJoin: "a full join",
    nodes.LeftJoin: "the optional side of an outer join",
    nodes.Mark: "a subquery",
    nodes.Recursion: "another recursion",
    nodes.Repeat: "a set operation",
    nodes.SemiJoin: "a subquery",
    nodes.Sort: "ORDER BY or LIMIT",
    nodes.UnionAll: "a set operation",
    nodes.Window: "a window function",
}
"""What an operator that may not is to the user."""


def is_recursive(cte: exp.CTE) -> bool:
    """Whether a CTE names itself."""
    return isinstance(cte.parent, exp.With) and bool(cte.parent.recursive) and _names(cte, cte.this)


def _names(cte: exp.CTE, tree: exp.Expr) -> bool:
    return any(cte_of(table) is cte for table in tree.find_all(exp.Table))


def recursion(binder: ModelScope, cte: exp.CTE, ctes: Ctes) -> nodes.Recursion:
    """Bind a recursive CTE.

    Args:
        binder: The model's.
        cte: The CTE.
        ctes: Those before it.

    Raises:
        InvalidModel: If anchor and step have different numbers of columns.
        LoopNotExecutable: If the step reads the rows of the last round by an operator that may
            take rows back.
        NotYetImplemented: If it is not the UNION ALL of an anchor and a step, or the step reads
            the rows of the last round by other operators than joins, filters and projections.
    """
    first, second = _parts(cte)
    relation = binder.name(cte.alias)
    anchor = binder.query(first, f"{relation}_anchor", ctes)
    names = tuple(cte.alias_column_names) or tuple(column.name for column in anchor.schema)
    working = nodes.WorkingTable(relation, relation, names)
    step = binder.query(second, f"{relation}_step", beside(ctes, cte.alias, working))
    if len(anchor.schema) != len(names) or len(step.schema) != len(names):
        raise InvalidModel(
            f"Anchor and step of a recursive CTE have {len(anchor.schema)} and {len(step.schema)} "
            f"columns, and the CTE {len(names)}",
            **position(cte.this),
        )
    _refuse_readers(step, working, cte)
    return nodes.Recursion(
        _renamed(anchor, names, binder), _renamed(step, names, binder), relation, names
    )


def _parts(cte: exp.CTE) -> tuple[exp.Expr, exp.Expr]:
    """The queries of the anchor and of the step."""
    tree = cte.this
    more = ("distinct", "by_name", "order", "limit", "offset", "with_")
    if not isinstance(tree, exp.Union) or any(tree.args.get(key) for key in more):
        raise _no_rule("A recursive CTE that is not the UNION ALL of two queries", tree)
    if _names(cte, tree.left):
        raise _no_rule("A recursive CTE whose first part names it", tree)
    return tree.left, tree.right


def _refuse_readers(step: Node, working: nodes.WorkingTable, cte: exp.CTE) -> None:
    """Refuse operators that read the working table though Spark does not let them."""
    readers = list(_readers(step, working.recursion))
    refused = set(map(type, readers))
    retracting = sorted(_NOWHERE[type(node)] for node in readers if _retracts(node))
    if retracting and nodes.Bindings not in refused:
        raise LoopNotExecutable(
            f"{cte.alias} reads itself below {retracting[0]}, which may take back the rows that it "
            "follows from",
            operator="WITH RECURSIVE",
            hint=f"Read the round before: {{{{ ivm_delay('{cte.alias}') }}}}.",
            **position(cte.this),
        )
    if refused:
        kind = (
            nodes.Bindings if nodes.Bindings in refused else min(refused, key=str)
        )  # the others are for it
        told = _NOWHERE.get(kind, "another operator")
        raise _no_rule(f"A recursive CTE that reads itself below {told}", cte.this)


def _retracts(node: Node) -> bool:
    """Whether more rows below an operator may mean fewer rows out; Spark takes none of these."""
    if isinstance(node, nodes.Aggregate):
        return bool(node.measures) or node.is_global
    if isinstance(node, nodes.SemiJoin):
        return node.anti
    return isinstance(node, (nodes.FullJoin, nodes.LeftJoin, nodes.Window))


def _renamed(part: Node, names: tuple[str, ...], binder: ModelScope) -> Node:
    """A part with the recursion's column names; a list of columns gets no other list around it."""
    if isinstance(part, nodes.Project):
        items = zip(names, part.items, strict=True)
        return replace(part, items=tuple(Named(name, i.expression) for name, i in items))
    return renamed(part, names, binder.name(part.schema[0].relation))


def refuse_endless(tree: exp.Query) -> None:
    """Refuse what may end only as Spark stops at enough rows.

    Raises:
        NotYetImplemented: If a query with LIMIT, but without ORDER BY, reads a recursive CTE.
    """
    for query in tree.find_all(exp.Query):
        cut = query.args.get("limit") and not query.args.get("order")
        if cut and _reads_recursion(query, set()):
            raise _no_rule("LIMIT without ORDER BY over a recursive CTE", query)


def _reads_recursion(query: exp.Expr, seen: set[int]) -> bool:
    """Whether a query reads a recursive CTE, also by way of others."""
    for cte in filter(None, map(cte_of, query.find_all(exp.Table))):
        if id(cte) not in seen:
            seen.add(id(cte))
            if is_recursive(cte) or _reads_recursion(cte.this, seen):
                return True
    return False


def _readers(step: Node, recursion: str) -> Iterator[Node]:
    """The operators that read a recursion's working table though Spark does not let them."""
    reading: dict[int, bool] = {}

    def reads(node: Node) -> bool:
        if id(node) not in reading:
            own = isinstance(node, nodes.WorkingTable) and node.recursion == recursion
            reading[id(node)] = own or any([reads(child) for child in node.inputs])
        return reading[id(node)]

    reads(step)
    for node in step.walk():
        if isinstance(node, _EVERYWHERE):
            continue
        asked = node.inputs[1:] if isinstance(node, _ON_THE_LEFT) else node.inputs
        if any(map(reads, asked)):
            yield node


def _no_rule(construct: str, tree: exp.Expr) -> NotYetImplemented:
    return NotYetImplemented(construct, operator="WITH RECURSIVE", **position(tree))
