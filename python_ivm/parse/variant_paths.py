"""Paths into a variant, ``v:a.b[0]['c d']``, as calls of ``variant_get``.

sqlglot reads such paths in no dialect of Spark. Here the path becomes an index in brackets, which
binds as the path does, and the tree gets the call that Spark makes of it.
"""

from __future__ import annotations

import re

from sqlglot import Token, TokenType, exp

from python_ivm.parse.tokens import Tokens, with_types

_PATH = "__variant_path__"
_WORD = re.compile(r"[A-Za-z_]\w*\Z")
_FIELD = re.compile(r"\.(\w+)|\['([^']+)'\]|\[\"([^\"]+)\"\]")
_FIELD_META = "last_field"
_ENDS = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.IDENTIFIER})
_NO_VALUE = frozenset(
    {
        "SELECT", "DISTINCT", "ALL", "WHERE", "AND", "OR", "NOT", "ON", "HAVING", "QUALIFY", "WHEN",
        "THEN", "ELSE", "CASE", "IN", "BETWEEN", "LIKE", "ILIKE", "RLIKE", "REGEXP", "BY", "LIMIT",
        "OFFSET", "INTERVAL", "DIV", "ESCAPE", "IS", "FROM", "AS", "OF",
    }
)  # fmt: skip
"""Words behind which a colon begins a parameter, such as ``:start``."""


def with_bracketed_paths(tokens: Tokens, sql: str) -> Tokens:
    """The tokens with each path as an index in brackets."""
    if not any(token.token_type is TokenType.COLON for token in tokens):
        return tokens
    found: Tokens = []
    behind = 0
    for number, (token, in_type) in enumerate(with_types(tokens)):
        if number < behind:
            continue
        begins = token.token_type is TokenType.COLON and number > 0 and not in_type
        end, path = number, ""
        if begins and _ends_value(tokens[number - 1], sql):
            end, path = _read(tokens, number + 1, sql)
        found += _brackets(token, path) if path else [token]
        behind = end if path else number + 1
    return found


def variant_get(node: exp.Expr) -> exp.Expr | None:
    """The call that an index made of a path stands for; None for any other node."""
    if not isinstance(node, exp.Bracket) or len(node.expressions) != 1:
        return None
    path = node.expressions[0]
    if not isinstance(path, exp.Anonymous) or path.name != _PATH:
        return None
    arguments = [node.this, path.expressions[0], exp.Literal.string("variant")]
    call = exp.Anonymous(this="variant_get", expressions=arguments)
    fields = _FIELD.findall(path.expressions[0].name)
    call.meta[_FIELD_META] = next(filter(None, fields[-1])) if fields else ""
    return call


def name_paths(select: exp.Select) -> None:
    """Name the paths in a SELECT's list by their last field, as Spark does, in place."""
    items = []
    for item in select.expressions:
        value = item
        while isinstance(value, exp.Cast):
            value = value.this
        name = value.meta_get(_FIELD_META)
        items.append(exp.alias_(item, name, quoted=True, copy=False) if name else item)
    select.set("expressions", items)


def _ends_value(token: Token, sql: str) -> bool:
    word = sql[token.start : token.end + 1]
    return token.token_type in _ENDS or bool(_WORD.match(word) and word.upper() not in _NO_VALUE)


def _read(tokens: Tokens, number: int, sql: str) -> tuple[int, str]:
    """The index behind a path, and the path as ``variant_get`` takes it; empty if it is none."""
    path = "$"
    first = True
    while number < len(tokens):
        token = tokens[number]
        if token.token_type is TokenType.L_BRACKET:
            inside, closed = tokens[number + 1 : number + 2], tokens[number + 2 : number + 3]
            if not closed or closed[0].token_type is not TokenType.R_BRACKET:
                break
            step = _index(inside[0])
            number += 3
        elif first or token.token_type is TokenType.DOT:
            at = number if first else number + 1
            step = _field(tokens[at], sql) if at < len(tokens) else ""
            number = at + 1
        else:
            break
        if not step:
            return number, ""
        path += step
        first = False
    return number, "" if first else path


def _index(token: Token) -> str:
    if token.token_type is TokenType.NUMBER:
        return f"[{token.text}]"
    return _quoted(token.text) if token.token_type is TokenType.STRING else ""


def _field(token: Token, sql: str) -> str:
    if token.token_type is TokenType.IDENTIFIER:
        return f".{token.text}" if _WORD.match(token.text) else _quoted(token.text)
    word = sql[token.start : token.end + 1]  # a keyword's text is in capitals
    return f".{word}" if _WORD.match(word) else ""


def _quoted(name: str) -> str:
    """A field between the quotes that its name does not have; empty if it has both."""
    return next((f"[{q}{name}{q}]" for q in "'\"" if q not in name), "")


def _brackets(at: Token, path: str) -> Tokens:
    words = (
        (TokenType.L_BRACKET, "["), (TokenType.VAR, _PATH), (TokenType.L_PAREN, "("),
        (TokenType.STRING, path), (TokenType.R_PAREN, ")"), (TokenType.R_BRACKET, "]"),
    )  # fmt: skip
    return [Token(kind, text, at.line, at.col, at.start, at.end) for kind, text in words]
