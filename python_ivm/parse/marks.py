"""Comments behind a relation's name in the compiled SQL, which say as of when it is read.

The relation has its own name, so that Spark can run the text.
"""

from __future__ import annotations

import re
from enum import Enum


class Mark(Enum):
    """As of when a relation is read."""

    PREVIOUS = "ivm_previous"
    """As it was before the run: another model's rows."""
    NEW = "ivm_new"
    """Its rows that came since the model's last step."""
    LAST = "ivm_last"
    """As the model's last step saw it."""

    @property
    def comment(self) -> str:
        """How it stands in a text."""
        return f"/* {self.value} */"


_BEHIND = re.compile(r"\s*/\*\s*(ivm_previous|ivm_new|ivm_last)\s*\*/")


def mark_at(sql: str, end: int) -> Mark | None:
    """The mark that follows a name.

    Args:
        sql: The text.
        end: Offset behind the name's last character.
    """
    found = _BEHIND.match(sql, end)
    return Mark(found[1]) if found else None


def has_marks(sql: str) -> bool:
    """Whether a text has a mark anywhere."""
    return _BEHIND.search(sql) is not None


AS_OF_LAST = "@last"
"""What the planner's key and name of a table as of the last step end with."""
