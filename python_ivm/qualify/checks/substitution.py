"""``${name}``, for which Spark puts a setting's value before it reads a text."""

from __future__ import annotations

import re

from sqlglot.errors import TokenError

from python_ivm.errors import Unsupported
from python_ivm.parse.parser import DIALECT

_REFERENCE = re.compile(r"\$\{(?:\w+?:)?\S+?\}")
"""As Spark finds them (``org.apache.spark.internal.config.ConfigReader``)."""


def refuse_substitution(sql: str) -> None:
    """Refuse a text that another setting of the session makes another one.

    Args:
        sql: A model's text.

    Raises:
        Unsupported: At the first such place outside of comments.
    """
    for found in _REFERENCE.finditer(sql):
        if not _is_read(sql, found.start()):
            continue
        line = sql.count("\n", 0, found.start()) + 1
        raise Unsupported(
            f"Spark puts the value of a setting for {found[0]}, which can change without any "
            "change of the sources",
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
