"""Comments of relations, and dbt's `persist_docs` for maintained models: comments of the view."""

from __future__ import annotations

from collections.abc import Mapping

from dbt.adapters.sparkivm.bridge.view_details import DETAILS
from dbt.adapters.sparkivm.bridge.warehouse import Query
from python_ivm.parse.parser import quoted_name
from python_ivm.render.sources import string

_TEXT = "View Text"
_COMMENT = "Comment"


def persist(
    query: Query, view: tuple[str, ...], description: str, columns: Mapping[str, str]
) -> None:
    """Give a view its comments, where it has others.

    Spark has no statement that alters a view's comments, so that the view is defined anew by its
    own text, in one step of the catalog.

    Args:
        query: Runs a statement and gives its rows.
        view: The view's name.
        description: The view's comment; an empty one leaves it as it is.
        columns: The comments of columns by their name, in any case. Names that the view does not
            have are left out, as dbt does; columns without a comment keep what they have.
    """
    present, details = described(query, view)
    comments = {name.lower(): text for name, text in columns.items()}
    wanted = {name: comments.get(name.lower()) or text for name, text in present.items()}
    told = description or details.get(_COMMENT, "")
    if wanted == present and told == details.get(_COMMENT, ""):
        return
    columns, comment = _clauses(wanted, told)
    query(f"CREATE OR REPLACE VIEW {quoted_name(view)} {columns}{comment}\nAS {details[_TEXT]}")


def commented(query: Query, view: tuple[str, ...]) -> tuple[str, str]:
    """A view's list of columns with their comments, and its own comment, as clauses of SQL."""
    present, details = described(query, view)
    return _clauses(present, details.get(_COMMENT, ""))


def described(query: Query, name: tuple[str, ...]) -> tuple[dict[str, str], dict[str, str]]:
    """The comments of a relation's columns, and what is told of the whole (its `Comment`, ...)."""
    rows = query(f"DESCRIBE TABLE EXTENDED {quoted_name(name)}")
    names = [row["col_name"] or "#" for row in rows]
    # Between both, a table's partitions are told.
    end = next((n for n, told in enumerate(names) if told.startswith("#")), len(rows))
    start = names.index(DETAILS) if DETAILS in names else end
    present = {row["col_name"]: row["comment"] or "" for row in rows[:end]}
    details = {row["col_name"]: row["data_type"] or "" for row in rows[start:]}
    return present, details


def _clauses(columns: Mapping[str, str], comment: str) -> tuple[str, str]:
    listed = ", ".join(
        quoted_name((name,)) + (f" COMMENT {string(text)}" if text else "")
        for name, text in columns.items()
    )
    return f"({listed})", f"\nCOMMENT {string(comment)}" if comment else ""
