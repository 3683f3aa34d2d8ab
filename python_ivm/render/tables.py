"""The queries that a model's state and its public view are made from."""

from __future__ import annotations

from sqlglot import exp

from python_ivm.algebra.nodes import COUNT, Sort
from python_ivm.render.renderer import Renderer, bare, listed
from python_ivm.state.contents import contents
from python_ivm.state.layout import HASH, Layout


def build_query(layout: Layout, renderer: Renderer) -> exp.Query:
    """The state's contents, computed from the sources.

    Returns:
        A query of the count, the keys and the other counters, in this order, so that Delta's
        statistics (which cover a table's first columns) include what refreshes look for.
    """
    select = renderer.query(contents(layout, "state"))
    leading = {layout.counters[0].name: 0, HASH: 1}
    items = sorted(select.selects, key=lambda item: leading.get(item.alias_or_name, 2))
    select.set("expressions", items)
    return renderer.with_ctes(select)


def view_query(layout: Layout, state: exp.Table) -> exp.Query:
    """The public view: the model's columns with their exact multiplicity.

    Args:
        layout: The model's layout.
        state: The state table.
    """
    select = exp.Select().from_(state.copy())
    if layout.condition is not None:
        select = select.where(layout.condition.copy())
    names = layout.columns or tuple(item.name for item in layout.items)
    items = [listed(item.expression, name) for item, name in zip(layout.items, names, strict=True)]
    sort = layout.sort
    if not layout.is_bag:
        return bare(_sorted(select.select(*items), sort))
    stored = exp.Select().from_(state.copy())
    once = [exp.column(k.name, quoted=True) for k in layout.keys]
    repeated = (
        stored.select(*(c.copy() for c in once))
        .lateral(f"explode(sequence(2, {COUNT})) copies as __ivm_copy__")
        .where(exp.GT(this=exp.column(COUNT), expression=exp.Literal.number(1)))
    )
    if sort is None:
        repeated.set("expressions", [i.copy() for i in items])
        return bare(exp.union(stored.select(*items), repeated, distinct=False))
    rows = exp.union(stored.select(*once), repeated, distinct=False)
    outer = exp.Select().from_(rows.subquery("copied")).select(*items)
    return bare(_sorted(outer, sort))


def _sorted(select: exp.Select, sort: Sort | None) -> exp.Select:
    if sort is None:
        return select
    if sort.order:
        select = select.order_by(*(key.copy() for key in sort.order))
    if sort.limit is not None:
        select = select.limit(sort.limit.copy())
    if sort.offset is not None:
        select = select.offset(sort.offset.copy())
    return select
