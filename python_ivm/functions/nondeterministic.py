"""Functions whose value does not follow from their arguments: random ones, the clock, the session.

sqlglot has classes for some of them, of which not each version has all.
"""

from __future__ import annotations

from sqlglot import exp

NONDETERMINISTIC_TYPES: tuple[type[exp.Expr], ...] = tuple(
    getattr(exp, name)
    for name in ("Rand", "Randn", "Uuid", "Randstr", "Uniform", "Shuffle")
    if hasattr(exp, name)
)
CLOCK_TYPES: tuple[type[exp.Expr], ...] = tuple(
    getattr(exp, name)
    for name in (
        "CurrentDate",
        "CurrentTime",
        "CurrentTimestamp",
        "CurrentDatetime",
        "CurrentTimestampLTZ",
        "Localtime",
        "Localtimestamp",
    )
    if hasattr(exp, name)
)
NONDETERMINISTIC_NAMES = frozenset(
    {
        "rand", "randn", "random", "uuid", "randstr", "uniform", "shuffle", "version",
        "monotonically_increasing_id", "spark_partition_id", "input_file_name",
        "input_file_block_start", "input_file_block_length", "java_method", "reflect",
        "try_reflect",
    }
)  # fmt: skip
CLOCK_NAMES = frozenset(
    {
        "current_timestamp", "current_date", "current_time", "now", "localtimestamp", "curdate",
        "curtime",
    }
)  # fmt: skip
SESSION_NAMES = frozenset(
    {
        "current_user", "user", "session_user", "current_database", "current_schema",
        "current_catalog", "current_timezone", "current_path",
    }
)  # fmt: skip
SESSION_TYPES: tuple[type[exp.Expr], ...] = tuple(
    getattr(exp, name)
    for name in (
        "CurrentUser",
        "SessionUser",
        "CurrentSchema",
        "CurrentCatalog",
        "CurrentDatabase",
        "CurrentTimezone",
    )
    if hasattr(exp, name)
)
