"""The errors that the planner raises: typed, with a position and what the user can do."""

from __future__ import annotations


class IvmError(Exception):
    """Base of every error of the planner; its text begins with its code.

    Attributes:
        message: What is wrong, in one sentence.
        line: Line in the model's compiled SQL, counted from 1.
        column: Column in that line, counted from 1.
        operator: The SQL construct concerned, such as ``LEFT JOIN``.
        hint: What the user can do.
        model: The model's name, where known.
    """

    code = "IVM_ERROR"

    def __init__(
        self,
        message: str,
        *,
        line: int | None = None,
        column: int | None = None,
        operator: str | None = None,
        hint: str | None = None,
        model: str | None = None,
    ) -> None:
        """Take the message and the attributes of the same names."""
        super().__init__(message)
        self.message = message
        self.line = line
        self.column = column
        self.operator = operator
        self.hint = hint
        self.model = model

    def __str__(self) -> str:
        """Render as ``[CODE] model m, line 3, column 7: message. hint``."""
        place = [f"model {self.model}"] if self.model else []
        if self.line is not None:
            place.append(f"line {self.line}, column {self.column}")
        prefix = f"[{self.code}]"
        if place:
            prefix += " " + ", ".join(place) + ":"
        parts = [f"{prefix} {self.message.rstrip('.')}."]
        if self.hint:
            parts.append(self.hint)
        return " ".join(parts)


class InvalidModel(IvmError):
    """The model's SQL or configuration is wrong; the user must change it."""

    code = "IVM_INVALID_MODEL"


class LoopNotExecutable(InvalidModel):
    """A loop without a delay takes back what it was made of: no order of its operators is right."""

    code = "IVM_LOOP_NOT_EXECUTABLE"


class LoopNotEnded(IvmError):
    """A loop went on past its limits, or comes back to the same rows for ever."""

    code = "IVM_LOOP_NOT_ENDED"


class NotParsed(InvalidModel):
    """The planner cannot read the SQL; if Spark can, the model is rebuilt at every run."""


class ReadOtherwise(NotParsed):
    """The planner reads the SQL, and a setting of the session gives it another meaning."""


class Unsupported(IvmError):
    """The query can never be maintained as it stands, for a reason that the message gives."""

    code = "IVM_UNSUPPORTED"


class NotYetImplemented(IvmError):
    """Legal, but the planner has no rule for it yet: the model is rebuilt in full."""

    code = "IVM_NOT_YET_IMPLEMENTED"


class Conflict(IvmError):
    """Another run refreshed the same model at the same time."""

    code = "IVM_CONFLICT"


class Internal(IvmError):
    """A broken invariant of the planner: a bug, never the user's fault."""

    code = "IVM_INTERNAL"
