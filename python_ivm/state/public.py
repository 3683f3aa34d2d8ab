"""The public view of a maintained model as a source of another one.

The other model reads the state below the view: its change feed gives the view's changes. The
state's hidden columns get other names in a plan, where ``__ivm_`` names are the delta's own; and
the two SELECTs by which a bag's view shows each row as often as it counts become one read of the
state, whose rows repeat.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sqlglot import exp

from python_ivm.algebra.nodes import COUNT
from python_ivm.bind.query import COPIES

_PREFIX = "__ivm_"


def hidden_columns(columns: Iterable[str]) -> dict[str, str]:
    """Names for a state's hidden columns that none of its visible ones has.

    Returns:
        The stored names by the new ones.
    """
    names = {name.lower() for name in columns}
    found: dict[str, str] = {}
    for name in columns:
        if not name.lower().startswith(_PREFIX):
            continue
        new = name.lower().strip("_")
        while new in names:
            new += "_"
        names.add(new)
        found[new] = name
    return found


def over_hidden_columns(view: exp.Query, hidden: Mapping[str, str]) -> exp.Query:
    """A public view's tree under the new names of its state's hidden columns.

    Args:
        view: The tree as :func:`python_ivm.render.tables.view_query` makes it; changed in place.
        hidden: What :func:`hidden_columns` gives.
    """
    new = {stored.lower(): name for name, stored in hidden.items()}
    for column in view.find_all(exp.Column):
        for part in (column.parts[0], column.this):  # the first one of a field that a struct has
            if part.name.lower() in new:
                part.replace(exp.to_identifier(new[part.name.lower()], quoted=True))
                break
    for union in list(view.find_all(exp.Union)):
        if not union.right.args.get("laterals"):
            continue
        rows = union.left
        table = rows.find(exp.Table)
        if table is None:
            continue
        table.meta[COPIES] = new[COUNT]
        if union is view:
            return rows
        union.replace(rows)
    return view
