"""One statement of a refresh: what it does, and how Spark is to run it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from python_ivm.loops.run import Rounds
from python_ivm.optimize.cost import Execution


class StatementKind(Enum):
    """What a statement does."""

    CREATE_SCHEMA = "create_schema"
    """Makes the state's own schema, if it is missing."""
    KEEP_VIEW = "keep_view"
    """Lets the public view go on reading the old state while a new one is built."""
    BUILD = "build"
    """Writes the whole state and its bookmark in one commit."""
    INSERT = "insert"
    """Writes the first rows of an empty state, and the bookmark, in one commit."""
    REWRITE = "rewrite"
    """Writes all rows of the state in place of those it has, and the bookmark, in one commit."""
    TUNE = "tune"
    """Sets how the state's files are written."""
    TIDY = "tidy"
    """Writes files together, or removes those that no version needs; changes no row."""
    LOOP = "loop"
    """Runs the model's loop, and shows its rows to the statements that follow."""
    MERGE = "merge"
    """Writes what changed and the bookmark in one commit."""
    DROP_TABLE = "drop_table"
    """Removes a table that stands where the view must."""
    ALTER = "alter"
    """Changes what is kept with the state, and none of its rows."""
    CLONE = "clone"
    """Makes a clone, and tells in its commit of what."""
    DROP_STATE = "drop_state"
    """Removes a state, or all of its rows, to make room for another one."""
    DROP_VIEW = "drop_view"
    """Removes the public view that a model had under its former name."""
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
        loop: The loop that it runs, if it is of that kind: its text is then what Spark is asked.
    """

    kind: StatementKind
    sql: str
    bookmark: str | None = None
    fence: tuple[str, int] | None = None
    execution: Execution = Execution.USUAL
    loop: Rounds | None = None

    @property
    def writes_data(self) -> bool:
        """Whether it writes rows."""
        return self.kind in (
            StatementKind.BUILD,
            StatementKind.INSERT,
            StatementKind.REWRITE,
            StatementKind.MERGE,
            StatementKind.CLONE,
        )
