"""Whose state a table is: what a build would replace must be the model's own."""

from __future__ import annotations

from python_ivm.errors import InvalidModel
from python_ivm.refresh.request import Request, Warehouse
from python_ivm.refresh.statements import QUERY
from python_ivm.render.sources import relation_name
from python_ivm.state.bookmark import Bookmark


def refuse_foreign_table(request: Request, warehouse: Warehouse) -> None:
    """For a model without a bookmark: let nothing stand in the state's place.

    Raises:
        InvalidModel: If something does that no refresh made.
    """
    state = request.state
    if warehouse.columns(state) is None:
        return
    own = warehouse.history(state, 1) and QUERY in warehouse.properties(state)
    if not own:
        raise InvalidModel(
            f"{relation_name(state)} exists and is no state of a maintained model",
            hint="Drop it, or give the model another ivm_state_suffix.",
        )


def refuse_state_of_another_model(request: Request, bookmark: Bookmark) -> None:
    """Two models that share a state, by suffix or by location, would rebuild it in turn.

    Raises:
        InvalidModel: If the bookmark is another model's.
    """
    own = ".".join(request.view)
    if bookmark.model.lower() != own.lower():
        raise InvalidModel(
            f"{relation_name(request.state)} is the state of {bookmark.model}",
            hint="Give one of the two models another ivm_state_suffix or location_root. If the "
            "other one is gone, drop the table.",
        )
