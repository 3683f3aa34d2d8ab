"""Relations that a model reads as they were before the run: ``{{ ivm_previous('other') }}``.

In the SQL that dbt compiles such a relation has its own name, so that Spark can run the text; a
comment behind the name says of when it is.
"""

from __future__ import annotations

import re

from python_ivm.parse.parser import TableReference, parse, table_references

MARK = "/* ivm_previous */"
_BEHIND = re.compile(r"\s*/\*\s*ivm_previous\s*\*/")


def is_previous(sql: str, reference: TableReference) -> bool:
    """Whether a table of a text is to be read as before the run."""
    return _BEHIND.match(sql, reference.end) is not None


def previous_tables(sql: str) -> list[TableReference]:
    """The tables of a text that are to be read so.

    Raises:
        NotParsed: If the text does not parse.
    """
    if _BEHIND.search(sql) is None:
        return []
    return [found for found in table_references(parse(sql)) if is_previous(sql, found)]
