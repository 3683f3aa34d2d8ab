"""The names of schemas and relations that Spark's own catalog and Hive's metastore take."""

from __future__ import annotations

import re

from python_ivm.errors import InvalidModel

_ALLOWED = re.compile(r"\w+", re.ASCII)
MOST_OF_SCHEMA = 128
MOST_OF_RELATION = 255
"""Characters; the metastore keeps one more of a table's, and file systems do not."""


def refuse_name(what: str, name: str, most: int, advice: str) -> None:
    """Refuse a name that Spark's own catalog would refuse in the middle of a run.

    Args:
        what: What is named, as ``alias``.
        name: The name.
        most: How many characters it may have.
        advice: What the user can do.

    Raises:
        InvalidModel: With what is allowed.
    """
    if len(name) > most:
        raise InvalidModel(
            f"The {what} {name[:20]}… has {len(name)} characters",
            hint=f"Spark's catalog takes at most {most}. {advice}",
        )
    if not _ALLOWED.fullmatch(name):
        odd = sorted(set(_ALLOWED.sub("", name)))
        raise InvalidModel(
            f"The {what} {name!r} has characters that Spark's catalog does not take: "
            f"{', '.join(map(repr, odd)) or 'it is empty'}",
            hint=f"Allowed are the letters a to z, digits and _. {advice}",
        )
