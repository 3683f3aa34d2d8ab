"""Generator functions (explode, inline, stack …) in one form, wherever they stand in a query.

The form is a LATERAL VIEW, or a function in FROM, whose columns are named.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sqlglot import exp

from python_ivm.errors import NotYetImplemented
from python_ivm.functions.aggregates import has_aggregate
from python_ivm.functions.generators import is_generator
from python_ivm.parse.trees import from_items, names_in_from, position, spelled
from python_ivm.qualify.relations import Relations

if TYPE_CHECKING:
    pass


def as_lateral_views(select: exp.Select, known: Relations) -> None:
    """Name the columns of a SELECT's generators, and move those of its list to LATERAL VIEWs.

    Args:
        select: Changed in place; its subqueries are in this form already.
        known: Knows arrays from maps, where the query does not name the columns.

    Raises:
        NotYetImplemented: If the columns' names are not known, or a generator stands above
            GROUP BY.
    """
    for item in from_items(select):
        if isinstance(item, exp.Table) and isinstance(item.this, exp.Func):
            _name_columns(item, select, known)
        if isinstance(item, exp.Lateral) and is_generator(item.this):
            _name_columns(item, select, known)
    for lateral in select.args.get("laterals") or []:
        _name_columns(lateral, select, known)
    _move_from_list(select, known)


def _name_columns(item: exp.Expr, select: exp.Select, known: Relations) -> None:
    if item.args.get("ordinality"):
        raise NotYetImplemented(
            "WITH ORDINALITY", operator="WITH ORDINALITY", **position(item.this)
        )
    alias = item.args.get("alias") or exp.TableAlias()
    if not alias.args.get("columns"):
        names = _default_names(item.this, lambda argument: known.type_of(select, argument))
        alias.set("columns", [exp.to_identifier(name) for name in names])
        item.set("alias", alias)


def _default_names(call: exp.Expr, type_of: Callable[[exp.Expr], exp.DataType]) -> list[str]:
    """The names that Spark gives to a generator's columns."""
    if isinstance(call, exp.Anonymous):
        name = call.name.lower()
        if name == "range":
            return ["id"]
        if name in ("variant_explode", "variant_explode_outer"):
            return ["pos", "key", "value"]
        if name == "json_tuple":
            return [f"c{n}" for n in range(len(call.expressions) - 1)]
        if name == "inline_outer":
            return _fields(call, type_of(call.expressions[0]))
    if isinstance(call, exp.Stack) and call.this.is_int:
        return [f"col{n}" for n in range(-(-len(call.expressions) // int(call.this.name)))]
    if isinstance(call, exp.Inline):
        return _fields(call, type_of(call.this))
    if isinstance(call, (exp.Explode, exp.ExplodeOuter)):
        kind = type_of(call.this)
        names = {exp.DType.ARRAY: ["col"], exp.DType.MAP: ["key", "value"]}.get(kind.this)
        if names is not None:
            return ["pos", *names] if isinstance(call, exp.Posexplode) else names
    raise _unnamed(call)


def _fields(call: exp.Expr, kind: exp.DataType) -> list[str]:
    structs = kind.expressions[0] if kind.this is exp.DType.ARRAY and kind.expressions else None
    if not isinstance(structs, exp.DataType) or structs.this is not exp.DType.STRUCT:
        raise _unnamed(call)
    return [field.name for field in structs.expressions]


def _unnamed(call: exp.Expr) -> NotYetImplemented:
    return NotYetImplemented(
        f"{_shown(call)} without names for its columns",
        operator=_shown(call),
        hint="Name them by AS.",
        **position(call),
    )


def _move_from_list(select: exp.Select, known: Relations) -> None:
    """``select k, explode(xs) as x from t`` as ``select k, g.x from t lateral view …``."""
    found = [(item, item.unalias()) for item in select.expressions]
    found = [
        (item, item.this if isinstance(item, exp.Aliases) else call)
        for item, call in found
        if is_generator(item.this if isinstance(item, exp.Aliases) else call)
    ]
    if not found:
        return
    item, call = found[0]
    others = [e for e in select.expressions if e is not item]
    grouped = any(select.args.get(k) for k in ("group", "having", "qualify"))
    if (
        len(found) > 1
        or grouped
        or any(has_aggregate(e) for e in others)
        or select.find(exp.Window)
    ):
        raise NotYetImplemented(
            f"{_shown(call)} beside aggregates, window functions or another generator",
            operator=_shown(call),
            hint="Use LATERAL VIEW, or a derived table for one of them.",
            **position(call),
        )
    if isinstance(item, exp.Aliases):
        names = [alias.name for alias in item.aliases if alias.name]
    elif isinstance(item, exp.Alias):
        names = [item.alias]
    else:
        names = _default_names(call, lambda argument: known.type_of(select, argument))
    pairs = zip(hidden_view(select, call.copy(), names), names, strict=True)
    shown = [exp.alias_(column, name, quoted=True, copy=False) for column, name in pairs]
    lists = [shown if other is item else [other] for other in select.expressions]
    select.set("expressions", [e for items in lists for e in items])


def hidden_view(select: exp.Select, call: exp.Expr, names: list[str]) -> list[exp.Column]:
    """Add a LATERAL VIEW that a SELECT's ``*`` does not show, in place.

    Args:
        select: Gets the view behind those that it has.
        call: The generator.
        names: What the generator's columns are called in Spark.

    Returns:
        The columns.
    """
    taken = names_in_from(select)
    number = len(select.args.get("laterals") or []) + 1
    while f"generated_{number}" in taken:
        number += 1
    relation = f"generated_{number}"
    own = [exp.to_identifier(f"{relation}_{name}", quoted=True) for name in names]
    alias = exp.TableAlias(this=exp.to_identifier(relation), columns=own)
    for star in select.expressions:
        if isinstance(star, exp.Star):
            star.set("except_", [*(star.args.get("except_") or []), *(o.copy() for o in own)])
    select.append("laterals", exp.Lateral(this=call, view=True, alias=alias))
    return [exp.column(o.copy(), table=relation, quoted=True) for o in own]


# -- binding -----------------------------------------------------------------------------------


def _shown(call: exp.Expr) -> str:
    return f"{spelled(call)}()"
