"""Spark's SQL as sqlglot reads and writes it, but for what sqlglot understands otherwise."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, ClassVar

from sqlglot import Token, TokenType, exp
from sqlglot.dialects.spark import Spark

_AS_WRITTEN = frozenset(
    {
        "PERCENTILE", "PERCENTILE_CONT", "PERCENTILE_DISC", "MAX_BY", "MIN_BY", "LISTAGG",
        "STRING_AGG", "NAMED_STRUCT",
    }
)  # fmt: skip
"""Functions of which sqlglot would drop an argument, add one, or write another."""

_MASK = "__as_written_"


class SparkSql(Spark):
    """Spark since 4.0.

    A quote that is doubled inside a string is one quote: sqlglot takes ``'it''s'`` for two strings
    side by side, which Spark concatenates only where something stands between them. ``percentile``
    may have frequencies, ``max_by`` a number of values; ``listagg`` has no comma unless it is
    given; and percentiles ``WITHIN GROUP`` are not approximate. So these functions are read under
    names that sqlglot does not know. (Its parser and generator cannot be derived from: with
    ``sqlglotc`` installed they are compiled.)
    """

    class Tokenizer(Spark.Tokenizer):
        """The first escape is the one that is written."""

        STRING_ESCAPES: ClassVar = ["\\", "'", '"']

    def parse(self, sql: str, **opts: Any) -> list[exp.Expr | None]:
        """Read statements."""
        return _unmasked(self.parser(**opts).parse(_masked(self.tokenize(sql)), sql))

    def parse_into(
        self, expression_type: exp.IntoType, sql: str, **opts: Any
    ) -> list[exp.Expr | None]:
        """Read a part of a statement."""
        tokens = _masked(self.tokenize(sql))
        return _unmasked(self.parser(**opts).parse_into(expression_type, tokens, sql))


def _masked(tokens: list[Token]) -> list[Token]:
    masked = list(tokens)
    for n, (name, behind) in enumerate(pairwise(tokens)):
        if behind.token_type is TokenType.L_PAREN and name.text.upper() in _AS_WRITTEN:
            masked[n] = Token(
                name.token_type,
                _MASK + name.text,
                line=name.line,
                col=name.col,
                start=name.start,
                end=name.end,
                comments=name.comments,
            )
    return masked


def _unmasked(trees: list[exp.Expr | None]) -> list[exp.Expr | None]:
    for tree in trees:
        for call in list(tree.find_all(exp.Anonymous)) if tree is not None else ():
            if call.name.startswith(_MASK):
                call.set("this", call.name.removeprefix(_MASK))
                struct = _named_struct(call)
                if struct is not None:
                    call.replace(struct)
    return trees


def _named_struct(call: exp.Anonymous) -> exp.Struct | None:
    """The struct whose fields a call names by literals: sqlglot takes a column's name instead."""
    names, values = call.expressions[::2], call.expressions[1::2]
    literal = len(names) == len(values) and all(name.is_string for name in names)
    if call.name.lower() != "named_struct" or not literal:
        return None
    fields = [
        exp.PropertyEQ(this=exp.to_identifier(name.name, quoted=True), expression=value)
        for name, value in zip(names, values, strict=True)
    ]
    return exp.Struct(expressions=fields)
