"""What the user's policy makes of a refresh that does not follow what changed."""

from __future__ import annotations

from collections.abc import Sequence

from python_ivm.errors import Unsupported
from python_ivm.parse.parser import TableReference
from python_ivm.refresh.metadata import versions
from python_ivm.refresh.metadata.warehouse import Warehouse
from python_ivm.refresh.options import Policy
from python_ivm.refresh.reason import Reason
from python_ivm.refresh.request import Request
from python_ivm.render.sources import relation_name

_ALWAYS_WARN = frozenset(
    {"SOURCE_NOT_DELTA", "STATE_MODIFIED", "STATE_NEWER", "PLANNER_ERROR", "NOT_PARSED"}
)
_OF_THE_QUERY = frozenset({"NOT_YET_IMPLEMENTED", "NOT_PARSED", "SOURCE_NOT_DELTA"})


def check_change_feeds(
    request: Request, warehouse: Warehouse, tables: Sequence[TableReference]
) -> Reason | None:
    """Switch missing change feeds on where that is allowed, else say what to do."""
    for table in tables:
        if warehouse.history(table.parts, 1):
            column = versions.not_of_a_feed(warehouse, table.parts)
            if column is not None:
                return versions.without_feed(table.parts, column)
        if versions.has_change_feed(warehouse, table.parts):
            continue
        if request.options.enable_change_feed:
            warehouse.enable_change_feed(table.parts)
            continue
        name = relation_name(table.parts)
        return Reason(
            "CHANGE_FEED_OFF",
            f"{name} has no change feed",
            details="so the view is recomputed from all rows at each change; to avoid that, run "
            f"ALTER TABLE {name} SET TBLPROPERTIES (delta.enableChangeDataFeed = true), "
            "or set ivm_enable_change_feed: true in the model's config",
        )
    return None


def with_advice(reason: Reason, feeds: Reason | None) -> Reason:
    """Of a change feed that cannot be read since it is off, what to do about it."""
    return feeds if feeds is not None and reason.code == "CHANGE_FEED_GAP" else reason


def refuse_under_strict(request: Request, reason: Reason, feeds: Reason | None) -> None:
    """Let the policy ``strict`` refuse what stands in for following a change.

    Args:
        request: The model.
        reason: Why what changed is not followed.
        feeds: Why the next change cannot be; None if it can.

    Raises:
        Unsupported: With the reason.
    """
    refused = reason if reason.fallback else feeds
    if request.options.policy is not Policy.STRICT or refused is None:
        return
    raise Unsupported(
        f"ivm_policy is strict, but the model would be computed from all rows "
        f"({refused.code}): {refused.words}",
        hint=_what_to_do(refused, feeds),
    )


def _what_to_do(refused: Reason, feeds: Reason | None) -> str:
    """What helps under ``strict``: a rebuild does not, if the next change cannot be followed."""
    if refused.code in _OF_THE_QUERY:
        return "Change the model, or set ivm_policy: auto."
    if feeds is not None:
        return "Give the source a change feed, or set ivm_policy: auto."
    return "Change the model or its source, or run once with --full-refresh."


def forbids(request: Request) -> str:
    """What of a model's configuration forbids a change, with the verb."""
    if request.full_refresh is False:
        return "full_refresh: false forbids"
    return "on_configuration_change: fail forbids"


def how_to_allow(request: Request) -> str:
    """What to do about it."""
    if request.full_refresh is False:
        return (
            "Undo the change, or take full_refresh: false out of the model's config and run once "
            "with --full-refresh. The config wins over the flag."
        )
    return "Run with --full-refresh, or set on_configuration_change: apply."


def warning(request: Request, reason: Reason, feeds: Reason | None, done: str) -> str | None:
    """What dbt warns of, if anything.

    Args:
        request: The model.
        reason: Why what changed is not followed.
        feeds: Why the next change cannot be; None if it can.
        done: What is done instead.
    """
    told = []
    loud = request.options.policy is Policy.INCREMENTAL or reason.code in _ALWAYS_WARN
    if reason.fallback and loud:
        told.append(f"{done} ({reason.code}): {reason.words}")
    if feeds is not None and reason.code != feeds.code:
        told.append(feeds.words)
    return f"{request.model}: {'; '.join(told)}" if told else None
