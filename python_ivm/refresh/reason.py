"""Why a model is refreshed as it is."""

from __future__ import annotations

from dataclasses import dataclass

from python_ivm.errors import IvmError


@dataclass(frozen=True)
class Reason:
    """Why a model is refreshed as it is: followed, recomputed, or rebuilt in full.

    Attributes:
        code: A stable code.
        text: The same in words: one short sentence, for the line that dbt logs of a model.
        fallback: Whether it stands in for a refresh that the user expects to be incremental; a
            first build or one that was asked for does not.
        details: What else there is to know: what Spark said, what the user can do.
        line: The line of the model's compiled SQL that stands in the way, counted from 1.
        column: The column in it, likewise.
    """

    code: str
    text: str
    fallback: bool = True
    details: str = ""
    line: int | None = None
    column: int | None = None

    @property
    def words(self) -> str:
        """All that there is to say."""
        return f"{self.text}; {self.details}" if self.details else self.text


LOOP_RUN_ANEW = Reason("LOOP", "the loop is run anew over its sources", False)


def not_yet(error: IvmError) -> Reason:
    """The reason that an error of the binding is, with its place."""
    place = f" at line {error.line}, column {error.column}" if error.line else ""
    return Reason(
        "NOT_YET_IMPLEMENTED",
        f"{error.message.rstrip('.')} is not maintained yet{place}",
        details=error.hint or "",
        line=error.line,
        column=error.column,
    )


def not_parsed(error: IvmError) -> Reason:
    """The reason that a text is which only Spark can read."""
    place = f" at line {error.line}, column {error.column}" if error.column else ""
    return Reason(
        "NOT_PARSED",
        f"Spark can read the query, but the planner cannot{place}",
        details=f"the tables that it reads are therefore not known: {error.message}"
        + (f"; {error.hint}" if error.hint else ""),
        line=error.line,
        column=error.column,
    )


def planner_error(error: Exception, of_warehouse: Exception | None) -> Reason:
    """A bug of the planner: the view is right all the same, and the bug is not hidden.

    Args:
        error: What was raised.
        of_warehouse: The last error of the warehouse. It is no bug, and raised again.
    """
    if error is of_warehouse:
        raise error
    return Reason(
        "PLANNER_ERROR",
        "the planner failed on this query; please report it",
        details=f"{type(error).__name__}: {error}",
    )
