"""The relations of a text that are not read as they are now (:mod:`python_ivm.parse.marks`)."""

from __future__ import annotations

from python_ivm.parse.marks import Mark, has_marks, mark_at
from python_ivm.parse.parser import TableReference, parse, table_references

MARK = Mark.PREVIOUS.comment


def marked_tables(sql: str) -> list[tuple[TableReference, Mark]]:
    """The tables of a text that have a mark.

    Raises:
        NotParsed: If the text does not parse.
    """
    if not has_marks(sql):
        return []
    found = [(table, mark_at(sql, table.end)) for table in table_references(parse(sql))]
    return [(table, mark) for table, mark in found if mark is not None]


def previous_tables(sql: str) -> list[TableReference]:
    """The tables of a text that are read as they were before the run.

    Raises:
        NotParsed: If the text does not parse.
    """
    return [table for table, mark in marked_tables(sql) if mark is Mark.PREVIOUS]
