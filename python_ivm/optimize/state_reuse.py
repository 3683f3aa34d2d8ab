"""State reuse: the rows that a stored recursion had are read from the state, and not computed.

Answering a query by a view that is stored (Levy, Mendelzon, Sagiv and Srivastava, "Answering
Queries Using Views", PODS 1995): the view is the model's own, as of its last refresh.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from python_ivm.algebra.columns import ColumnRef, Named, beside
from python_ivm.algebra.nodes import COUNT, Node, Project, Scan
from python_ivm.algebra.walks import bottom_up
from python_ivm.delta.recursion import COPIES
from python_ivm.optimize.context import Context
from python_ivm.state.layout import STATE
from python_ivm.state.merge import Merge


def state_reuse(merge: Merge, context: Context) -> Merge:
    """Read the rows that a recursion had from the state, if that stores them.

    Args:
        merge: A MERGE that follows changes.
        context: Knows the layout.
    """
    assert merge.changes is not None
    layout = context.layout
    stored = layout.recursion if layout is not None else None
    if layout is None or stored is None:
        return merge
    before = merge.changes.pre(layout.input)
    relation = beside(layout.input.schema[0].relation, "before")
    # Of a set each row is there once.
    counted = () if layout.stores_set else (COUNT,)
    state = Scan(STATE, relation, (*stored.values(), *counted))
    copies = _of(state, COUNT) if counted else exp.cast(exp.Literal.number(1), "bigint")

    def rule(node: Node) -> Node:
        if not isinstance(node, Project) or node.input is not before:
            return node
        if node.items[-1].name != COPIES:
            return node
        kept = zip(node.items, layout.input.schema, strict=False)  # the copies are the last item
        items = [Named(i.name, _of(state, stored[c])) for i, c in kept]
        return replace(node, input=state, items=(*items, Named(COPIES, copies)))

    return replace(merge, rows=bottom_up(merge.rows, rule))


def _of(scan: Scan, name: str) -> exp.Expr:
    return ColumnRef(scan.relation, name).expression()
