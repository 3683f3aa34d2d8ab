"""What a refresh consists of: typed statements, in order, and what to say about them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from python_ivm.optimize.cost import Execution


class Kind(Enum):
    """What a statement does."""

    KEEP_VIEW = "keep_view"
    """Lets the public view go on reading the old state while a new one is built."""
    BUILD = "build"
    """Writes the whole state and its bookmark in one commit."""
    TUNE = "tune"
    """Sets how the state's files are written."""
    MERGE = "merge"
    """Writes what changed and the bookmark in one commit."""
    DROP_TABLE = "drop_table"
    """Removes a table that stands where the view must."""
    CREATE_VIEW = "create_view"
    """Defines the public view."""


@dataclass(frozen=True)
class Statement:
    """One SQL statement.

    Attributes:
        kind: What it does.
        sql: Its text.
        bookmark: The user metadata of its commit, if it writes data.
        fence: Application id and number of its commit: the same pair is never applied twice.
        execution: How Spark is to run it.
    """

    kind: Kind
    sql: str
    bookmark: str | None = None
    fence: tuple[str, int] | None = None
    execution: Execution = Execution.USUAL

    @property
    def writes_data(self) -> bool:
        """Whether it writes rows."""
        return self.kind in (Kind.BUILD, Kind.MERGE)


class Strategy(Enum):
    """How a model is refreshed."""

    NOOP = "noop"
    INCREMENTAL = "incremental"
    FULL = "full"


@dataclass(frozen=True)
class Refresh:
    """A planned refresh.

    Attributes:
        strategy: How.
        reason: A stable code for why, such as ``QUERY_CHANGED``.
        explanation: The reason in words.
        statements: What to run, in order; for a noop at most one that keeps the bookmark.
        ranges: The read versions of each source, such as ``orders@5→6``.
        warning: What to warn of, if anything.
    """

    strategy: Strategy
    reason: str
    explanation: str
    statements: tuple[Statement, ...] = ()
    ranges: tuple[str, ...] = ()
    warning: str | None = None

    @property
    def computes_anew(self) -> bool:
        """Whether it computes the query, and writes the rows in which the state differs."""
        return self.reason == "COMPUTED_ANEW"

    def summary(self, inserted: int = 0, updated: int = 0, deleted: int = 0) -> str:
        """The log line: strategy, rows of the state that changed, and from what."""
        if self.strategy is Strategy.NOOP:
            return f"noop: {self.explanation}"
        if self.strategy is Strategy.FULL:
            return f"full ({self.reason}): {self.explanation}"
        rows = f"+{inserted} ~{updated} -{deleted} rows"
        told = f"{rows} from {', '.join(self.ranges)}" if self.ranges else rows
        if self.computes_anew:
            return f"incremental ({self.reason}): {told}; {self.explanation}"
        return f"incremental: {told}"
