"""``identifier('s.t')`` with a constant, which is the name that the constant spells."""

from __future__ import annotations

import re

from sqlglot import Token, TokenType

from python_ivm.parse.tokens import Tokens, closing, split

_PART = r"(?:`(?:[^`]|``)*`|\w+)"
_NAME = re.compile(rf"\s*{_PART}(?:\s*\.\s*{_PART})*\s*\Z")
_WORD = re.compile(r"[A-Za-z_]\w*\Z")
_TEXTS = frozenset({TokenType.STRING, TokenType.RAW_STRING, TokenType.NATIONAL_STRING})


def with_constant_names(tokens: Tokens) -> Tokens:
    """The tokens with the names themselves where ``identifier()`` spells them.

    The name's first part begins, and its last part ends, where the call does in the text. What is
    no constant stays a call.
    """
    found: Tokens = []
    number = 0
    while number < len(tokens):
        end = closing(tokens, number + 1) if _is_call(tokens, number) else len(tokens)
        parts = _parts(tokens[number + 2 : end]) if end < len(tokens) else None
        if parts is None:
            found.append(tokens[number])
            number += 1
            continue
        behind = tokens[end + 1 : end + 2]
        calls = bool(behind) and behind[0].token_type is TokenType.L_PAREN
        found += _name(parts, tokens[number], tokens[end], calls)
        number = end + 1
    return found


def _is_call(tokens: Tokens, number: int) -> bool:
    name, behind = tokens[number], tokens[number + 1 : number + 2]
    return (
        name.token_type is TokenType.VAR
        and name.text.upper() == "IDENTIFIER"
        and bool(behind)
        and behind[0].token_type is TokenType.L_PAREN
    )


def _parts(argument: Tokens) -> list[str] | None:
    """The parts of the name that a constant spells; None if it is no constant, or no name."""
    text = _constant(argument)
    if text is None or not _NAME.match(text):
        return None
    found = re.findall(_PART, text)
    return [p[1:-1].replace("``", "`") if p.startswith("`") else p for p in found]


def _constant(tokens: Tokens) -> str | None:
    """The text that literals, strung together by ``||`` or ``concat()``, make."""
    if len(tokens) > 2 and tokens[-1].token_type is TokenType.R_PAREN:
        if tokens[0].token_type is TokenType.L_PAREN and closing(tokens, 0) == len(tokens) - 1:
            return _constant(tokens[1:-1])
        is_concat = tokens[0].text.upper() == "CONCAT" and closing(tokens, 1) == len(tokens) - 1
        if is_concat:
            return _joined(split(tokens[2:-1], TokenType.COMMA))
    parts = split(tokens, TokenType.DPIPE)
    if len(parts) > 1:
        return _joined(parts)
    if tokens and all(token.token_type in _TEXTS for token in tokens):
        return "".join(token.text for token in tokens)
    return None


def _joined(parts: list[Tokens]) -> str | None:
    texts = [_constant(part) for part in parts]
    return None if None in texts else "".join(text or "" for text in texts)


def _name(parts: list[str], first: Token, last: Token, calls: bool) -> Tokens:
    """The tokens of a name in the place of a call."""
    column = first.col - (first.end - first.start)
    found: Tokens = []
    for number, part in enumerate(parts):
        start = first.start if number == 0 else last.start
        end = last.end if number == len(parts) - 1 else first.end
        # sqlglot notes where a token ends in its line
        ends = first.col if end == first.end else column + last.end - first.start
        kind = TokenType.VAR if calls and _WORD.match(part) else TokenType.IDENTIFIER
        if number:
            found.append(Token(TokenType.DOT, ".", first.line, first.col, first.end, first.end))
        found.append(Token(kind, part, line=first.line, col=ends, start=start, end=end))
    return found
