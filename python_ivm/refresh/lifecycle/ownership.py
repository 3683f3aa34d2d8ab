"""Whose state a table is: what a build would replace must be the model's own."""

from __future__ import annotations

from python_ivm.errors import InvalidModel
from python_ivm.parse.parser import table_key
from python_ivm.refresh.metadata.versions import state_history
from python_ivm.refresh.metadata.warehouse import Warehouse
from python_ivm.refresh.request import Request
from python_ivm.refresh.statement_builders import QUERY
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
