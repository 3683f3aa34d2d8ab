"""``session_window()``: the sessions of single rows, merged where they overlap.

:mod:`python_ivm.qualify.time_windows` has written the session of each row alone as a generator's
column. Here window functions find the rows at which a session begins, and its bounds.

Source: Spark's analyzer (rules TimeWindowing and SessionWindowing).
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot import exp

from python_ivm.algebra.columns import ColumnRef, Named, substitute
from python_ivm.algebra.nodes import (
    Aggregate,
    ByPosition,
    Generate,
    Node,
    Project,
    Window,
)
from python_ivm.algebra.walks import OncePerNode
from python_ivm.bind.clauses import Clauses
from python_ivm.bind.scope import SelectScope
from python_ivm.bind.windows import window_functions
from python_ivm.errors import NotYetImplemented
from python_ivm.qualify.time_windows import MICROSECOND, SESSION, is_time_window, not_yet

# -- before names are resolved -----------------------------------------------------------------


def with_sessions(
    select: SelectScope, node: Node, keys: list[Named], clauses: Clauses
) -> tuple[Node, list[Named], Clauses]:
    """Compute the ``session_window()`` that a SELECT groups by.

    A session begins with a row whose time lies behind the ends of all rows before it.

    Args:
        select: The SELECT.
        node: The rows of FROM and WHERE.
        keys: What it groups by.
        clauses: Its clauses.

    Returns:
        The rows that are in a session, and the keys and clauses over them.
    """
    call = next((k.expression for k in keys if _is_session(k.expression)), None)
    if call is None:
        return node, keys, clauses
    others = [key.expression for key in keys if key.expression != call]
    refuse_sessions(others)
    session = _session(call.expressions[0], others)
    below = node.schema
    seen: list[exp.Expr] = [column.expression() for column in below]
    node, (session, *seen) = window_functions.computed(select.binder, node, [session, *seen])
    mapping = dict(zip(below, seen, strict=True))
    select.move(mapping)
    meant = substitute(call, mapping)

    def over(expression: exp.Expr) -> exp.Expr:
        moved = substitute(expression, mapping).copy()
        return moved.transform(lambda part: session.copy() if part == meant else part, copy=False)

    named = [Named(key.name, over(key.expression)) for key in keys]
    return node, named, clauses.over([over(e) for e in clauses.expressions])


def refuse_sessions(expressions: Iterable[exp.Expr]) -> None:
    """Refuse the ``session_window()`` that no GROUP BY has made a column."""
    for expression in expressions:
        for call in expression.find_all(exp.Anonymous):
            if _is_session(call):
                raise not_yet("session_window() without GROUP BY", SESSION, call)


def _is_session(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.lower() == SESSION


def _session(own: exp.Expr, keys: list[exp.Expr]) -> exp.Expr:
    """The session of a row among the rows with the same keys.

    Args:
        own: The session that the row alone would be.
        keys: What it is grouped by besides.
    """

    def bound(name: str) -> exp.Expr:
        return exp.Dot(this=own.copy(), expression=exp.to_identifier(name, quoted=True))

    def over(function: exp.Expr, more: exp.Expr | None = None, **clauses: exp.Expr) -> exp.Window:
        partition = [key.copy() for key in (*keys, more) if key is not None]
        return exp.Window(this=function, partition_by=partition, over="OVER", **clauses)

    def by_time() -> exp.Order:
        return exp.Order(expressions=[exp.Ordered(this=bound("start"), nulls_first=True)])

    before = exp.WindowSpec(
        kind="RANGE", start="UNBOUNDED", start_side="PRECEDING", end=MICROSECOND.copy(),
        end_side="PRECEDING",
    )  # fmt: skip
    reached = over(exp.Max(this=bound("end")), order=by_time(), spec=before)
    begins = exp.GT(this=bound("start"), expression=reached)
    one, zero = exp.Literal.number(1), exp.Literal.number(0)
    number = over(exp.Sum(this=exp.Case().when(begins, one).else_(zero)), order=by_time())
    bounds = {"start": exp.Min(this=bound("start")), "end": exp.Max(this=bound("end"))}
    session = exp.Struct(
        expressions=[
            exp.PropertyEQ(this=exp.to_identifier(name), expression=over(value, number))
            for name, value in bounds.items()
        ]
    )
    session.meta[SESSION] = True
    return session


def refuse_windows_again(plan: Node) -> None:
    """Refuse what depends on a column being a window: Spark remembers that, a delta does not.

    Groups of sessions are merged once more, and ``window()`` takes the end of a window.

    Raises:
        NotYetImplemented: If there is such a column.
    """
    made = (node.function for node in plan.walk() if isinstance(node, Generate))
    if not any(map(is_time_window, made)):
        return
    once = OncePerNode()
    for node in plan.walk():
        if isinstance(node, Aggregate):
            distinct = [d for m in node.measures for d in m.expression.find_all(exp.Distinct)]
            grouped = [
                *(key.expression for key in node.keys),
                *(e for d in distinct for e in d.expressions),
            ]
            origins = [_origin(node.input, value, once) for value in grouped]
            if any(origin.meta.get(SESSION) for origin in origins if origin is not None):
                raise NotYetImplemented("Groups of a session_window()", operator="session_window()")
        elif isinstance(node, Generate) and is_time_window(node.function):
            (time, *_) = node.function.this.expressions[0].expressions
            origin = _origin(node.input, time, once)
            if origin is not None and is_time_window(origin):
                raise NotYetImplemented(
                    "window() of another window", operator="window()", hint="Write window_time(w)."
                )


def _origin(node: Node, value: exp.Expr, once: OncePerNode) -> exp.Expr | None:
    """What computes a column of a node, if that is a key, a projection or a generator."""
    if not isinstance(value, exp.Column):
        return None
    column = ColumnRef(value.table, value.name)
    return once(column, node, lambda: _computing(node, column, once))


def _computing(node: Node, column: ColumnRef, once: OncePerNode) -> exp.Expr | None:
    made: dict[str, exp.Expr] = {}
    if isinstance(node, (Project, Window)):
        made = {item.name: item.expression for item in node.items}
    elif isinstance(node, Aggregate):
        made = {key.name: key.expression for key in node.keys}
    elif isinstance(node, Generate):
        made = dict.fromkeys(node.names, node.function)
    if column.name in made and column.relation == getattr(node, "relation", None):
        found = made[column.name]
        return _origin(node.inputs[0], found, once) if isinstance(found, exp.Column) else found
    if isinstance(node, ByPosition):
        number = node.schema.index(column)
        parts = (_origin(part, part.schema[number].expression(), once) for part in node.inputs)
        return next((p for p in parts if p is not None and _is_remembered(p)), None)
    below = (child for child in node.inputs if column in child.schema)
    return next((_origin(child, column.expression(), once) for child in below), None)


def _is_remembered(made: exp.Expr) -> bool:
    """Whether Spark remembers of a column that it is a window."""
    return bool(made.meta.get(SESSION)) or is_time_window(made)
