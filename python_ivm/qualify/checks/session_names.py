"""Names that no table has: variables of the session, which change without the sources."""

from __future__ import annotations

import re
from collections.abc import Callable

from sqlglot import exp

from python_ivm.errors import IvmError, Unsupported
from python_ivm.parse.parser import DIALECT
from python_ivm.parse.trees import position
from python_ivm.qualify.schema import Schemas, column_names

_FIELD = re.compile(r"[<,]\s*`?(\w+)`?\s*:")
"""A struct's field in the text of a type; generators and `*` make columns of it."""


def refuse_session_names(
    query: exp.Expr, schemas: Schemas, error: IvmError, is_value: Callable[[str], bool]
) -> None:
    """Refuse variables and words like ``user``, in a query that only Spark can resolve.

    A state of such a query is computed anew only where a source changed.

    Args:
        query: The query.
        schemas: The tables that it reads.
        error: Why the planner cannot follow the query's changes. The column that it is about may
            have the name of another table's column.
        is_value: Tells whether Spark takes a text for a value where there is no table.

    Raises:
        Unsupported: At the first such name.
    """
    known = column_names(schemas) | {alias.alias.lower() for alias in query.find_all(exp.Alias)}
    known |= {name.lower() for alias in query.find_all(exp.TableAlias) for name in _names(alias)}
    kinds = (kind for table in schemas.values() for kind in table.columns.values())
    known |= {field.lower() for kind in kinds for field in _FIELD.findall(kind)}
    asked: dict[str, bool] = {}
    for column in query.find_all(exp.Column):
        place = position(column.this)
        is_meant = error.line is not None and (error.line, error.column) == (
            place.get("line"),
            place.get("column"),
        )
        if column.name.lower() in known and not is_meant:
            continue
        text = column.sql(dialect=DIALECT)
        if text not in asked:
            asked[text] = is_value(text)
        if asked[text]:
            raise Unsupported(
                f"{text} is no column, but a value of the session, which can change without any "
                "change of the sources",
                operator=text,
                hint="Pass the value in by dbt's var(), or keep it in a Delta table and join it. "
                "If it is a column, qualify it with its table.",
                **place,
            )


def _names(alias: exp.TableAlias) -> list[str]:
    return [column.name for column in alias.args.get("columns") or ()]
