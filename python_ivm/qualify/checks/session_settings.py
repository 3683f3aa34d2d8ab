"""Settings of the session by which a query has another result, or a text another meaning.

The planner reads a text as Spark does by its defaults. Where a setting gives it another meaning,
the text is left to Spark.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from sqlglot import exp
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokenizer_core import Token, TokenType

from python_ivm.errors import ReadOtherwise
from python_ivm.parse.parser import DIALECT
from python_ivm.parse.trees import position

_ANSI = "spark.sql.ansi.enabled"
_CASE = "spark.sql.caseSensitive"
_DOUBLE_QUOTES = "spark.sql.ansi.doubleQuotedIdentifiers"
_REGEX_NAMES = "spark.sql.parser.quotedRegexColumnNames"
_JOINED = "spark.sql.legacy.consecutiveStringLiterals.enabled"

ALWAYS = (_ANSI, "spark.sql.session.timeZone", _CASE)
"""What decides about the result of many queries, whether somebody set it or not."""

_OTHER_GRAMMAR = {
    "spark.sql.ansi.relationPrecedence": "false",
    "spark.sql.groupByAliases": "true",
    "spark.sql.groupByOrdinal": "true",
    "spark.sql.orderByOrdinal": "true",
    "spark.sql.legacy.ctePrecedencePolicy": "corrected",
    "spark.sql.legacy.exponentLiteralAsDecimal.enabled": "false",
    "spark.sql.legacy.parser.havingWithoutGroupByAsWhere": "false",
    "spark.sql.legacy.scalarSubqueryCountBugBehavior": "false",
    "spark.sql.legacy.setopsPrecedence.enabled": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.preserveCharVarcharTypeInfo": "false",
}
"""Rare settings by which whole clauses, or all texts, have another meaning; with Spark's default,
which is the only value under which the planner reads a query."""

_DEFAULTS: Mapping[str, str] = {
    **_OTHER_GRAMMAR,
    _DOUBLE_QUOTES: "false",
    _REGEX_NAMES: "false",
    _JOINED: "false",
    "spark.sql.analyzer.lowerEmptyGroupingSetToGlobalAggregate.enabled": "true",
    "spark.sql.chunkBase64String.enabled": "true",
    "spark.sql.columnNameOfCorruptRecord": "_corrupt_record",
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
    "spark.sql.function.concatBinaryAsString": "false",
    "spark.sql.function.eltOutputAsString": "false",
    "spark.sql.icu.caseMappings.enabled": "true",
    "spark.sql.json.enableExactStringParsing": "true",
    "spark.sql.json.enablePartialResults": "true",
    "spark.sql.jsonGenerator.ignoreNullFields": "true",
    "spark.sql.mapKeyDedupPolicy": "exception",
    "spark.sql.readSideCharPadding": "true",
    "spark.sql.timestampType": "timestamp_ltz",
    "spark.sql.variant.allowDuplicateKeys": "false",
    "spark.sql.legacy.allowNegativeScaleOfDecimal": "false",
    "spark.sql.legacy.castComplexTypesToString.enabled": "false",
    "spark.sql.legacy.charVarcharAsString": "false",
    "spark.sql.legacy.codingErrorAction": "false",
    "spark.sql.legacy.followThreeValuedLogicInArrayExists": "true",
    "spark.sql.legacy.integralDivide.returnBigint": "true",
    "spark.sql.legacy.javaCharsets": "false",
    "spark.sql.legacy.decimal.retainFractionDigitsOnTruncate": "false",
    "spark.sql.legacy.disableMapKeyNormalization": "false",
    "spark.sql.legacy.json.allowEmptyString.enabled": "false",
    "spark.sql.legacy.literal.pickMinimumPrecision": "true",
    "spark.sql.legacy.negativeIndexInArrayInsert": "false",
    "spark.sql.legacy.nullInEmptyListBehavior": "",
    "spark.sql.legacy.percentileDiscCalculation": "false",
    "spark.sql.legacy.sizeOfNull": "true",
    "spark.sql.legacy.statisticalAggregate": "false",
    "spark.sql.legacy.timeParserPolicy": "corrected",
    "spark.sql.legacy.truncateForEmptyRegexSplit": "false",
    "spark.sql.legacy.typeCoercion.datetimeToString.enabled": "false",
}
"""What decides about the result of some queries, with Spark's default in lower case. It counts only
where somebody set it to something else."""

_KINDS = ("spark.sql.ansi.", "spark.sql.legacy.", "spark.sql.parser.")
"""How the names of others begin that may decide about it. Spark has more than a hundred of these,
and gets new ones with each version: what of them somebody set counts, whatever it is."""

_OF_OLD_VIEWS = {_ANSI: "false", _CASE: "false"}
"""What Spark takes where nothing is kept with a view. Spark 3 keeps them only if somebody set them,
and Spark 4 takes that for a view of Spark 3."""

_OF_TWO_QUOTES = re.compile(r"""^[^'"]*(['"]).*\1\1.*\1$""", re.DOTALL)


def other_than_defaults(given: Mapping[str, str]) -> dict[str, str]:
    """Those that may change a result, and that somebody set to something else than the default.

    Args:
        given: Settings that somebody set, with their values.

    Returns:
        Them, with their values in lower case, without those that :data:`ALWAYS` count.
    """
    lowered = {key: value.strip().lower() for key, value in given.items() if _may_decide(key)}
    return {key: value for key, value in lowered.items() if value != _DEFAULTS.get(key)}


def _may_decide(key: str) -> bool:
    return key not in ALWAYS and (key in _DEFAULTS or key.startswith(_KINDS))


def of_view(kept: Mapping[str, str]) -> dict[str, str]:
    """Under which settings Spark reads a view's text, of those that may change its result.

    Args:
        kept: The settings that the catalog keeps with the view.
    """
    given = {key: value for key, value in kept.items() if key in ALWAYS or _may_decide(key)}
    return _OF_OLD_VIEWS | given


def other_setting(kept: Mapping[str, str], settings: Mapping[str, str]) -> str | None:
    """The first setting under which a view's text would have another result than where it was made.

    Args:
        kept: The settings that the catalog keeps with the view.
        settings: The session's, of those that may change a result.
    """
    made = {**_OF_OLD_VIEWS, **kept}
    for key, value in settings.items():
        if not _may_decide(key) and key in made and made[key] != value:
            return key
    then, now = other_than_defaults(made), other_than_defaults(settings)
    # Of one whose default is not known, the view may have it; and static ones no view keeps.
    compared = [*then, *(key for key in now if key in _DEFAULTS)]
    return next((key for key in compared if then.get(key) != now.get(key)), None)


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
    for key, value in other_than_defaults(settings).items():
        if key in _OTHER_GRAMMAR:
            raise ReadOtherwise(f"{key} is {value}")
    try:
        tokens = DIALECT.tokenize(sql)
    except TokenError:  # of which the parser tells more
        return
    for token in tokens:
        written = sql[token.start : token.end + 1]
        if token.token_type is TokenType.STRING:
            as_name = _is_on(settings, _DOUBLE_QUOTES) and _is_on(settings, _ANSI)
            if written.startswith('"') and as_name:
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
        _refuse_names_apart_by_case(sql)


def _refuse_names_apart_by_case(sql: str) -> None:
    """The planner takes ``x`` and ``X`` for one column."""
    try:
        trees = DIALECT.parse(sql)
    except ParseError:  # of which the parser tells more
        return
    spelled: dict[str, str] = {}
    for tree in trees:
        for name in tree.find_all(exp.Identifier) if tree is not None else ():
            if isinstance(name.parent, exp.Table):
                continue
            if spelled.setdefault(name.name.lower(), name.name) != name.name:
                raise ReadOtherwise(
                    f"The SQL has names that differ by case alone, and {_CASE} is on",
                    **position(name),
                )


def _is_on(settings: Mapping[str, str], key: str) -> bool:
    return settings.get(key, "").lower() == "true"


def _read_otherwise(token: Token, what: str, hint: str | None = None) -> ReadOtherwise:
    return ReadOtherwise(f"The SQL has {what}", line=token.line, column=token.col, hint=hint)
