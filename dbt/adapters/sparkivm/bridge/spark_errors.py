"""What Spark's errors mean for a refresh: what can be done instead, and what is to blame."""

from __future__ import annotations

import re
from dataclasses import replace

from python_ivm.refresh.plan import Refresh
from python_ivm.refresh.reason import Reason
from python_ivm.state.rows import COLLISION
from python_ivm.state.totals import OVERFLOW


def _any_of(*signs: str) -> re.Pattern[str]:
    """A pattern that finds any of some texts."""
    return re.compile("|".join(re.escape(sign) for sign in signs))


_CONFLICT = _any_of(
    "DELTA_CONCURRENT_",
    "ConcurrentTransactionException",
    "ConcurrentAppendException",
    "ConcurrentWriteException",
    "ProtocolChangedException",
    "MetadataChangedException",
)
_FEED_GAP = _any_of(
    "DELTA_MISSING_CHANGE_DATA",
    "DELTA_CHANGE_DATA_F",
    "DELTA_CDC_START_VERSION_AFTER_LATEST",
    "DELTA_INVALID_CDC_RANGE",
    "DELTA_LOG_FILE_NOT_FOUND",
    "DELTA_VERSION_NOT_FOUND",
    "DELTA_FILE_NOT_FOUND",
    "DELTA_UNSUPPORTED_TIME_TRAVEL_BEYOND_DELETED_FILE_RETENTION_DURATION",
    "FAILED_READ_FILE.FILE_NOT_EXIST",
    "PARQUET_COLUMN_DATA_TYPE_MISMATCH",
)
_TWO_ROWS = _any_of(COLLISION, "DELTA_MULTIPLE_SOURCE_ROW_MATCHING_TARGET_ROW_IN_MERGE")
_TOO_LARGE = _any_of(OVERFLOW, "ARITHMETIC_OVERFLOW", "NUMERIC_VALUE_OUT_OF_RANGE")
_ENDLESS = _any_of("RECURSION_LEVEL_LIMIT_EXCEEDED", "RECURSION_ROW_LIMIT_EXCEEDED")
# A table made from a char(n) has one, too, though Spark calls it a string wherever it is asked.
_INTO_CHAR = _any_of("DELTA_MERGE_RESOLVED_ATTRIBUTE_MISSING_FROM_INPUT")
_DRIFT = _any_of("CHECK constraint ivm_count")
# Of a task of it, or how a cluster tells that an executor ended by it.
_OUT_OF_MEMORY = re.compile(r"java\.lang\.OutOfMemoryError|exited with code 52\b")
# Spark's errors of values, and those that a query raises itself (raise_error, assert_true).
_VALUE = re.compile(r"SQLSTATE: (22\w{3}|P0001)")
# Spark's errors of analysis, and those of its own.
_REFUSED = re.compile(r"Table does not support reads|SQLSTATE: (42\w{3}|0A000|XX000)")
_NO_MEMORY = "Not enough memory to build and broadcast"
# The file that a task reads: of Spark 4, of Spark 3.5.
_UNREADABLE = re.compile(r"rror while reading file (\S+?)\.?(?:\s|$)")
# Spark's optimizer fails on conditions that hold below a UNION where one asks a subquery.
_CONSTRAINTS_FAILED = re.compile(r"key not found: \S+#\d+")

_FALLBACKS = (
    (_FEED_GAP, Reason("CHANGE_FEED_GAP", "the sources' changes cannot be read"), True),
    (_TWO_ROWS, Reason("HASH_COLLISION", COLLISION), False),
    (_TOO_LARGE, Reason("SUM_OVERFLOW", "a number grew too large on the way"), True),
    (_ENDLESS, Reason("RECURSION_LIMIT", "the change went on for too many rounds"), True),
    (
        _INTO_CHAR,
        Reason(
            "NOT_YET_IMPLEMENTED",
            "Delta cannot merge into columns of type char(n)",
            details="cast them to string",
        ),
        False,
    ),
    (
        _DRIFT,
        Reason(
            "STATE_DRIFTED",
            "a row would have had a negative count, as the state does not fit its sources",
            details="the view is right again; please report it with dbt.log",
        ),
        False,
    ),
    (
        _OUT_OF_MEMORY,
        Reason("OUT_OF_MEMORY", "an executor's memory was too small for the change"),
        True,
    ),
    (
        _VALUE,
        Reason(
            "VALUE_ERROR",
            "an expression failed on an old and a new row that only a refresh brings together",
        ),
        True,
    ),
    (_REFUSED, Reason("PLANNER_ERROR", "Spark refused the planned statement"), True),
)
"""The errors after which all rows are read: what tells of one, the reason, and whether the first
line of what Spark says belongs to it. The first that fits counts."""


def fallback(message: str) -> Reason | None:
    """Why a refresh that failed can be replaced by one from all rows; None if it cannot.

    Args:
        message: What Spark says.
    """
    for sign, reason, is_told in _FALLBACKS:
        if sign.search(message):
            return replace(reason, details=message.strip().splitlines()[0]) if is_told else reason
    return None


def too_many_rounds(refresh: Refresh, message: str) -> Reason | None:
    """Why the change of a recursion is not followed whose rounds fill Spark's memory.

    Args:
        refresh: What failed.
        message: What Spark says.
    """
    recursive = any("WITH RECURSIVE" in statement.sql for statement in refresh.statements)
    if not recursive or _NO_MEMORY not in message:
        return None
    return Reason("RECURSION_LIMIT", "the change went on until Spark's memory was full")


def is_conflict(message: str) -> bool:
    """Whether Delta says that another run committed meanwhile."""
    return _CONFLICT.search(message) is not None


def is_of_value(message: str) -> bool:
    """Whether an expression failed for some row."""
    return _VALUE.search(message) is not None


def is_of_constraints(message: str) -> bool:
    """Whether Spark's optimizer failed where it infers what holds of a plan's rows."""
    return _CONSTRAINTS_FAILED.search(message) is not None


def unreadable_file(message: str) -> str | None:
    """The file that is gone or broken; None if the error is another one."""
    found = _UNREADABLE.search(message)
    return found[1] if found is not None else None
