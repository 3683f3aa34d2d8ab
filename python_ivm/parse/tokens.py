"""Walks over the tokens of a text, by the parentheses around them."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import Token, TokenType

Tokens = list[Token]

_KINDS = {
    "SELECT": TokenType.SELECT, "*": TokenType.STAR, "FROM": TokenType.FROM, ",": TokenType.COMMA,
    "WHERE": TokenType.WHERE, "(": TokenType.L_PAREN, ")": TokenType.R_PAREN,
    "AND": TokenType.AND, "AS": TokenType.ALIAS, "REPLACE": TokenType.REPLACE,
    "EXCEPT": TokenType.EXCEPT, "GROUP_BY": TokenType.GROUP_BY,
}  # fmt: skip
_NESTED_TYPES = frozenset({TokenType.STRUCT, TokenType.ARRAY, TokenType.MAP})


def with_depths(tokens: Tokens) -> Iterator[tuple[Token, int]]:
    """The tokens, each with the number of parentheses around it."""
    depth = 0
    for token in tokens:
        depth -= token.token_type is TokenType.R_PAREN
        yield token, depth
        depth += token.token_type is TokenType.L_PAREN


def with_types(tokens: Tokens) -> Iterator[tuple[Token, bool]]:
    """The tokens, each with whether it stands between the angle brackets of a type."""
    depth = 0
    before: Token | None = None
    for token in tokens:
        if token.token_type is TokenType.LT:
            depth += depth > 0 or (before is not None and before.token_type in _NESTED_TYPES)
        yield token, depth > 0
        if token.token_type is TokenType.GT:
            depth -= depth > 0
        before = token


def outside(tokens: Tokens) -> Tokens:
    """The tokens that stand in no parentheses."""
    return [token for token, depth in with_depths(tokens) if depth == 0]


def closing(tokens: Tokens, opening: int) -> int:
    """The index of the token that closes a parenthesis; that behind all if none does."""
    for number, (token, depth) in enumerate(with_depths(tokens[opening:]), opening):
        if token.token_type is TokenType.R_PAREN and depth == 0:
            return number
    return len(tokens)


def split(tokens: Tokens, at: TokenType) -> list[Tokens]:
    """The parts between tokens of a kind that stand in no parentheses."""
    parts: list[Tokens] = [[]]
    for token, depth in with_depths(tokens):
        if token.token_type is at and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def words(at: Token, text: str) -> Tokens:
    """Tokens that the user did not write; errors find them where ``at`` stands.

    Args:
        at: A token of the user.
        text: Words of SQL, with spaces between them.
    """
    return [
        Token(_KINDS[word], word, line=at.line, col=at.col, start=at.start, end=at.end)
        for word in text.split()
    ]
