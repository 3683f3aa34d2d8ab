"""The model's own rows as one of its sources, which dbt calls ``{{ this }}``.

They are those of the last refresh: the rows of the model's state, read like those of any other
maintained model. Before the first refresh there are none, and a query of no rows stands for them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp

from python_ivm.errors import InvalidModel
from python_ivm.parse.parser import (
    TableReference,
    parse,
    quoted_name,
    table_references,
    with_tables,
)
from python_ivm.parse.views import View, no_rows
from python_ivm.refresh.metadata.warehouse import Warehouse
from python_ivm.refresh.request import Request
from python_ivm.refresh.statement_builders import VIEW

Describe = Callable[[View], Sequence[tuple[str, str]]]
"""The columns of the model's query where its own rows are those of a view."""

_MOST = 8
"""How often types are derived from one another before they count as never settling."""

_SAY_TYPES = (
    "List all of the model's columns with their data_type in its YAML, in the query's order; "
    "CAST what the query computes to these types."
)


def stored(request: Request, warehouse: Warehouse) -> View | None:
    """The rows of a state that stands, by the text of its public view.

    The text is kept with the state, so that a view that was dropped, or that shows the state of a
    former query, says nothing about it.

    Args:
        request: The model.
        warehouse: Is asked.
    """
    try:
        text = json.loads(warehouse.properties(request.state).get(VIEW, ""))
    except ValueError:
        return None
    # In a clone's schema the text still names the state of its origin.
    state = table_references(parse(text))[0].key
    text = with_tables(text, {state: quoted_name(request.state)})
    return View(text, warehouse.namespace(), dict(warehouse.describe(text)))


def none_yet(
    request: Request, named: TableReference, warehouse: Warehouse, describe: Describe
) -> View:
    """No rows, with the columns that the query gives if its own rows have them.

    Args:
        request: The model, with its columns' types as far as the user says them.
        named: Where the model names itself.
        warehouse: Is asked for types.
        describe: Asks for the query's columns.

    Raises:
        InvalidModel: If the columns cannot be derived, or are not those that the user says.
    """
    if request.columns:
        return _as_told(request, named, warehouse, describe)
    columns: dict[str, str | None] = dict.fromkeys(_names(request, named))
    for _ in range(_MOST):
        try:
            found = describe(_view(columns, warehouse))
        except Exception as error:
            raise _unknown(named, f"the query cannot be read without them ({_told(error)})") from (
                error
            )
        derived: dict[str, str | None] = dict(found)
        if derived == columns:
            return _view(columns, warehouse)
        columns = derived
    raise _unknown(named, "their types follow from one another without an end")


def _view(columns: Mapping[str, str | None], warehouse: Warehouse) -> View:
    text = no_rows(columns)
    return View(text, ("", ""), dict(warehouse.describe(text)))


def _as_told(
    request: Request, named: TableReference, warehouse: Warehouse, describe: Describe
) -> View:
    view = _view(request.columns, warehouse)
    found, told = dict(describe(view)), view.columns
    if _lowered(found) != _lowered(told):
        raise InvalidModel(
            f"The model reads itself, and its query has the columns ({_listed(found)}), but its "
            f"YAML says ({_listed(told)})",
            line=named.line,
            column=named.column,
            hint=_SAY_TYPES,
        )
    return view


def _names(request: Request, named: TableReference) -> list[str]:
    """The names of the query's columns, as far as its text says them."""
    tree = parse(request.sql)
    first = tree
    while isinstance(first, exp.SetOperation):
        first = first.this
    names = [item.alias_or_name for item in first.selects]
    if tree.is_star or not names or not all(names):
        raise _unknown(named, "the query's text does not name its columns")
    return names


def _unknown(named: TableReference, why: str) -> InvalidModel:
    return InvalidModel(
        f"The model reads itself, and before its first build its columns are not known: {why}",
        line=named.line,
        column=named.column,
        hint=_SAY_TYPES,
    )


def _lowered(columns: Mapping[str, str]) -> list[tuple[str, str]]:
    return [(name.lower(), kind) for name, kind in columns.items()]


def _listed(columns: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in columns.items())


def _told(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
