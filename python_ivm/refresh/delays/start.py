"""How a model that reads its own rows begins: a state without rows, and what follows from it.

It is built in two commits. The first one makes the state, empty. The second one computes the query
over the sources and the empty state, and merges what it gives: so the state before the first rows
is a version like any other, and the next refresh follows the first rows as it follows all others.
"""

from __future__ import annotations

from python_ivm.errors import Unsupported
from python_ivm.parse.parser import table_key
from python_ivm.refresh.model import Model
from python_ivm.refresh.reason import Reason
from python_ivm.refresh.request import Request
from python_ivm.state.bookmark import Bookmark, Found

STARTS = frozenset({"FIRST_BUILD", "FULL_REFRESH", "QUERY_CHANGED"})
"""Why a model may lose its rows: it has none, or the user said so."""

_LOST = frozenset({"STATE_MODIFIED", "STORAGE_CHANGED"})
"""What its rows do not outlive."""


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
        storage=request.storage.value(),
        start=(reason.code, reason.text),
    )


def is_begun(request: Request, found: Found) -> bool:
    """Whether a state stands that is empty, and whose first rows are to come next."""
    begun = found.bookmark is not None and found.bookmark.start
    return bool(begun) and found.intact and not request.full_refresh


def not_maintained(reason: Reason) -> Unsupported:
    """The error for a query that reads its own rows and for which there are no rules."""
    return Unsupported(
        f"The model reads its own rows, so it has to be maintained, and cannot be "
        f"({reason.code}): {reason.words}",
        hint="Move what is not maintained into a model of its own, which this one reads.",
    )


def refuse_losing_rows(reason: Reason, fits: bool) -> None:
    """Let no rows go that only the former refreshes knew.

    Args:
        reason: Why the change is not followed.
        fits: Whether the state has the columns that the query gives.

    Raises:
        Unsupported: If the state cannot stay.
    """
    if fits and reason.code not in _LOST:
        return
    raise Unsupported(
        f"The model reads its own rows, and its state cannot stay ({reason.code}): {reason.words}. "
        "Nothing was written",
        hint="--full-refresh starts again from no rows. To keep the rows, undo the change; of a "
        "state that was written, RESTORE TABLE brings a version back.",
    )
