"""``window()`` and ``session_window()``: groups of rows by their times.

A row is in one ``window()``, or in several that overlap, or in none if it has no time: the function
is a generator, and becomes a LATERAL VIEW before names are resolved. Which ``session_window()`` a
row is in depends on the rows near it: the binder writes it as window functions.

Source: Spark's analyzer (rules TimeWindowing and SessionWindowing).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from sqlglot import exp

from python_ivm.algebra.columns import Named, columns_of, substitute
from python_ivm.algebra.nodes import Filter, Node
from python_ivm.errors import NotYetImplemented
from python_ivm.sql import windows
from python_ivm.sql.generators import hidden_view
from python_ivm.sql.grouping import HOLE
from python_ivm.sql.parse import DIALECT, place
from python_ivm.sql.relations import Relations, names_in_from

if TYPE_CHECKING:
    from python_ivm.sql.grouped import Clauses
    from python_ivm.sql.select import SelectBinder

WINDOW, SESSION = "window", "session_window"
_TIME_OF = "window_time"
_LISTS = ("expressions", "group")
_OTHERS = ("where", "having", "qualify", "order", "windows", "from_", "joins")
_MICROSECOND = exp.Interval(this=exp.Literal.string("1"), unit=exp.Var(this="MICROSECOND"))

_TIMES = (
    exp.DType.TIMESTAMP,
    exp.DType.TIMESTAMPTZ,
    exp.DType.TIMESTAMPLTZ,
    exp.DType.TIMESTAMPNTZ,
)


# -- before names are resolved -----------------------------------------------------------------


def name_time_windows(select: exp.Select, known: Relations) -> None:
    """Write a SELECT's ``window()`` as a LATERAL VIEW, and what it calls ``window`` as its column.

    Args:
        select: Changed in place; its stars ``*`` and ``a.*`` may still stand.
        known: Tells whether a table has a column of that name.

    Raises:
        NotYetImplemented: For calls elsewhere than in the list and in GROUP BY, and for several.
    """
    named = {call.name.lower() for call in select.find_all(exp.Anonymous)}
    if named.isdisjoint({WINDOW, SESSION, _TIME_OF}):
        return
    for timed in list(_calls(select, _TIME_OF)):
        end = exp.Dot(this=timed.expressions[0].copy(), expression=exp.to_identifier("end"))
        time = exp.paren(exp.Sub(this=end, expression=_MICROSECOND.copy()), copy=False)
        _replace(select, timed, time, _TIME_OF)
    windowed = _the_call(select, WINDOW)
    if windowed is not None:
        _write_out_name(select, WINDOW, windowed, known)
        column = hidden_view(select, exp.Explode(this=exp.array(windowed.copy())), [WINDOW])[0]
        for written in list(_calls(select, WINDOW)):
            _replace(select, written, column, WINDOW)
    session = _the_call(select, SESSION)
    if session is not None:
        _write_out_name(select, SESSION, session, known)
        for written in list(_calls(select, SESSION)):
            _replace(select, written, _of_a_timestamp(written, select, known), SESSION)


def _of_a_timestamp(call: exp.Anonymous, select: exp.Select, known: Relations) -> exp.Expr:
    """The call with the cast that Spark adds."""
    copied = call.copy()
    time = copied.expressions[0]
    kind = known.type_of(select, time)
    if kind.is_type(exp.DType.DATE, *exp.DataType.TEXT_TYPES):
        time.replace(exp.cast(time.copy(), exp.DType.TIMESTAMPTZ, dialect=DIALECT))
    elif not kind.is_type(*_TIMES):
        raise _not_yet("session_window() over a value of unknown type", SESSION, call)
    return copied


def _parts(select: exp.Select, clauses: Iterable[str]) -> Iterator[exp.Expr]:
    for clause in clauses:
        written = select.args.get(clause) or []
        yield from written if isinstance(written, list) else [written]


def _calls(
    select: exp.Select, name: str, clauses: tuple[str, ...] = _LISTS + _OTHERS
) -> Iterator[exp.Anonymous]:
    """The calls of a function in a SELECT's clauses, not those of its subqueries."""
    for part in _parts(select, clauses):
        for call in part.find_all(exp.Anonymous):
            if call.name.lower() == name and call.parent_select is select:
                yield call


def _the_call(select: exp.Select, name: str) -> exp.Anonymous | None:
    """The call of a SELECT; Spark refuses several that differ."""
    found = list(_calls(select, name, _LISTS))
    elsewhere = next(_calls(select, name, _OTHERS), None)
    if elsewhere is not None:
        raise _not_yet(f"{name}() outside of SELECT and GROUP BY", name, elsewhere)
    if any(_unqualified(call) != _unqualified(found[0]) for call in found):
        raise _not_yet(f"More than one {name}()", name, found[-1])
    return found[0] if found else None


def _unqualified(call: exp.Anonymous) -> exp.Expr:
    copied = call.copy()
    for column in copied.find_all(exp.Column):
        column.set("table", None)
    copied.set("this", call.name.lower())
    return copied


def _write_out_name(select: exp.Select, name: str, call: exp.Expr, known: Relations) -> None:
    """Put the call where its own name stands for it, ``window`` or ``window.start``, in place."""
    clauses = ("expressions", "group", "having", "qualify", "order")
    columns = [c for part in _parts(select, clauses) for c in part.find_all(exp.Column)]
    meant = [c for c in columns if c.parent_select is select and c.parts[0].name.lower() == name]
    if not meant or name in names_in_from(select) or name in known.columns(select):
        return
    for column in meant:
        value: exp.Expr = call.copy()
        for field in column.parts[1:]:
            value = exp.Dot(this=value, expression=field.copy())
        _replace(select, column, value, column.name)


def _replace(select: exp.Select, written: exp.Expr, by: exp.Expr, name: str) -> None:
    """Put another expression there, under the name that Spark gives to the first."""
    alone = written.parent is select and written.arg_key == "expressions"
    written.replace(exp.alias_(by.copy(), name, copy=False) if alone else by.copy())


# -- binding -----------------------------------------------------------------------------------


def with_sessions(
    select: SelectBinder, node: Node, keys: list[Named], clauses: Clauses
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
    values = [key.expression for key in keys]
    every = [*values, *clauses.expressions]
    columns = list({c for e in every for c in columns_of(e) if c.relation != HOLE})
    start, end = _of_one_row(call)
    node = Filter(node, exp.GT(this=end, expression=start))
    session = _session(start, end, [value for value in values if value != call])
    node, (session, *seen) = windows.bind(
        select.binder, node, [session, *(c.expression() for c in columns)]
    )
    mapping = dict(zip(columns, seen, strict=True))
    meant = substitute(call, mapping)

    def over(expression: exp.Expr) -> exp.Expr:
        moved = substitute(expression, mapping).copy()
        return moved.transform(lambda part: session.copy() if part == meant else part, copy=False)

    every = [over(e) for e in every]
    named = zip(keys, every[: len(keys)], strict=True)
    return node, [Named(k.name, e) for k, e in named], clauses.over(every[len(keys) :])


def refuse_sessions(expressions: Iterable[exp.Expr]) -> None:
    """Refuse the ``session_window()`` that no GROUP BY has made a column."""
    for expression in expressions:
        for call in expression.find_all(exp.Anonymous):
            if _is_session(call):
                raise _not_yet("session_window() without GROUP BY", SESSION, call)


def _is_session(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.lower() == SESSION


def _of_one_row(call: exp.Expr) -> tuple[exp.Expr, exp.Expr]:
    """Start and end of the session that a row alone would be."""
    start, gap = (e.copy() for e in call.expressions)
    if not isinstance(gap, exp.Interval):
        gap = exp.Cast(this=gap, to=exp.DataType(this=exp.DType.INTERVAL))
    return start, exp.Add(this=start.copy(), expression=gap)


def _session(start: exp.Expr, end: exp.Expr, keys: list[exp.Expr]) -> exp.Expr:
    """The session of a row among the rows with the same keys."""

    def over(function: exp.Expr, more: exp.Expr | None = None, **clauses: exp.Expr) -> exp.Window:
        partition = [key.copy() for key in (*keys, more) if key is not None]
        return exp.Window(this=function, partition_by=partition, over="OVER", **clauses)

    def by_time() -> exp.Order:
        return exp.Order(expressions=[exp.Ordered(this=start.copy(), nulls_first=True)])

    before = exp.WindowSpec(
        kind="RANGE", start="UNBOUNDED", start_side="PRECEDING", end=_MICROSECOND.copy(),
        end_side="PRECEDING",
    )  # fmt: skip
    reached = over(exp.Max(this=end.copy()), order=by_time(), spec=before)
    begins = exp.GT(this=start.copy(), expression=reached)
    one, zero = exp.Literal.number(1), exp.Literal.number(0)
    number = over(exp.Sum(this=exp.Case().when(begins, one).else_(zero)), order=by_time())
    bounds = {"start": exp.Min(this=start.copy()), "end": exp.Max(this=end.copy())}
    return exp.Struct(
        expressions=[
            exp.PropertyEQ(this=exp.to_identifier(name), expression=over(bound, number))
            for name, bound in bounds.items()
        ]
    )


def _not_yet(construct: str, name: str, node: exp.Expr) -> NotYetImplemented:
    return NotYetImplemented(construct, operator=f"{name}()", **place(node))
