"""Texts that Spark reads as the clock: ``day >= 'today'`` compares with the day of the run.

Where Spark casts such a text to a date or time, by an explicit cast or for a comparison, it is
another instant at every run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sqlglot import exp
from sqlglot.optimizer.annotate_types import annotate_types

from python_ivm.errors import Unsupported
from python_ivm.parse.parser import DIALECT
from python_ivm.parse.trees import place
from python_ivm.qualify.schema import Schemas

WORDS = frozenset({"today", "now", "yesterday", "tomorrow"})

_COMPARISONS = (
    exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ, exp.GT, exp.GTE, exp.LT, exp.LTE,
    exp.Between, exp.In,
)  # fmt: skip
_CASTS = (exp.Cast, exp.TsOrDsToDate, exp.StrToDate, exp.StrToTime)
_CHOICES = (exp.Case, exp.If, exp.Coalesce, exp.Greatest, exp.Least, exp.Nvl2, exp.Nullif)
_OF_TIMES = frozenset(
    {
        "add_months", "date", "date_add", "date_diff", "date_format", "date_part", "date_sub",
        "date_trunc", "dateadd", "datediff", "datepart", "day", "dayname", "dayofmonth",
        "dayofweek", "dayofyear", "extract", "from_utc_timestamp", "hour", "last_day", "minute",
        "month", "monthname", "months_between", "next_day", "quarter", "second", "sequence",
        "timestamp", "timestampadd", "timestampdiff", "to_date", "to_timestamp",
        "to_timestamp_ltz", "to_timestamp_ntz", "to_unix_timestamp", "to_utc_timestamp", "trunc",
        "try_to_date", "try_to_timestamp", "unix_date", "unix_micros", "unix_millis",
        "unix_seconds", "unix_timestamp", "weekday", "weekofyear", "window", "year",
    }
)  # fmt: skip
"""Functions that cast a text to a date or time."""

Types = set[exp.DType | None]
"""What an expression may be; None stands for anything."""


def refuse_clock_words(tree: exp.Query, schemas: Schemas) -> None:
    """Refuse texts that Spark reads, or might read, as the clock.

    Args:
        tree: The query, as it was parsed.
        schemas: The tables that it reads.

    Raises:
        Unsupported: At the first such text.
    """
    for literal in tree.find_all(exp.Literal):
        if not literal.is_string:
            continue
        text, above = _constant(literal)
        word = "".join(part.name for part in text.find_all(exp.Literal) if part.is_string)
        word = word.strip().lower()
        if word.split(" ")[0] in WORDS and _is_read_as_time(text, above, tree, schemas):
            raise Unsupported(
                f"'{word}' changes without any change of the sources where Spark reads it as a "
                "date or time",
                operator=word,
                hint="Use current_date() or current_timestamp() in a condition. To compare texts, "
                "cast the other side: cast(x as string).",
                **place(literal),
            )


def _constant(literal: exp.Literal) -> tuple[exp.Expr, exp.Expr | None]:
    """The largest expression of texts alone around one, and what stands above it."""
    text: exp.Expr = literal
    above = literal.parent
    while isinstance(above, (exp.Paren, exp.Concat, exp.DPipe, exp.Lower, exp.Upper, exp.Trim)):
        if any(above.find(kind) for kind in (exp.Column, exp.Query)):
            break
        text, above = above, above.parent
    return text, above


def _is_read_as_time(
    text: exp.Expr, above: exp.Expr | None, tree: exp.Query, schemas: Schemas
) -> bool:
    if isinstance(above, exp.Cast):
        return above.to.this in exp.DataType.TEMPORAL_TYPES
    if isinstance(above, _CASTS):
        return True
    compared = _compared(text, above)
    if compared:
        types = _types_of(compared, tree, schemas)
        return None in types or bool(types & exp.DataType.TEMPORAL_TYPES)
    if isinstance(above, exp.If) and isinstance(above.parent, exp.Case):
        above = above.parent
    if isinstance(above, _CHOICES):
        return bool(_types(above, tree, schemas) & exp.DataType.TEMPORAL_TYPES)
    name = above.sql(dialect=DIALECT).split("(")[0] if isinstance(above, exp.Func) else ""
    return name.lower() in _OF_TIMES


def _compared(text: exp.Expr, above: exp.Expr | None) -> list[exp.Expr]:
    """What a text is compared with; nothing if it is not."""
    if isinstance(above, (exp.In, exp.Between)) and text is not above.this:
        return [above.this]
    if isinstance(above, _COMPARISONS):
        return [side for side in above.iter_expressions() if side is not text]
    if isinstance(above, exp.If) and isinstance(above.parent, exp.Case):
        asked = above.parent.this  # CASE asked WHEN text THEN …
        return [asked] if asked is not None and text is above.this else []
    if isinstance(above, exp.DecodeCase):
        asked, *rest = above.expressions
        searched = [e for e, _ in zip(rest[::2], rest[1::2], strict=False)]
        return [asked] if any(e is text for e in searched) else []
    return []


def _types_of(
    expressions: Iterable[exp.Expr],
    tree: exp.Query,
    schemas: Schemas,
    seen: frozenset[str] = frozenset(),
) -> Types:
    return {kind for e in expressions for kind in _types(e, tree, schemas, seen)}


def _types(
    expression: exp.Expr,
    tree: exp.Query,
    schemas: Schemas,
    seen: frozenset[str] = frozenset(),
) -> Types:
    """The types that an expression may have, whichever relation its columns are of."""
    if isinstance(expression, exp.Null):
        return set()
    if isinstance(expression, (exp.Paren, exp.Alias)):
        return _types(expression.this, tree, schemas, seen)
    if isinstance(expression, exp.Column):
        return _types_of_column(expression.name.lower(), tree, schemas, seen)
    if isinstance(expression, _CHOICES):
        return _types_of(_branches(expression), tree, schemas, seen)
    return {_kind(annotate_types(expression.copy(), dialect=DIALECT).type)}


def _kind(type_: exp.DataType | None) -> exp.DType | None:
    kind = type_.this if type_ is not None else exp.DType.UNKNOWN
    return kind if isinstance(kind, exp.DType) and kind is not exp.DType.UNKNOWN else None


def _types_of_column(name: str, tree: exp.Query, schemas: Schemas, seen: frozenset[str]) -> Types:
    """The types of all that has a name: columns of tables, and expressions by their alias."""
    if name in seen:
        return set()
    tables: Types = {
        _kind(exp.DataType.build(kind, dialect=DIALECT))
        for table in schemas.values()
        for column, kind in table.columns.items()
        if column.lower() == name
    }
    aliased = [e.this for e in tree.find_all(exp.Alias) if e.alias.lower() == name]
    lists = [alias for alias in tree.find_all(exp.TableAlias) if alias.args.get("columns")]
    if any(column.name.lower() == name for alias in lists for column in alias.columns):
        return {None}
    if not tables and not aliased:
        return {None}
    return tables | _types_of(aliased, tree, schemas, seen | {name})


def _branches(choice: exp.Expr) -> Sequence[exp.Expr]:
    """The values of which an expression chooses one."""
    if isinstance(choice, exp.Case):
        default = choice.args.get("default")
        chosen = [branch.args["true"] for branch in choice.args["ifs"]]
        return [*chosen, default] if default is not None else chosen
    if isinstance(choice, (exp.If, exp.Nvl2)):
        return [branch for branch in (choice.args["true"], choice.args.get("false")) if branch]
    return list(choice.iter_expressions())
