"""Whose state a table is: what a build would replace must be the model's own."""

from __future__ import annotations

from python_ivm.errors import InvalidModel, IvmError
from python_ivm.parse.parser import parse, table_key, table_references
from python_ivm.refresh.metadata.versions import state_history
from python_ivm.refresh.metadata.warehouse import Warehouse
from python_ivm.refresh.request import Request
from python_ivm.refresh.statement_builders import QUERY, VIEW
from python_ivm.render.sources import relation_name
from python_ivm.state.bookmark import Bookmark


def refuse_foreign_table(request: Request, warehouse: Warehouse) -> None:
    """For a model without a bookmark: let nothing stand in the state's place.

    Raises:
        InvalidModel: If something does that no refresh made.
    """
    state = request.state
    if warehouse.columns(state) is None:
        _refuse_taken_location(request, warehouse)
        return
    own = warehouse.history(state, 1) and QUERY in warehouse.properties(state)
    if not own and not state_history(warehouse, state).newer:
        raise InvalidModel(
            f"{relation_name(state)} exists and is no state of a maintained model",
            hint="Drop it, or give the model another ivm_state_suffix.",
        )


def refuse_state_of_another_model(request: Request, bookmark: Bookmark) -> None:
    """Two models that share a state, by suffix or by location, would rebuild it in turn.

    Raises:
        InvalidModel: If the bookmark is another model's.
    """
    if bookmark.model.lower() != table_key(request.view):
        raise _another(relation_name(request.state), bookmark)


def refuse_to_leave_rows(request: Request, warehouse: Warehouse) -> None:
    """For a model without a state: let it not begin anew beside rows that only its state has.

    Those of a log, and of a model that reads its own rows, cannot be computed again.

    Raises:
        InvalidModel: If the public view shows such a state under another name, and nobody said
            that the model may begin anew.
    """
    if request.full_refresh or request.view_text is None:
        return
    try:
        state = shown_table(request.view_text, request.view[-2])
    except IvmError:
        return  # it is none of a refresh
    if state is None or table_key(state) == table_key(request.state[-2:]):
        return
    bookmark = state_history(warehouse, state).bookmark
    if bookmark is None or bookmark.model.lower() != table_key(request.view):
        return
    if keeps_rows(warehouse, state, bookmark):
        now, then = relation_name(request.state), relation_name(state)
        name = request.view[-1]
        move = f", or move its rows by `dbt-sparkivm rename {name} {name}`" if bookmark.log else ""
        raise InvalidModel(
            f"Its rows are in {then}, and cannot be computed again; its configuration says {now} "
            "now",
            hint=f"Take back ivm_state_suffix and ivm_state_schema{move}. With --full-refresh it "
            "begins anew, without them.",
        )


def keeps_rows(warehouse: Warehouse, state: tuple[str, ...], bookmark: Bookmark) -> bool:
    """Whether a state has rows that no query gives again.

    Args:
        warehouse: Is asked for the state's properties.
        state: The table.
        bookmark: Its bookmark.
    """
    return bookmark.log or VIEW in warehouse.properties(state)


def shown_table(text: str, schema: str) -> tuple[str, str] | None:
    """The one table that a view shows, whose bag's rows it may read twice; None if it has several.

    Args:
        text: The view's text.
        schema: Where a name alone is.

    Raises:
        IvmError: If the text cannot be read.
    """
    tables = table_references(parse(text))
    if len({table.key for table in tables}) != 1:
        return None
    *schemas, name = tables[0].parts
    return (schemas[-1] if schemas else schema, name)


def _refuse_taken_location(request: Request, warehouse: Warehouse) -> None:
    """Where two schemas have one location_root, their tables differ, but not the tables' files."""
    if not request.location:
        return
    bookmark = state_history(warehouse, ("delta", request.location)).bookmark
    if bookmark is not None and bookmark.model.lower() != table_key(request.view):
        raise _another(request.location, bookmark)


def _another(what: str, bookmark: Bookmark) -> InvalidModel:
    return InvalidModel(
        f"{what} is the state of {bookmark.model}",
        hint="Give one of the two models another ivm_state_suffix or location_root. If the "
        "other one is gone, drop the table.",
    )
