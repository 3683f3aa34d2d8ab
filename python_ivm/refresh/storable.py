"""What a state cannot hold, and what cannot be found again in it."""

from __future__ import annotations

import re

from python_ivm.algebra.nodes import Filter, Project, Sort
from python_ivm.bind.query import Query
from python_ivm.errors import NotYetImplemented
from python_ivm.refresh.type_probes import Described

_INTERVAL = re.compile(r"\binterval\b(?!:)", re.I)
"""A type that holds an interval; not a field of that name."""


def refuse_own_names(query: Query) -> None:
    """Refuse columns that could be taken for the planner's; those of the view may be so named.

    Raises:
        NotYetImplemented: For such a column.
    """
    top = query.plan
    while isinstance(top, (Sort, Filter, Project)):
        top = top.input
    for node in top.walk():
        for column in node.schema:
            if column.name.startswith("__ivm_"):
                raise NotYetImplemented(
                    f"A column named {column.name}",
                    hint="Give it a name that does not begin with __ivm_.",
                )


def refuse_intervals(columns: Described) -> None:
    """Refuse what Delta does not store: a state may hold what its view does not show.

    Raises:
        NotYetImplemented: For such a column.
    """
    for name, kind in columns:
        if _INTERVAL.search(kind):
            raise NotYetImplemented(
                f"A state with a column of type {kind}, which Delta cannot store ({name}),",
                hint="Aggregate numbers, as extract(...) or unix_timestamp(...) give them.",
            )


def refuse_incomparable(columns: Described) -> None:
    """Refuse what Spark cannot compare, by which rows and groups are found again.

    Raises:
        NotYetImplemented: For such a column.
    """
    for name, kind in columns:
        found = next((t for t in ("map<", "variant") if t in kind.lower()), None)
        if found is not None:
            raise NotYetImplemented(
                f"Column {name} of type {kind}, which Spark cannot compare,",
                hint="Show its entries as columns or as an array of structs.",
            )
