"""A query's text without its last ORDER BY, LIMIT and OFFSET."""

from __future__ import annotations

from sqlglot import TokenType

from python_ivm.parse.parser import DIALECT

_MODIFIERS = (TokenType.ORDER_BY, TokenType.LIMIT, TokenType.OFFSET, TokenType.FETCH)


def without_order(sql: str) -> tuple[str, bool]:
    """Cut the query's own ORDER BY, LIMIT and OFFSET off its text.

    Args:
        sql: One query.

    Returns:
        The text up to the first of them outside all parentheses, and whether that cut a LIMIT or
        OFFSET, so that rows were left out.
    """
    depth = 0
    cut: int | None = None
    limited = False
    for token in DIALECT.tokenize(sql):
        if token.token_type is TokenType.L_PAREN:
            depth += 1
        elif token.token_type is TokenType.R_PAREN:
            depth -= 1
        elif depth == 0 and token.token_type in _MODIFIERS:
            cut = token.start if cut is None else cut
            limited = limited or token.token_type is not TokenType.ORDER_BY
    return (sql if cut is None else sql[:cut]), limited
