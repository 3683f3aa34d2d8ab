"""A state whose rows are those of a table that equals the view.

What the state has and the view does not show, such as how many rows a group has, follows from the
table's rows if the state is a bag. Of an aggregate it is computed from the query; what the view
shows is taken from the table all the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from python_ivm.algebra.columns import ColumnRef, Named, substitute
from python_ivm.algebra.conditions import not_null
from python_ivm.algebra.nodes import (
    COUNT,
    Aggregate,
    Filter,
    FullJoin,
    Join,
    Node,
    Project,
    Scan,
)
from python_ivm.algebra.term import Changes
from python_ivm.bind.query import NO_HINTS
from python_ivm.errors import Unsupported
from python_ivm.functions.comparable import comparable
from python_ivm.state.contents import contents
from python_ivm.state.counters import Counter, Kept, Rows
from python_ivm.state.layout import CHECK, Layout
from python_ivm.state.storage import Visible
from python_ivm.state.stored_forms import has_stored_form, stored_form

ADOPTED = "adopted"
"""The planner key of the table, and its relation in the plan."""
DIFFERS = "the table does not have the groups of the query"
"""What a build says where a group is in one of the two alone."""

_COUNTED = "counted"
_THERE = "__ivm_there__"
_NO_OTHER_WAY = "Build it anew: dbt-sparkivm rebuild, or dbt run."


@dataclass(frozen=True)
class Derived:
    """Where the columns of a state come from.

    Attributes:
        columns: Those that follow from the table's rows, as expressions over :data:`ADOPTED`.
        counted: Those that the query alone can tell.
        shown: The table's columns, in the view's order.
    """

    columns: Mapping[str, exp.Expr]
    counted: tuple[Counter, ...]
    shown: tuple[str, ...]


def derived(layout: Layout, kinds: Mapping[str, str], shown: Sequence[str]) -> Derived:
    """Where the columns of a state come from.

    Args:
        layout: The model's layout.
        kinds: The types of the view's columns that hold other values, by the plan's names.
        shown: The table's columns, in the view's order.

    Raises:
        Unsupported: If the state has rows or keys that the view does not show.
    """
    if not Visible.of(layout).complete:
        raise Unsupported(
            "Its state has rows that the view leaves out by HAVING or LIMIT, so that they do not "
            "follow from the table",
            hint=_NO_OTHER_WAY,
        )
    found = _shown(layout, kinds, shown)
    hidden = [key.name for key in layout.keys if key.name not in found]
    if hidden:
        which = ", ".join(hidden)
        raise Unsupported(
            f"Its state has keys that the view does not show ({which}), so that they do not "
            "follow from the table",
            hint=f"Show them in the query, or leave them out. {_NO_OTHER_WAY}",
        )
    missing = tuple(c for c in layout.counters if c.name not in found)
    return Derived(found, () if layout.is_bag else missing, tuple(shown))


def _shown(layout: Layout, kinds: Mapping[str, str], names: Sequence[str]) -> dict[str, exp.Expr]:
    """The state's columns that the view shows, over the table's."""
    found: dict[str, exp.Expr] = {}
    kept = {counter.name for counter in layout.counters if isinstance(counter, Kept)}
    for place, (item, name) in enumerate(zip(layout.items, names, strict=True)):
        value, kind = ColumnRef(ADOPTED, name).expression(), kinds.get(item.name, "")
        if isinstance(item.expression, exp.Column):
            stored = item.expression.name
            found.setdefault(stored, value)
            if stored in kept:
                found[layout.keys[place].name] = comparable(value, kind)
        elif layout.is_bag and has_stored_form(kind):
            (column,) = item.expression.find_all(exp.Column)
            found.setdefault(column.name, stored_form(value, kind))
    return found


def rows(layout: Layout, found: Derived) -> Node:
    """The plan of a state's contents.

    Args:
        layout: The model's layout.
        found: What :func:`derived` gives.
    """
    scan = Scan(ADOPTED, ADOPTED, tuple(dict.fromkeys(found.shown)))
    if layout.is_bag:
        keys = tuple(Named(key.name, found.columns[key.name].copy()) for key in layout.keys)
        counters = tuple(
            replace(c, argument=found.columns[c.name].copy()) if isinstance(c, Kept) else c
            for c in layout.counters
        )
        table = replace(layout, input=scan, keys=keys, counters=counters, hints=NO_HINTS)
        return contents(table, "state")
    below = _beside_the_query(layout, found, scan) if found.counted else scan
    values = {name: value.copy() for name, value in found.columns.items()}
    for counter in found.counted:
        values[counter.name] = ColumnRef(_COUNTED, counter.name).expression()
    stored = [COUNT, *(k.name for k in layout.keys), *(c.name for c in layout.counters[1:])]
    items = [Named(name, values[name]) for name in stored]
    if layout.check is not None:
        own = {ColumnRef("", name): value for name, value in values.items()}
        items.append(Named(CHECK, substitute(layout.check, own)))
    if found.counted and not layout.is_global:
        items[0] = Named(COUNT, _in_both(values[COUNT]))
    return Project(below, "state", tuple(items))


def _beside_the_query(layout: Layout, found: Derived, scan: Scan) -> Node:
    """The table's rows, each with what the query alone can tell of its group."""
    measures = [Named(COUNT, Rows().build())]
    measures += [Named(c.name, c.build()) for c in found.counted if c.name != COUNT]
    counted = Aggregate(Changes({}).post(layout.input), _COUNTED, layout.keys, tuple(measures))
    if layout.is_global:
        return Join((scan, counted))
    there = Named(_THERE, exp.Literal.number(1))
    shown = (*(Named(c.name, c.expression()) for c in scan.schema), there)
    same = tuple(
        exp.NullSafeEQ(
            this=found.columns[key.name].copy(),
            expression=ColumnRef(_COUNTED, key.name).expression(),
        )
        for key in layout.keys
    )
    return FullJoin(Project(scan, ADOPTED, shown), counted, same)


def _in_both(count: exp.Expr) -> exp.Expr:
    """A group's number of rows; the build fails where it is not in table and query."""
    both = exp.and_(
        not_null(ColumnRef(ADOPTED, _THERE).expression()),
        not_null(ColumnRef(_COUNTED, COUNT).expression()),
    )
    stop = exp.Anonymous(this="raise_error", expressions=[exp.Literal.string(DIFFERS)])
    return exp.Case().when(both, count).else_(stop)


def repeated(layout: Layout, found: Derived) -> Node | None:
    """The plan of the groups that the table has more than once; None where any row may be."""
    if layout.is_bag or layout.is_global:
        return None
    scan = Scan(ADOPTED, ADOPTED, tuple(dict.fromkeys(found.shown)))
    keys = tuple(Named(key.name, found.columns[key.name].copy()) for key in layout.keys)
    groups = Aggregate(scan, "groups", keys, (Named(COUNT, Rows().build()),))
    number = ColumnRef("groups", COUNT).expression()
    many = exp.GT(this=number, expression=exp.Literal.number(1))
    return Project(Filter(groups, many), "repeated", (Named("rows", number.copy()),))
