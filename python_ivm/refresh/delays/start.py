"""How a model that reads its own rows begins: a state without rows, and what follows from it.

It is built in two commits. The first one makes the state, empty. The second one computes the query
over the sources and the empty state, and merges what it gives: so the state before the first rows
is a version like any other, and the next refresh follows the first rows as it follows all others.
"""

from __future__ import annotations

from python_ivm.errors import Internal, Unsupported
from python_ivm.parse.marks import has_marks
from python_ivm.parse.parser import table_key
from python_ivm.refresh.metadata.cached_warehouse import CachedWarehouse
from python_ivm.refresh.metadata.warehouse import Warehouse
from python_ivm.refresh.model import Model
from python_ivm.refresh.options import Output
from python_ivm.refresh.reason import Reason
from python_ivm.refresh.request import Request
from python_ivm.state.bookmark import Bookmark, Found
from python_ivm.state.log import with_step

STARTS = frozenset({"FIRST_BUILD", "FULL_REFRESH", "QUERY_CHANGED"})
"""Why a model may lose its rows: it has none, or the user said so."""

LOSES = frozenset({"STATE_MODIFIED", "STORAGE_CHANGED"})
"""What its rows do not outlive."""

STAYS = frozenset({"SOURCE_NEW", "SOURCE_RECREATED", "SOURCE_REPLACED", "VIEW_CHANGED"})
"""What says nothing against the state of a model that reads another one as before the run."""


def bookmark_at_start(model: Model, reason: Reason, number: int) -> Bookmark:
    """The bookmark of a state without rows."""
    request = model.request
    return Bookmark(
        query=model.query_hash,
        fingerprint="",
        refresh=number,
        sources={},
        model=".".join(request.view),
        project=request.project,
        state=table_key(request.state),
        storage=request.stored(),
        start=(reason.code, reason.text),
    )


def is_begun(request: Request, found: Found) -> bool:
    """Whether a state stands that is empty, and whose first rows are to come next."""
    begun = found.bookmark is not None and found.bookmark.start
    return bool(begun) and found.intact and not request.full_refresh


def readable(request: Request, warehouse: Warehouse) -> str:
    """A model's SQL; of one that reads its own rows as if it had none yet.

    Args:
        request: The model.
        warehouse: Answers questions about tables.
    """
    sql = _readable(request, warehouse)
    if request.options.output is Output.ROWS:
        return sql
    return with_step(sql)


def _readable(request: Request, warehouse: Warehouse) -> str:
    if not has_marks(request.sql) and request.view[-1].lower() not in request.sql.lower():
        return request.sql
    model = Model(request, CachedWarehouse(warehouse), start=True)
    return model.reading.text if model.delayed else request.sql


def not_maintained(reason: Reason) -> Unsupported:
    """The error for a query that reads its own rows and for which there are no rules."""
    return Unsupported(
        f"The model reads its own rows, so it has to be maintained, and cannot be "
        f"({reason.code}): {reason.words}",
        hint="Move what is not maintained into a model of its own, which this one reads.",
    )


def check_columns(fits: bool) -> None:
    """The state was made for a query that reads no rows; it has to fit the one that reads it.

    Raises:
        Internal: If it does not.
    """
    if not fits:
        raise Internal(
            "The state has other columns than the query that reads its own rows gives",
            hint="Please report it, with the model's SQL.",
        )


def rows_are_lost(reason: Reason) -> Unsupported:
    """The error where a state cannot stay whose rows only the former refreshes knew.

    Args:
        reason: Why the change is not followed.
    """
    return Unsupported(
        f"The model reads its own rows, and its state cannot stay ({reason.code}): {reason.words}. "
        "Nothing was written",
        hint="--full-refresh starts again from no rows, unless the model's config says "
        "full_refresh: false. To keep the rows, undo the change; of a state that was written, "
        "RESTORE TABLE brings a version back.",
    )
