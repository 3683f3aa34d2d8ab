"""Settings of the session by which a query has another result, or a text another meaning.

The planner reads a text as Spark does by its defaults. Where a setting gives it another meaning,
the text is left to Spark.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from python_ivm.errors import ReadOtherwise
from python_ivm.parse.parser import DIALECT

_CASE = "spark.sql.caseSensitive"
_ESCAPES = "spark.sql.parser.escapedStringLiterals"
_DOUBLE_QUOTES = "spark.sql.ansi.doubleQuotedIdentifiers"
_REGEX_NAMES = "spark.sql.parser.quotedRegexColumnNames"
_JOINED = "spark.sql.legacy.consecutiveStringLiterals.enabled"

ALWAYS = ("spark.sql.ansi.enabled", "spark.sql.session.timeZone", _CASE)
"""What decides about the result of many queries, whether somebody set it or not."""

_OTHER_GRAMMAR = {
    "spark.sql.groupByAliases": "false",
    "spark.sql.groupByOrdinal": "false",
    "spark.sql.orderByOrdinal": "false",
    "spark.sql.legacy.ctePrecedencePolicy": "legacy",
    "spark.sql.legacy.exponentLiteralAsDecimal.enabled": "true",
    "spark.sql.legacy.parser.havingWithoutGroupByAsWhere": "true",
    "spark.sql.legacy.setopsPrecedence.enabled": "true",
}
"""Rare settings, with the value by which whole clauses have another meaning."""

IF_GIVEN = (
    _ESCAPES,
    _DOUBLE_QUOTES,
    _REGEX_NAMES,
    _JOINED,
    *_OTHER_GRAMMAR,
    "spark.sql.decimalOperations.allowPrecisionLoss",
    "spark.sql.mapKeyDedupPolicy",
    "spark.sql.timestampType",
    "spark.sql.legacy.allowNegativeScaleOfDecimal",
    "spark.sql.legacy.castComplexTypesToString.enabled",
    "spark.sql.legacy.charVarcharAsString",
    "spark.sql.legacy.followThreeValuedLogicInArrayExists",
    "spark.sql.legacy.integralDivide.returnBigint",
    "spark.sql.legacy.javaCharsets",
    "spark.sql.legacy.codingErrorAction",
    "spark.sql.legacy.nullInEmptyListBehavior",
    "spark.sql.legacy.percentileDiscCalculation",
    "spark.sql.legacy.sizeOfNull",
    "spark.sql.legacy.statisticalAggregate",
    "spark.sql.legacy.timeParserPolicy",
    "spark.sql.legacy.typeCoercion.datetimeToString.enabled",
)
"""What decides about the result of some queries. It counts only where somebody set it, as its
default is another one in another version of Spark."""

_OF_TWO_QUOTES = re.compile(r"""^[^'"]*(['"]).*\1\1.*\1$""", re.DOTALL)


def refuse_other_reading(
    sql: str, settings: Mapping[str, str], doubles_quotes: Callable[[], bool]
) -> None:
    """Leave a text to Spark that has another meaning in this session than the planner knows.

    Args:
        sql: A query.
        settings: The session's.
        doubles_quotes: Asks the engine whether two quotes inside a text are one of its characters,
            as since Spark 4.0. Before, ``'it''s'`` was ``its``.

    Raises:
        ReadOtherwise: If it has, with the first such place.
    """
    for key, other in _OTHER_GRAMMAR.items():
        if settings.get(key, "").lower() == other:
            raise ReadOtherwise(f"{key} is {settings[key]}")
    try:
        tokens = DIALECT.tokenize(sql)
    except TokenError:  # of which the parser tells more
        return
    for token in tokens:
        written = sql[token.start : token.end + 1]
        if token.token_type is TokenType.STRING:
            if "\\" in written and _is_on(settings, _ESCAPES):
                raise _read_otherwise(token, f"a backslash in a text, and {_ESCAPES} is on")
            if written.startswith('"') and _is_on(settings, _DOUBLE_QUOTES):
                raise _read_otherwise(token, f"a text in double quotes, and {_DOUBLE_QUOTES} is on")
            if _OF_TWO_QUOTES.match(written) and (
                _is_on(settings, _JOINED) or not doubles_quotes()
            ):
                raise _read_otherwise(
                    token,
                    "a doubled quote in a text, which this Spark reads as two texts side by side",
                    "If it is to be a quote, write a backslash before it.",
                )
        elif written.startswith("`") and _is_on(settings, _REGEX_NAMES):
            raise _read_otherwise(token, f"a name in backquotes, and {_REGEX_NAMES} is on")
    if _is_on(settings, _CASE):
        _refuse_names_apart_by_case(tokens)


def _refuse_names_apart_by_case(tokens: list[Token]) -> None:
    """The planner takes ``x`` and ``X`` for one column."""
    spelled: dict[str, str] = {}
    calls = [token.token_type is TokenType.L_PAREN for token in tokens[1:]]
    for token, is_call in zip(tokens, [*calls, False], strict=True):
        if is_call or token.token_type not in (TokenType.VAR, TokenType.IDENTIFIER):
            continue
        if spelled.setdefault(token.text.lower(), token.text) != token.text:
            raise _read_otherwise(token, f"names that differ by case alone, and {_CASE} is on")


def _is_on(settings: Mapping[str, str], key: str) -> bool:
    return settings.get(key, "").lower() == "true"


def _read_otherwise(token: Token, what: str, hint: str | None = None) -> ReadOtherwise:
    return ReadOtherwise(f"The SQL has {what}", line=token.line, column=token.col, hint=hint)
