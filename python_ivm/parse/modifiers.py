"""A query's text without the LIMIT at its end."""

from __future__ import annotations

from sqlglot import TokenType, exp
from sqlglot.tokenizer_core import Token

from python_ivm.errors import InvalidModel
from python_ivm.parse.parser import DIALECT, parse
from python_ivm.parse.tokens import Tokens, outside

_MODIFIERS = (TokenType.ORDER_BY, TokenType.LIMIT, TokenType.OFFSET, TokenType.FETCH)


def without_limit(sql: str) -> str | None:
    """Cut the query's own ORDER BY, LIMIT and OFFSET off its text, if they leave rows out.

    Args:
        sql: One query.

    Returns:
        The text before the first of them outside all parentheses; the text as it is if no rows are
        left out; None if something else stands behind them, as in the pipe syntax.
    """
    tokens = outside(DIALECT.tokenize(sql))
    found = [token for token in tokens if token.token_type in _MODIFIERS]
    if all(token.token_type is TokenType.ORDER_BY for token in found):
        return sql
    try:
        query = parse(sql)
    except InvalidModel:  # that Spark can read all the same
        return _cut(sql, tokens, found)
    if not any(query.args.get(modifier) for modifier in ("limit", "offset")):
        return sql
    for modifier in ("order", "limit", "offset"):
        query.set(modifier, None)
    cuts = (sql[: token.start] for token in found)
    return next((cut for cut in cuts if _is_query(cut, query)), None)


def _cut(sql: str, tokens: Tokens, found: Tokens) -> str:
    """The same of a text that does not parse: columns may be named `offset`."""
    following = dict(zip((t.start for t in tokens), [*tokens[1:], None], strict=True))
    limits = [t for t in found if t.token_type is TokenType.ORDER_BY or _counts(following[t.start])]
    limited = any(token.token_type is not TokenType.ORDER_BY for token in limits)
    return sql[: limits[0].start] if limited else sql


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
