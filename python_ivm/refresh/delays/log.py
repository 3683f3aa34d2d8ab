"""Models that keep a log of the rows that came into their result (config ``ivm_output: inserted``).

What the query had at the last step follows from the sources as they were then. Where that is not
known any more, a rebuild would pass over what came and went meanwhile, and give all rows a new
step: the refresh fails instead, as that of a model that reads its own rows.
"""

from __future__ import annotations

from dataclasses import replace

from python_ivm.errors import Unsupported
from python_ivm.refresh.maintainability import Maintained
from python_ivm.refresh.metadata import versions
from python_ivm.refresh.model import Model
from python_ivm.refresh.reason import Reason
from python_ivm.sources.history import SourceChange
from python_ivm.state.bookmark import Bookmark


def checked(how: Maintained | Reason, number: int) -> Maintained:
    """How a log is maintained, and built by a commit of a number.

    Raises:
        Unsupported: If it cannot be, or if its query follows the clock in what it shows.
    """
    if isinstance(how, Reason):
        raise Unsupported(
            f"A log (ivm_output: inserted) has to be maintained, and cannot be ({how.code}): "
            f"{how.words}",
            hint="Move what is not maintained into a model of its own, and keep the log of that "
            "one.",
        )
    if how.query.shows:
        asked = " and ".join(sorted(how.query.shows))
        raise Unsupported(
            f"The query shows the clock ({asked}), so that all of its rows come again whenever "
            "that is read",
            hint="Ask the clock in conditions only, or leave out ivm_output: inserted.",
        )
    return how.at_step(number)


def what_is_lost(bookmark: Bookmark | None) -> list[str]:
    """What to say of a log that begins anew; nothing where there was none."""
    if bookmark is None or not bookmark.log:
        return []
    return [
        f"the log begins anew: the rows of its {bookmark.refresh:,} steps before, and when they "
        "came, are gone"
    ]


def since_last_step(model: Model, bookmark: Bookmark) -> dict[str, SourceChange] | None:
    """The sources as they are and as the last step saw them; None if one is not known any more.

    Whether they can be followed does not matter.
    """
    if model.sources.unversioned() or model.sources.redefined(bookmark):
        return None
    found: dict[str, SourceChange] = {}
    now = model.sources.current_versions()
    for table in model.tables:
        before = bookmark.sources.get(table.key)
        if before is None or (table.last and table.key_now not in bookmark.sources):
            return None
        change = (
            versions.seen_since(model.warehouse, table, bookmark.sources)
            if table.last
            else versions.change_since(model.warehouse, table.parts, before, False)
        )
        if isinstance(change, Reason):
            return None
        if not table.last:
            change = model.sources.up_to_point(table, change, bookmark)
        found[table.key] = replace(
            now[table.key], pre=change.pre, post=change.post, change=change.change
        )
    return found


def rows_are_lost(reason: Reason) -> Unsupported:
    """The error where it is not known what the query had at the last step.

    Args:
        reason: Why the change is not followed.
    """
    return Unsupported(
        f"What came since the last step cannot be told ({reason.code}): {reason.words}. Nothing "
        "was written to the log",
        hint="--full-refresh begins the log anew, unless the model's config says full_refresh: "
        "false. To keep it, undo the change; of a state that was written, RESTORE TABLE brings a "
        "version back.",
    )
