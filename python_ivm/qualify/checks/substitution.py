"""``${name}``, for which Spark puts a setting's value before it reads a text."""

from __future__ import annotations

import re
from collections.abc import Callable

from sqlglot.errors import TokenError

from python_ivm.errors import Unsupported
from python_ivm.parse.parser import DIALECT

_REFERENCE = re.compile(r"""\$\{(?:(\w+?):)?([^\s'"`}]+)\}""")
"""As Spark finds them (``org.apache.spark.internal.config.ConfigReader``)."""
_SWITCH = "spark.sql.variable.substitute"
_OUTSIDE = ("env", "system")
"""Where values come from that are no settings."""


def refuse_substitution(sql: str, setting: Callable[[str], str | None]) -> None:
    """Refuse a text that another setting of the session makes another one.

    Args:
        sql: A model's text.
        setting: The value that somebody gave a setting; without one Spark leaves the text alone.

    Raises:
        Unsupported: At the first such place outside of comments.
    """
    for found in _REFERENCE.finditer(sql):
        where, name = found.groups()
        if not _is_read(sql, found.start()) or (setting(_SWITCH) or "").lower() == "false":
            continue
        if where not in _OUTSIDE and setting(name) is None:
            continue
        line = sql.count("\n", 0, found.start()) + 1
        raise Unsupported(
            f"Spark puts a value for {found[0]}, which can change while the sources do not",
            operator=found[0],
            hint="Pass the value in by dbt's var() or env_var(). If you mean these characters "
            f"themselves, write '$' || '{found[0][1:]}'.",
            line=line,
            column=found.start() - sql.rfind("\n", 0, found.start()),
        )


def _is_read(sql: str, place: int) -> bool:
    """Whether a place is not in a comment."""
    try:
        tokens = DIALECT.tokenize(sql)
    except TokenError:
        return True
    return any(token.start <= place <= token.end for token in tokens)
