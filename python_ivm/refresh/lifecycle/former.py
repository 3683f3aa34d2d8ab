"""The query that a state was built from, where the model's own is another one by now."""

from __future__ import annotations

import json
from dataclasses import replace

from python_ivm.refresh.metadata.versions import state_history
from python_ivm.refresh.metadata.warehouse import Warehouse
from python_ivm.refresh.model import query_hash
from python_ivm.refresh.options import OnConfigurationChange
from python_ivm.refresh.request import Request
from python_ivm.refresh.statement_builders import MODEL, QUERY
from python_ivm.state.bookmark import Bookmark


def former_request(request: Request, bookmark: Bookmark, warehouse: Warehouse) -> Request | str:
    """What was asked for when a state was built.

    The text is kept with the state. The settings that it was read under are not: under others the
    rows of the state and those of a change would be of two meanings.

    Args:
        request: What is asked for now.
        bookmark: What the state holds.
        warehouse: Is asked for the state's properties.

    Returns:
        The request with the former query; or why it cannot be followed, in words.
    """
    properties = warehouse.properties(request.state)
    kept = properties.get(MODEL) or properties.get(QUERY)
    try:
        sql = json.loads(kept or "")
    except ValueError:
        return _NOT_KEPT
    if query_hash(sql, request.settings, request.options) == bookmark.query:
        return replace(request, sql=sql)
    # Of a query over views there is then only the text over the tables below them.
    return _NOT_KEPT if bookmark.views and MODEL not in properties else _SETTINGS


def followed_request(request: Request, warehouse: Warehouse) -> Request:
    """What the next refresh follows: the former query where the user wants to go on with it."""
    if request.options.on_configuration_change is not OnConfigurationChange.CONTINUE:
        return request
    bookmark = state_history(warehouse, request.state).bookmark
    if (
        bookmark is None
        or query_hash(request.sql, request.settings, request.options) == bookmark.query
    ):
        return request
    former = former_request(request, bookmark, warehouse)
    return former if isinstance(former, Request) else request


_NOT_KEPT = "the text of the former query was not kept"
_SETTINGS = "a session setting that the former query depends on changed"
