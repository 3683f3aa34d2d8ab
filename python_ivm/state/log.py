"""Logs: states that hold the rows that came into a query's result, and never lose one.

This is ISTREAM of CQL (Arasu, Babu and Widom, "The CQL Continuous Query Language", VLDB Journal
15(2), 2006, section 5.3): of a relation R that changes with time, the rows of R(t) - R(t-1) at each
time t, as bags. What R(t-1) was follows from the sources at their versions of then, so that the
state has nothing but the log (docs/decisions/0066).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from python_ivm.algebra.columns import Named
from python_ivm.algebra.nodes import Project, Scan, Sort
from python_ivm.algebra.normalize import without_top_order
from python_ivm.algebra.term import Changes, Term
from python_ivm.bind.query import Query
from python_ivm.errors import NotYetImplemented, Unsupported
from python_ivm.sources.clock import CLOCK
from python_ivm.state.layout import STEP, Layout, bag_layout
from python_ivm.state.merge import Merge, following


def log_layout(query: Query, types: Mapping[str, Mapping[str, str]]) -> Layout:
    """What is stored of a model's log: the query's columns, a count, and the step.

    Args:
        query: The bound model.
        types: As :func:`python_ivm.state.layout.layout` takes them.

    Raises:
        NotYetImplemented: If the query keeps some rows only, or has values that Spark cannot
            compare.
        Unsupported: If the query has a column of the step's name.
    """
    if any(name.lower() == STEP for name in query.columns):
        raise Unsupported(
            f"A log has a column {STEP} of its own, and the query has one, too",
            hint="Give the query's column another name with AS.",
        )
    top = query.plan
    while isinstance(top, Project):
        top = top.input
    if isinstance(top, Sort) and (top.limit is not None or top.offset is not None):
        raise NotYetImplemented(
            "LIMIT at the top of a model with ivm_output: inserted",
            operator="LIMIT",
            hint="Write qualify row_number() over (order by …) <= n.",
        )
    decided = bag_layout(query, without_top_order(query.plan), types)
    if len(decided.counters) > 1:
        raise NotYetImplemented(
            "A log of values that Spark cannot compare",
            hint="Leave maps and variants out, or store them as text (to_json).",
        )
    return replace(
        decided,
        items=(*decided.items, Named(STEP, exp.column(STEP, quoted=True))),
        columns=logged_columns(query.columns),
        step=0,
    )


def logged_columns(columns: tuple[str, ...]) -> tuple[str, ...]:
    """The columns that a log shows of a query with these."""
    return (*columns, STEP)


def with_step(sql: str) -> str:
    """A query's rows with a step, for what asks which columns a log shows."""
    return f"SELECT *, CAST(0 AS BIGINT) AS {STEP} FROM (\n{sql}\n) AS now"


def inserted_since(layout: Layout) -> Merge:
    """The MERGE that does not follow what changed: the query now, less the query before.

    Args:
        layout: The layout of a log.
    """
    scans = {node.source: False for node in layout.input.walk() if isinstance(node, Scan)}
    changes = Changes({**scans, CLOCK: False})
    both = (
        (changes.post(layout.input), 1, "the query's rows now"),
        (changes.pre(layout.input), -1, "its rows at the last step"),
    )
    terms = [Term(rows, exp.Literal.number(n), False, title) for rows, n, title in both]
    return replace(following(layout, terms, changes), changes=None)
