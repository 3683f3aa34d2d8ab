"""What a refresh leaves in dbt's log line and in run_results.json."""

from __future__ import annotations

from dataclasses import dataclass, field

from dbt.adapters.contracts.connection import AdapterResponse


@dataclass
class RefreshResponse(AdapterResponse):
    """dbt's response of a maintained model.

    Attributes:
        strategy: noop, incremental, recompute or full.
        reason: A stable code for why.
        explanation: The reason in words, with what to do.
        warning: What dbt warned of, if anything.
        rows_inserted: Rows of the state that are new.
        rows_updated: Rows of the state that changed (docs/log.md).
        rows_deleted: Rows of the state that went.
        sources: The versions read, such as ``orders@5→6``.
        fallback: Whether all rows were read where one would expect to follow what changed.
        reads: The same for programs: of each table ``source``, ``before`` (its version at the last
            refresh; None if all of its rows were read), ``version``, and ``rows`` (how many
            changed in between; None if its history does not tell).
        seconds: How long the refresh took, without hooks, grants and descriptions.
    """

    strategy: str = ""
    reason: str = ""
    explanation: str = ""
    warning: str | None = None
    rows_inserted: int | None = None
    rows_updated: int | None = None
    rows_deleted: int | None = None
    sources: list[str] = field(default_factory=list)
    fallback: bool = False
    reads: list[dict[str, str | int | None]] = field(default_factory=list)
    seconds: float | None = None
