"""``window()`` and ``session_window()`` as LATERAL VIEWs.

A row is in one ``window()``, or in several that overlap, or in none if it has no time: the function
is a generator. Which ``session_window()`` a row is in depends on the rows near it: here it becomes
the session of the row alone, and the binder merges these (:mod:`python_ivm.bind.windows`).

Source: Spark's analyzer (rules TimeWindowing and SessionWindowing).
"""

from __future__ import annotations

from sqlglot import exp

from python_ivm.errors import NotYetImplemented
from python_ivm.parse.trees import names_in_from, nodes_in, place
from python_ivm.qualify.generators import hidden_view
from python_ivm.qualify.relations import Relations
from python_ivm.qualify.struct_fields import field_of

WINDOW, SESSION = "window", "session_window"
_TIME_OF = "window_time"
_LISTS = ("expressions", "group", "windows")
_OTHERS = ("where", "having", "qualify", "order", "from_", "joins")
MICROSECOND = exp.Interval(this=exp.Literal.string("1"), unit=exp.Var(this="MICROSECOND"))


def name_time_windows(select: exp.Select, known: Relations) -> None:
    """Write a SELECT's time window as a LATERAL VIEW, and what it calls ``window`` as its column.

    That of ``session_window()`` makes the session that a row alone would be. Around its column the
    call stays, for the binder.

    Args:
        select: Changed in place; its stars ``*`` and ``a.*`` may still stand.
        known: Knows whether a table has a column of that name.

    Raises:
        NotYetImplemented: For calls elsewhere than in the list and in GROUP BY, and for several.
    """
    named = {call.name.lower() for call in select.find_all(exp.Anonymous)}
    if named.isdisjoint({WINDOW, SESSION, _TIME_OF}):
        return
    for timed in _calls(select, _TIME_OF):
        end = exp.Dot(this=timed.expressions[0].copy(), expression=exp.to_identifier("end"))
        timed.replace(exp.paren(exp.Sub(this=end, expression=MICROSECOND.copy()), copy=False))
    for name in (WINDOW, SESSION):
        call = _the_call(select, name)
        if call is None:
            continue
        _write_out_name(select, name, call, known)
        made = exp.Explode(this=exp.array(call.copy()))
        column: exp.Expr = hidden_view(select, made, [name])[0]
        if name == SESSION:
            column = exp.Anonymous(this=SESSION, expressions=[column])
        for written in _calls(select, name):
            _replace(select, written, column, name)


def is_time_window(generator: exp.Expr) -> bool:
    """Whether a generator is one of those; WHERE stands below them."""
    inner = generator.this if isinstance(generator, exp.Explode) else None
    made = inner.expressions[0] if isinstance(inner, exp.Array) and inner.expressions else None
    return isinstance(made, exp.Anonymous) and made.name.lower() in (WINDOW, SESSION)


def _calls(
    select: exp.Select, name: str, clauses: tuple[str, ...] = _LISTS + _OTHERS
) -> list[exp.Anonymous]:
    calls = nodes_in(select, exp.Anonymous, *clauses)
    return [call for call in calls if call.name.lower() == name]


def _the_call(select: exp.Select, name: str) -> exp.Anonymous | None:
    """The call of a SELECT; Spark refuses several that differ."""
    found, elsewhere = (_calls(select, name, clauses) for clauses in (_LISTS, _OTHERS))
    if elsewhere:
        raise not_yet(f"{name}() outside of SELECT and GROUP BY", name, elsewhere[0])
    if not all(_alike(call, found[0]) for call in found):
        raise not_yet(f"More than one {name}()", name, found[-1])
    return found[0] if found else None


def _alike(call: exp.Anonymous, other: exp.Anonymous) -> bool:
    """Whether calls are one to Spark; a name with its table and one without it may be."""
    tables: list[list[str]] = []
    copies = []
    for copied in (call.copy(), other.copy()):
        for name in copied.find_all(exp.Identifier):
            name.set("this", name.name.lower())
        columns = list(copied.find_all(exp.Column))
        tables.append([column.table for column in columns])
        for column in columns:
            column.set("table", None)
        copied.set("this", call.name)
        copies.append(copied)
    same = all(one == two or not (one and two) for one, two in zip(*tables, strict=False))
    return same and copies[0] == copies[1]


def _write_out_name(select: exp.Select, name: str, call: exp.Expr, known: Relations) -> None:
    """Put the call where its own name stands for it, ``window`` or ``window.start``, in place."""
    clauses = ["expressions", "group", "having", "qualify"]
    if name not in (item.alias.lower() for item in select.selects):
        clauses.append("order")  # in which a column of the result has precedence
    columns = nodes_in(select, exp.Column, *clauses)
    meant = [column for column in columns if column.parts[0].name.lower() == name]
    if not meant or name in names_in_from(select) or name in known.columns(select):
        return
    for column in meant:
        _replace(select, column, field_of(call.copy(), column.parts[1:]), column.name)


def _replace(select: exp.Select, written: exp.Expr, by: exp.Expr, name: str) -> None:
    """Put another expression there, under the name that Spark gives to the first."""
    alone = written.parent is select and written.arg_key == "expressions"
    written.replace(exp.alias_(by.copy(), name, copy=False) if alone else by.copy())


def not_yet(construct: str, name: str, node: exp.Expr) -> NotYetImplemented:
    """The error of a time window's call that is not maintained yet."""
    return NotYetImplemented(construct, operator=f"{name}()", **place(node))
