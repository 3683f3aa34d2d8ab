"""How a statement says which values a column may have."""

from __future__ import annotations

import re


def one_of(column: str, *values: object, or_null: bool = False) -> str:
    """The condition that a column has one of a few values, beside others; on one line."""
    return f"( {only_one_of(column, *values, or_null=or_null)} )"


def only_one_of(column: str, *values: object, or_null: bool = False) -> str:
    """The condition that a column has one of a few values, without parentheses: it stands alone."""
    choices = [f"{column} = {value}" for value in values]
    return " OR ".join([*choices, f"{column} IS NULL"] if or_null else choices)


def is_bounded(text: str, column: str = r"\w+\.(?!__ivm_)\w+") -> bool:
    """Whether a statement says which values a column may have; or any column but our own."""
    return (
        re.search(rf"\b{column} (BETWEEN |IN \((?!\s*SELECT)|= (-?\d|CAST\('))", text) is not None
    )
