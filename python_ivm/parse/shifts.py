"""``x >>> n``, the shift that takes no heed of the sign, as a call of ``shiftrightunsigned``.

sqlglot knows no such operator. Here it reads ``x >> mark + n``, whose operators bind alike, and the
tree gets the call.
"""

from __future__ import annotations

from sqlglot import Token, TokenType, exp

from python_ivm.parse.tokens import Tokens, with_types

_MARK = "__unsigned__"


def with_marked_shifts(tokens: Tokens) -> Tokens:
    """The tokens with each ``>>>`` as a marked ``>>``."""
    found: Tokens = []
    for token, in_type in with_types(tokens):
        found.append(token)
        last = found[-3:]
        three = len(last) == 3 and all(t.token_type is TokenType.GT for t in last)
        if three and not in_type and last[0].start + 2 == last[2].start:
            found[-1:] = [_at(token, TokenType.VAR, _MARK), _at(token, TokenType.PLUS, "+")]
    return found


def unsigned_shift(node: exp.Expr) -> exp.Expr | None:
    """The call that a marked shift stands for; None for any other node."""
    if not isinstance(node, exp.BitwiseRightShift):
        return None
    first = node.expression
    while isinstance(first.this, exp.Binary):
        first = first.this
    if not isinstance(first, exp.Add) or first.this.name != _MARK:
        return None
    first.replace(first.expression)
    return exp.Anonymous(this="shiftrightunsigned", expressions=[node.this, node.expression])


def _at(place: Token, kind: TokenType, text: str) -> Token:
    return Token(kind, text, line=place.line, col=place.col, start=place.start, end=place.end)
