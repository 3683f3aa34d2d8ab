"""A query's text without its last ORDER BY, LIMIT and OFFSET."""

from __future__ import annotations

from sqlglot import TokenType, exp
from sqlglot.tokenizer_core import Token

from python_ivm.errors import InvalidModel
from python_ivm.parse.parser import DIALECT, parse
from python_ivm.parse.tokens import Tokens, outside

_MODIFIERS = (TokenType.ORDER_BY, TokenType.LIMIT, TokenType.OFFSET, TokenType.FETCH)


def without_order(sql: str) -> tuple[str, bool]:
    """Cut the query's own ORDER BY, LIMIT and OFFSET off its text.

    Args:
        sql: One query.

    Returns:
        The text up to the first of them outside all parentheses, and whether that cut a LIMIT or
        OFFSET, so that rows were left out.
    """
    tokens = outside(DIALECT.tokenize(sql))
    found = [token for token in tokens if token.token_type in _MODIFIERS]
    if any(token.token_type is not TokenType.ORDER_BY for token in found):
        found = _without_names(sql, tokens, found)
    limited = any(token.token_type is not TokenType.ORDER_BY for token in found)
    return (sql[: found[0].start] if found else sql), limited


def _without_names(sql: str, tokens: Tokens, found: Tokens) -> Tokens:
    """The modifiers without what comes before them: columns may be named `offset`."""
    try:
        query = parse(sql)
    except InvalidModel:  # that Spark can read all the same
        pairs = zip(tokens, [*tokens[1:], None], strict=True)
        before = {token.start: after for token, after in pairs}
        return [t for t in found if t.token_type is TokenType.ORDER_BY or _counts(before[t.start])]
    for modifier in ("order", "limit", "offset"):
        query.set(modifier, None)
    for number, token in enumerate(found):
        if _is_query(sql[: token.start], query):
            return found[number:]
    return [] if _is_query(sql, query) else found


def _counts(token: Token | None) -> bool:
    """Whether a token may follow LIMIT, OFFSET or FETCH."""
    if token is None or token.token_type in (TokenType.NUMBER, TokenType.L_PAREN):
        return token is not None
    return token.text.upper() in ("ALL", "FIRST", "NEXT")


def _is_query(text: str, query: exp.Query) -> bool:
    try:
        return parse(text) == query
    except InvalidModel:
        return False
