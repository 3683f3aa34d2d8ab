"""Recompute and diff: the MERGE that computes the query, and writes the rows that differ.

It reads as much as a build and writes as little as a refresh, so that those who read the state's
change feed see what changed and nothing else. It pays where following a change reads more than the
query does: the old and the new state of the same tables (docs/decisions/0035).
"""

from __future__ import annotations

from sqlglot import exp

from python_ivm.algebra.columns import Named
from python_ivm.algebra.invariants import check
from python_ivm.algebra.nodes import COUNT, Filter, FullJoin, Join, Node, Project, Scan
from python_ivm.state.contents import contents
from python_ivm.state.counters import CHANGE, STORED, change, column_of
from python_ivm.state.layout import CHECK, HASH, STATE, Layout
from python_ivm.state.log import inserted_since
from python_ivm.state.merge import Merge, found_by, insertion, same_keys, unless_collided

FRESH = "fresh"
"""The relation of the state as it is computed."""


def difference(layout: Layout) -> Node:
    """The plan of the rows that are computed otherwise than they are stored.

    Rows that the query no longer has come with their keys and without counters.
    """
    fresh = contents(layout, FRESH)
    identity = [*(m for m in fresh.measures if m.name == HASH), *layout.keys]
    counters = [counter.name for counter in layout.counters]
    kept = Scan(STATE, STORED, (*(item.name for item in identity), *counters))
    both: Node = Join((fresh, kept), ())  # one row and one row
    if not layout.is_global:
        both = FullJoin(fresh, kept, tuple(same_keys(identity, FRESH, STORED)))
    differ = [
        exp.NullSafeNEQ(this=column_of(FRESH, name), expression=column_of(STORED, name))
        for name in counters
    ]
    either = [
        Named(i.name, exp.func("coalesce", column_of(FRESH, i.name), column_of(STORED, i.name)))
        for i in identity
    ]
    values = [Named(name, column_of(FRESH, name)) for name in _written(layout)]
    return check(Project(Filter(both, exp.or_(*differ)), CHANGE, (*either, *values)))


def _written(layout: Layout) -> list[str]:
    """The columns that follow from a group's rows."""
    check = [CHECK] if layout.check is not None else []
    return [*(counter.name for counter in layout.counters), *check]


def recompute(layout: Layout) -> Merge:
    """The MERGE that makes a state what the query gives.

    Args:
        layout: The model's layout.
    """
    if layout.is_log:
        return inserted_since(layout)
    clauses = unless_collided(layout)
    if not layout.is_global:
        gone = exp.Is(this=change(COUNT), expression=exp.Null())
        clauses.append(exp.When(matched=True, condition=gone, then=exp.var("DELETE")))
    values = [(name, change(name)) for name in _written(layout)]
    updates = [exp.EQ(this=exp.column(n, quoted=True), expression=value) for n, value in values]
    clauses.append(exp.When(matched=True, then=exp.Update(expressions=updates)))
    clauses.append(insertion(layout, [(name, value.copy()) for name, value in values]))
    rows = difference(layout)
    columns = {column.name: column for column in rows.schema}
    keys = tuple(columns[key.name] for key in layout.keys)
    return Merge(rows, keys, tuple(found_by(layout)), tuple(clauses))
