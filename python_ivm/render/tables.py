"""The queries that a model's state and its public view are made from."""

from __future__ import annotations

from sqlglot import exp

from python_ivm.algebra.nodes import COUNT, Sort
from python_ivm.parse.hints import Hint
from python_ivm.parse.trees import from_items
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
    query = renderer.with_ctes(select)
    _hint(query, layout)
    return query


def _hint(query: exp.Query, layout: Layout) -> None:
    """Write the user's hints where the build joins what they name, and at its top, in place."""
    joins = layout.hints.joins
    for select in query.find_all(exp.Select) if joins else ():
        for name in (item.alias_or_name for item in from_items(select)):
            relation = exp.to_identifier(name, quoted=True)
            _add_hints(select, [(how, [relation]) for how in joins.get(name, ())])
    if isinstance(query, exp.Select):
        _add_hints(query, _partitions(layout))


def is_divided(layout: Layout) -> bool:
    """Whether the model's hints say how to divide a build's rows among files."""
    return bool(_partitions(layout))


def _partitions(layout: Layout) -> list[tuple[str, list[exp.Expr]]]:
    """The model's hints of how to divide rows, over the state's columns."""
    return [found for h in layout.hints.partitions if (found := _stored(h, layout))]


def _stored(hint: Hint, layout: Layout) -> tuple[str, list[exp.Expr]] | None:
    """A hint over the state's columns; None if it names only columns that the state lacks."""
    shown = {item.name: item.expression for item in layout.items}
    own = {name: column for name, column in shown.items() if isinstance(column, exp.Column)}
    arguments: list[exp.Expr] = []
    for *_, last in hint.arguments:
        if last.isdigit():
            arguments.append(exp.Literal.number(last))
        elif last.lower() in own:
            arguments.append(own[last.lower()].copy())
    return (hint.name, arguments) if arguments or not hint.arguments else None


def _add_hints(select: exp.Select, hints: list[tuple[str, list[exp.Expr]]]) -> None:
    if not hints:
        return
    written = select.args.get("hint") or exp.Hint(expressions=[])
    for name, arguments in hints:
        hint = exp.Anonymous(this=name, expressions=arguments) if arguments else exp.Var(this=name)
        written.append("expressions", hint)
    select.set("hint", written)


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
    held = [*(k.name for k in layout.keys), *(c.name for c in layout.counters[1:])]
    once = [exp.column(name, quoted=True) for name in held]
    repeated = (
        stored.select(*(c.copy() for c in once))
        .lateral(f"explode(sequence(2, {COUNT})) copies as __ivm_copy__")
        .where(exp.GT(this=exp.column(COUNT), expression=exp.Literal.number(1)))
    )
    if layout.condition is not None:
        stored = stored.where(layout.condition.copy())
        repeated = repeated.where(layout.condition.copy())
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
