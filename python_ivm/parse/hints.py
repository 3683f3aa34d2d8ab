"""Query hints: read beside the query, of which they are no part.

A hint says how Spark should compute a query, never what it is. sqlglot reads the argument of some
as a table. So the tree gets no hints: a SELECT's meta has those that a build can follow.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import Token, TokenType, exp
from sqlglot.tokens import Tokenizer

from python_ivm.parse.tokens import Tokens, closing, split

JOINS = frozenset(
    {
        "BROADCAST", "BROADCASTJOIN", "MAPJOIN", "MERGE", "SHUFFLE_MERGE", "MERGEJOIN",
        "SHUFFLE_HASH", "SHUFFLE_REPLICATE_NL",
    }
)  # fmt: skip
"""Spark's hints of how to join a relation."""

PARTITIONS = frozenset({"COALESCE", "REPARTITION", "REPARTITION_BY_RANGE", "REBALANCE"})
"""Spark's hints of how to divide a SELECT's rows among tasks, and so among files."""

_META = "hints"
_COMMENT = re.compile(r"/\*\+(.*?)\*/", re.DOTALL)
_NUMBERED = re.compile(r"H(\d+)\Z", re.IGNORECASE)


@dataclass(frozen=True)
class Hint:
    """A hint that Spark follows.

    Attributes:
        name: Its name in capitals.
        arguments: Names by their parts, and numbers as they are written.
    """

    name: str
    arguments: tuple[tuple[str, ...], ...] = ()


def numbered(tokens: Tokens, sql: str) -> tuple[Tokens, list[str]]:
    """The tokens with one numbered hint behind a SELECT, and the texts of the hints by number."""
    texts: list[str] = []
    found: Tokens = []
    for number, token in enumerate(tokens):
        if token.token_type is not TokenType.HINT:
            found.append(token)
            continue
        end = tokens[number + 1].start if number + 1 < len(tokens) else len(sql)
        found.append(
            Token(
                TokenType.HINT,
                token.text,
                line=token.line,
                col=token.col,
                start=token.start,
                end=token.end,
                comments=[f"H{len(texts)}"],
            )
        )
        texts.append(", ".join(_COMMENT.findall(sql[token.start : end])))
    return found, texts


def attach(tree: exp.Expr, texts: Sequence[str], tokenizer: Tokenizer) -> None:
    """Move the numbered hints of a tree into the meta of their SELECTs, in place."""
    for select in tree.find_all(exp.Select):
        written = select.args.get("hint")
        select.set("hint", None)
        if written is None:
            continue
        which = _NUMBERED.match(written.expressions[0].name)
        if which is not None:
            known = _parsed(list(tokenizer.tokenize(texts[int(which.group(1))])))
            select.meta[_META] = tuple(h for h in known if h.name in JOINS | PARTITIONS)


def hints_of(select: exp.Expr) -> tuple[Hint, ...]:
    """The hints behind a SELECT that Spark follows."""
    found: tuple[Hint, ...] = select.meta_get(_META) or ()
    return found


def _parsed(tokens: Tokens) -> list[Hint]:
    found = []
    number = 0
    while number < len(tokens):
        name = tokens[number].text.upper()
        number += 1
        arguments: list[tuple[str, ...]] = []
        if number < len(tokens) and tokens[number].token_type is TokenType.L_PAREN:
            end = closing(tokens, number)
            arguments = [_argument(a) for a in split(tokens[number + 1 : end], TokenType.COMMA)]
            number = end + 1
        if name != ",":
            found.append(Hint(name, tuple(arguments)))
    return found


def _argument(tokens: Tokens) -> tuple[str, ...]:
    if len(tokens) == 1 and tokens[0].token_type is TokenType.STRING:
        return tuple(tokens[0].text.split("."))
    return tuple(token.text for token in tokens if token.token_type is not TokenType.DOT)
