"""A view as the catalog tells it: in JSON, or in the rows of engines that do not know that form."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from python_ivm.parse.parser import DIALECT
from python_ivm.parse.views import View

Row = dict[str, Any]

DETAILS = "# Detailed Table Information"
"""The row of ``DESCRIBE TABLE EXTENDED`` after which it tells of the whole relation."""
_BETWEEN = ", "


@dataclass(frozen=True)
class Kept:
    """What a catalog keeps with a view and ``DESCRIBE TABLE EXTENDED`` does not show in rows.

    Attributes:
        shown: The names of the query's columns that it shows.
        settings: The session settings under which it was made.
    """

    shown: tuple[str, ...]
    settings: Mapping[str, str]


def of_json(rows: list[Row], columns: Callable[[], Mapping[str, str]]) -> View | None:
    """The view of ``DESCRIBE TABLE EXTENDED … AS JSON``; None if it is none.

    Args:
        rows: The statement's.
        columns: Asks for the view's columns and types.
    """
    told = json.loads(next(iter(rows[0].values()))) if rows else {}
    if told.get("type") != "VIEW" or "view_text" not in told:
        return None
    return View(
        text=told["view_text"],
        namespace=_namespace(told.get("view_catalog_and_namespace", "")),
        columns=columns(),
        shown=tuple(told.get("view_query_output_columns") or ()),
        settings=told.get("view_creation_spark_configuration") or {},
        collation=told.get("collation") or "",
    )


def of_rows(
    rows: list[Row],
    columns: Callable[[], Mapping[str, str]],
    kept: Callable[[tuple[str, ...]], Kept | None],
) -> View | None:
    """The view of ``DESCRIBE TABLE EXTENDED``; None if it is none.

    Args:
        rows: The statement's.
        columns: Asks for the view's columns and types.
        kept: Asks for what the rows do not show, by the view's full name; without it the view's
            settings are not known.
    """
    names = [row["col_name"] for row in rows]
    start = names.index(DETAILS) if DETAILS in names else len(rows)
    told = {row["col_name"]: row["data_type"] for row in rows[start:]}
    if told.get("Type") != "VIEW" or "View Text" not in told:
        return None
    known = columns()
    more = kept(tuple(told[part] for part in ("Catalog", "Database", "Table") if part in told))
    return View(
        text=told["View Text"],
        namespace=_namespace(told.get("View Catalog and Namespace", "")),
        columns=known,
        shown=more.shown if more else _names(told.get("View Query Output Columns", ""), len(known)),
        settings=more.settings if more else None,
        collation=told.get("Collation", ""),
    )


def _namespace(name: str) -> tuple[str, ...]:
    return tuple(part.name for part in exp.to_table(name, dialect=DIALECT).parts if part.name)


def _names(listed: str, number: int) -> tuple[str, ...]:
    """The names of a list in brackets; empty if some have what stands between two of them."""
    names = tuple(listed.removeprefix("[").removesuffix("]").split(_BETWEEN))
    return names if len(names) == number else ()
