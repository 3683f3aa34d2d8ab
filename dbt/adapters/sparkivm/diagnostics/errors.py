"""Spark's errors as dbt shows them: the message and the place in the SQL, not Java's stack."""

from __future__ import annotations

import logging
import re

from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError

_CONTEXT_LINES = 2
_POINTER = re.compile(r"^-*\^+-*$")
_SQL_HEADER = re.compile(r"^== SQL.*==$")
_STACK_LINE = re.compile(
    r"^\s*(at \S+\(.*\)|\.\.\. \d+ more|(Driver|JVM) stacktrace:.*)$|^\s+Suppressed: "
)
# "...; line 1 pos 7;" is followed by the logical plan, of any length.
_PLAN = re.compile(r"(; line \d+ pos \d+)?;\n(?=['+!:A-Z]).*", re.DOTALL)
_TASK_FAILED = re.compile(r"^Job aborted due to stage failure: .*?\): ", re.DOTALL)
_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_]*(?:\.[A-Z0-9_]+)*)\]")
# "a.b.SomeException: ..." of this process's Spark, "(a.b.SomeException) ..." of Spark Connect.
# Without the name of an OutOfMemoryError "Java heap space" would say nothing.
_CLASS = r"(?:[a-z][\w$]*\.)+(?!OutOfMemoryError)[A-Z][\w$]*(?:Exception|Error)"
_CLASS_NAMES = re.compile(rf"^(?:\({_CLASS}\) |{_CLASS}: )+(?=\S)")
# Say where something failed, and not what: that is in the causes of the trace.
_WRAPPER = re.compile(r"^\[(TASK_WRITE_FAILED|FAILED_READ_FILE\.NO_HINT)\]")
_CAUSE = re.compile(
    r"^Caused by: (.*?)(?=^\s+at |^\s*\.\.\. \d+ more|\Z)", re.DOTALL | re.MULTILINE
)
# Of Linux and macOS, of a quota, of Windows, of Derby.
_FULL_DISK = re.compile(
    r"No space left on device|Disk quota exceeded|not enough space on the disk"
    r"|check if the disk is full"
)
_DISK_ADVICE = "The disk is full"
# Of Spark and Unity Catalog, of Hive and HDFS, of S3, of a file system.
_FORBIDDEN = re.compile(
    r"PERMISSION_DENIED|INSUFFICIENT_(?:PERMISSIONS|PRIVILEGES)|SQLSTATE: 42501"
    r"|AccessControlException|AccessDenied|Permission denied|Read-only file system"
)
_PRIVILEGES = (
    "dbt's user may not do this. It needs SELECT on what a model reads, and CREATE TABLE, CREATE "
    "VIEW, MODIFY and DROP in the schemas of views and states: grant what is missing, and run "
    "again."
)

_GONE = (
    "Spark does not answer any more: its process ended or was killed, or its machine cannot be "
    "reached. Run again: what it was writing either happened as a whole or not at all."
)

_NAME = re.compile(r"\[INVALID_SCHEMA_OR_RELATION_NAME\]")
_NAME_ADVICE = "Give the model another alias or schema."


def silence_pyspark() -> None:
    """Keep PySpark from printing each error as JSON with Java's trace: dbt shows it already."""
    try:
        from pyspark.logger import PySparkLogger  # not needed by those who only render messages
    except ModuleNotFoundError:  # PySpark 3.5, which prints nothing
        return

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL + 1)


def as_dbt_error(error: Exception) -> DbtRuntimeError:
    """The error to raise for one that Spark raised; dbt adds the model's name and file to it.

    Args:
        error: what PySpark or py4j raised.

    Returns:
        A DbtDatabaseError whose message is Spark's; or `error` itself if it is already dbt's.
    """
    if isinstance(error, DbtRuntimeError):
        return error
    return DbtDatabaseError(_with_state(explained(error), error))


def explained(error: Exception) -> str:
    """What a person is told of an error that Spark raised: its message, and what it leaves out."""
    if _is_gone(error):
        return _GONE
    message, trace = render(message_of(error)), trace_of(error)
    if _WRAPPER.match(message):
        for cause in _causes(trace):
            message += f"\n{cause}" if cause not in message else ""
    return advised(message, trace)


def advised(message: str, trace: str = "") -> str:
    """A message, with what to do if it or its trace tells of a full disk, or of a refusal."""
    full = _FULL_DISK.search(message) or _FULL_DISK.search(trace)
    if full is not None:
        where = "make room for Spark's tables, or for its temporary files (spark.local.dir)"
        advice = f"{_DISK_ADVICE} ({full[0]}): {where}, and run again.\n"
        return message if message.startswith(_DISK_ADVICE) else f"{advice}{message}"
    refused = _FORBIDDEN.search(message) is not None and _PRIVILEGES not in message
    return f"{message}\n{_PRIVILEGES}" if refused else message


def tells_of_full_disk(message: str) -> bool:
    """Whether a message says that a disk is full."""
    return bool(_FULL_DISK.search(message))


def is_hopeless(message: str) -> bool:
    """Whether no other statement would fare better: a disk is full, or a privilege is missing."""
    return tells_of_full_disk(message) or _FORBIDDEN.search(message) is not None


def _with_state(message: str, error: Exception) -> str:
    """The message with its SQLSTATE, which Spark 3.5 leaves out, at the end of its first line."""
    condition = _CONDITION.search(message)
    if condition is None or "SQLSTATE" in message:
        return message
    try:
        state = _state(error, condition[1])
    except Exception:  # a condition of others than Spark, or a JVM that is gone
        return message
    first, newline, rest = message.partition("\n")
    return f"{first} SQLSTATE: {state}{newline}{rest}" if state else message


def _state(error: Exception, condition: str) -> str | None:
    """The SQLSTATE of an error: its own, or of a task's error that it only quotes."""
    ask = getattr(error, "getSqlState", None)
    if ask is not None:
        return ask()
    if not hasattr(error, "java_exception"):
        return None
    from pyspark import SparkContext

    jvm = SparkContext._active_spark_context._jvm
    return jvm.org.apache.spark.SparkThrowableHelper.getSqlState(condition)


def _is_gone(error: Exception) -> bool:
    """Whether there is no Spark any more that could have raised an error."""
    if isinstance(error, ConnectionError) or type(error).__name__ == "Py4JNetworkError":
        return True
    ask = getattr(error, "getGrpcStatusCode", None) or getattr(error, "code", None)
    return callable(ask) and getattr(ask(), "name", None) == "UNAVAILABLE"


def is_sparks(error: Exception) -> bool:
    """Whether an error is Spark's, and not of Python code that called it."""
    module = type(error).__module__
    return module.startswith(("pyspark.", "py4j.", "grpc."))


def message_of(error: Exception) -> str:
    """Spark's full message, still with plan and trace where Spark put them into it."""
    # A captured exception has no `args`, and its `str` asks the JVM, which may be gone.
    desc = getattr(error, "_desc", None) or getattr(error, "desc", None)  # of Spark 4, of 3.5
    if desc:
        return str(desc)
    if hasattr(error, "getGrpcStatusCode"):
        # From Spark Connect: the `str` can end in the server's trace.
        return str(getattr(error, "_message", None) or type(error).__name__)
    java_exception = getattr(error, "java_exception", None)
    if java_exception is not None:
        return str(java_exception.toString())
    return str(error) or type(error).__name__


def trace_of(error: Exception) -> str:
    """Java's stack trace, for the log; empty where there is none."""
    names = ("_stackTrace", "_stacktrace", "stackTrace")  # of Spark 4, of Connect, of Spark 3.5
    trace = next((told for name in names if (told := getattr(error, name, None))), None)
    if trace:
        return str(trace)
    return str(error) if hasattr(error, "java_exception") or _is_gone(error) else ""


def _causes(trace: str) -> list[str]:
    """The messages of what caused an error: the last one with a condition, and the first cause."""
    found = [render(cause) for cause in _CAUSE.findall(trace)]
    return [cause for cause in found[:-1] if _CONDITION.match(cause)][-1:] + found[-1:]


def render(message: str) -> str:
    """Shorten a message of Spark to what a person can use.

    Stack lines and the logical plan go; of a long statement that Spark quotes, the lines around
    the position stay.
    """
    lines = [line.rstrip() for line in message.splitlines() if not _STACK_LINE.match(line)]
    if not any(_SQL_HEADER.match(line) for line in lines):
        lines = _PLAN.sub(lambda match: match[1] or "", "\n".join(lines)).splitlines()
    text = "\n".join(_shorten_quoted_sql(lines)).strip()
    text = _TASK_FAILED.sub("", _CLASS_NAMES.sub("", text))
    text = _CLASS_NAMES.sub("", text)
    return f"{text}\n{_NAME_ADVICE}" if _NAME.match(text) else text


def _shorten_quoted_sql(lines: list[str]) -> list[str]:
    """Cut the statement under `== SQL ==` to the lines around its `^^^`."""
    header = next((n for n, line in enumerate(lines) if _SQL_HEADER.match(line)), None)
    if header is None:
        return lines
    pointer = next((n for n in range(header, len(lines)) if _POINTER.match(lines[n])), None)
    if pointer is None:
        return lines
    first = max(header + 1, pointer - _CONTEXT_LINES)
    cut = ["..."] if first > header + 1 else []
    last = pointer + _CONTEXT_LINES - 1
    rest = ["..."] if last + 1 < len(lines) else []
    return [*lines[: header + 1], *cut, *lines[first : last + 1], *rest]
