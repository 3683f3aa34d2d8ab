"""A query's text without its last ORDER BY, LIMIT and OFFSET."""

from __future__ import annotations

from sqlglot import TokenType

from python_ivm.parse.parser import DIALECT
from python_ivm.parse.tokens import outside

_MODIFIERS = (TokenType.ORDER_BY, TokenType.LIMIT, TokenType.OFFSET, TokenType.FETCH)


def without_order(sql: str) -> tuple[str, bool]:
    """Cut the query's own ORDER BY, LIMIT and OFFSET off its text.

    Args:
        sql: One query.

    Returns:
        The text up to the first of them outside all parentheses, and whether that cut a LIMIT or
        OFFSET, so that rows were left out.
    """
    found = [token for token in outside(DIALECT.tokenize(sql)) if token.token_type in _MODIFIERS]
    limited = any(token.token_type is not TokenType.ORDER_BY for token in found)
    return (sql[: found[0].start] if found else sql), limited
