"""Calls of the clock in a model's SQL, such as ``current_date()``.

In a tree a call becomes a placeholder; its value is known when a statement is rendered. In a text
it becomes the literal of one instant, so that Spark runs the query as of then.
"""

from __future__ import annotations

from typing import Any

from sqlglot import TokenType, exp

from python_ivm.errors import Unsupported
from python_ivm.parse.parser import DIALECT, parse
from python_ivm.parse.trees import place
from python_ivm.sources.clock import LOCAL, NOW, TODAY, Instant, reading

NAMES = {
    "current_date": TODAY,
    "curdate": TODAY,
    "current_timestamp": NOW,
    "now": NOW,
    "localtimestamp": LOCAL,
}
"""Spark's functions of the clock, and what each reads."""

_NODES: tuple[tuple[type[exp.Expr], str], ...] = (
    (exp.CurrentDate, TODAY),
    (exp.CurrentTimestamp, NOW),
    (exp.Localtimestamp, LOCAL),
)

_WITHOUT_PARENTHESES = frozenset({"current_date", "current_timestamp"})


def asked(node: exp.Expr) -> str | None:
    """What a call reads of the clock; None if a node is no such call."""
    if isinstance(node, exp.Anonymous) and not node.expressions:
        return NAMES.get(node.name.lower())
    found = next((kind for type_, kind in _NODES if isinstance(node, type_)), None)
    return found if found is not None and not node.args.get("this") else None


def calls(tree: exp.Expr) -> list[exp.Expr]:
    """The calls of the clock in a tree."""
    return [node for node in tree.walk() if asked(node) is not None]


def with_readings(tree: exp.Query) -> exp.Query:
    """The tree, changed in place, with a placeholder for each call."""
    for node in calls(tree):
        kind = asked(node)
        assert kind is not None
        present = reading(kind)
        present.meta.update(node.meta)
        node.replace(present)
    return tree


def at(sql: str, instant: Instant) -> str:
    """A query's text as of an instant: its calls of the clock are literals.

    Raises:
        Unsupported: If it is unclear which words of the text are such calls.
    """
    text = sql
    places = _places(sql)
    for start, end, kind in reversed(places):
        text = text[:start] + instant.literal(kind).sql(dialect=DIALECT) + text[end:]
    asking = calls(parse(sql))
    if len(places) != len(asking) or calls(parse(text)):
        raise Unsupported(
            "It is unclear which words of the query read the clock",
            hint="Write current_date() and current_timestamp() with their parentheses, name no "
            "column or alias like them, and give unix_timestamp() its argument.",
            **(place(asking[0]) if asking else {}),
        )
    return text


def _places(sql: str) -> list[tuple[int, int, str]]:
    """Start and end of each call in a text, and what it reads."""
    tokens = list(DIALECT.tokenize(sql))
    found = []
    for number, token in enumerate(tokens):
        kind = NAMES.get(token.text.lower())
        quoted = token.token_type in (TokenType.IDENTIFIER, TokenType.STRING)
        if kind is None or quoted or _follows(tokens, number, TokenType.DOT, TokenType.ALIAS):
            continue
        following = [t.token_type for t in tokens[number + 1 : number + 3]]
        if following == [TokenType.L_PAREN, TokenType.R_PAREN]:
            found.append((token.start, tokens[number + 2].end + 1, kind))
        elif token.text.lower() in _WITHOUT_PARENTHESES and following[:1] != [TokenType.L_PAREN]:
            found.append((token.start, token.end + 1, kind))
    return found


def _follows(tokens: list[Any], number: int, *kinds: TokenType) -> bool:
    return number > 0 and tokens[number - 1].token_type in kinds
