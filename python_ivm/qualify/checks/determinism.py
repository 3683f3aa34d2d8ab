"""Functions whose value does not follow from the sources: random ones, the clock, the session."""

from __future__ import annotations

from sqlglot import exp

from python_ivm.errors import Unsupported
from python_ivm.functions.generators import TABLE_FUNCTIONS
from python_ivm.functions.nondeterministic import (
    CLOCK_NAMES,
    CLOCK_TYPES,
    NONDETERMINISTIC_NAMES,
    NONDETERMINISTIC_TYPES,
    SESSION_NAMES,
    SESSION_TYPES,
)
from python_ivm.parse.clock_calls import asked
from python_ivm.parse.trees import place, spelled
from python_ivm.qualify.schema import Schemas, column_names

_BARE_CLOCK = frozenset({"localtimestamp", "current_time"})
"""Names without parentheses that are the clock where no column has them."""


def check_deterministic(query: exp.Query) -> None:
    """Refuse functions whose result does not follow from the sources.

    Raises:
        Unsupported: At the first such construct, with its position and what to do.
    """
    for node in query.walk():
        name = node.name.lower() if isinstance(node, exp.Anonymous) else ""
        shown = f"{spelled(node)}()"
        random = isinstance(node, NONDETERMINISTIC_TYPES) or name in NONDETERMINISTIC_NAMES
        if random or (name == "aes_encrypt" and _starts_at_random(node.expressions)):
            raise Unsupported(
                f"{shown} gives another value at every call, so that no view could equal its query",
                operator=shown,
                hint="Compute the value where the source table is written, "
                "or use materialized='table'.",
                **place(node),
            )
        if (isinstance(node, CLOCK_TYPES) or name in CLOCK_NAMES) and asked(node) is None:
            raise Unsupported(
                f"{shown} changes without any change of the sources",
                operator=shown,
                hint="Use current_date() or current_timestamp() in a condition, or a date from a "
                "source.",
                **place(node),
            )
        if isinstance(node, exp.Column):
            _refuse_bare_clock(node)
        if isinstance(node, SESSION_TYPES) or name in SESSION_NAMES:
            raise Unsupported(
                f"{shown} depends on the session that runs the refresh",
                operator=shown,
                hint="Pass the value in by dbt's var() or target, or use materialized='table'.",
                **place(node),
            )
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Anonymous):
            _check_generator(node.this)
        if isinstance(node, exp.TableSample):
            raise Unsupported(
                "TABLESAMPLE takes other rows at every read",
                operator="TABLESAMPLE",
                hint="Sample by a hash of a key in WHERE, or use materialized='table'.",
                **place(node),
            )


def refuse_places_of_rows(query: exp.Query, schemas: Schemas) -> None:
    """Refuse Spark's hidden column of files: OPTIMIZE moves rows without changing them.

    Args:
        query: The query.
        schemas: The tables that it reads.

    Raises:
        Unsupported: If it names ``_metadata``, and no table or alias of its own is named so.
    """
    known = column_names(schemas) | {alias.alias.lower() for alias in query.find_all(exp.Alias)}
    if "_metadata" in known:
        return
    for column in query.find_all(exp.Column):
        if any(part.name.lower() == "_metadata" for part in column.parts):
            raise Unsupported(
                "_metadata tells where rows are stored, which changes without any change of them",
                operator="_metadata",
                hint="Compute the value where the source table is written, "
                "or use materialized='table'.",
                **place(column),
            )


def _starts_at_random(arguments: list[exp.Expr]) -> bool:
    """Whether ``aes_encrypt`` makes an initialization vector: not in mode ECB, nor if given one."""
    mode = arguments[2].name.lower() if len(arguments) > 2 else "gcm"
    return mode != "ecb" and len(arguments) < 5


def _refuse_bare_clock(column: exp.Column) -> None:
    """Refuse a name that is the clock although no call of a function stands there."""
    word = column.name.lower()
    if word not in _BARE_CLOCK or column.table or column.this.quoted:
        return
    raise Unsupported(
        f"{word} changes without any change of the sources",
        operator=word,
        hint="Use current_date() or current_timestamp() in a condition.",
        **place(column),
    )


def _check_generator(call: exp.Anonymous) -> None:
    """Refuse a function in FROM that can read a table: its changes would go unnoticed."""
    name = call.name.lower()
    if name == "table":  # TABLE(range(3))
        for inner in call.expressions:
            if isinstance(inner, exp.Anonymous):
                _check_generator(inner)
    if name in TABLE_FUNCTIONS:
        return
    raise Unsupported(
        f"{name}() in FROM can read tables whose changes are not seen",
        operator=f"{name}()",
        hint="Name the tables themselves, or use materialized='table'.",
        **place(call),
    )
