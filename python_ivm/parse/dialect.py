"""Spark's SQL as sqlglot reads and writes it, but for what sqlglot understands otherwise."""

from __future__ import annotations

from typing import Any, ClassVar

from sqlglot import Token, TokenType, exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import SqlglotError

from python_ivm.parse.hints import attach, numbered
from python_ivm.parse.identifiers import with_constant_names
from python_ivm.parse.pipe_syntax import without_pipes
from python_ivm.parse.shifts import unsigned_shift, with_marked_shifts
from python_ivm.parse.variant_paths import name_paths, variant_get, with_bracketed_paths

_AS_WRITTEN = frozenset(
    {
        "ARRAY_SIZE", "COLLATE", "LEVENSHTEIN", "LISTAGG", "LOG10", "LOG2", "MAX_BY", "MIN_BY",
        "NAMED_STRUCT", "PARSE_JSON", "PERCENTILE", "PERCENTILE_CONT", "PERCENTILE_DISC",
        "STRING_AGG", "TO_CHAR", "UNIX_DATE",
    }
)  # fmt: skip
"""Functions of which sqlglot would drop an argument, add one, or write another."""

_WITH_FORMATS = frozenset(
    {
        "DATE_FORMAT", "DATE_TRUNC", "FROM_UNIXTIME", "GET_JSON_OBJECT", "TO_DATE", "TO_TIMESTAMP",
        "TO_UNIX_TIMESTAMP", "TRUNC", "TRY_TO_TIMESTAMP", "UNIX_TIMESTAMP",
    }
)  # fmt: skip
"""Functions of which sqlglot understands some formats, units and paths, and mistakes others."""

_TO_MASK = _AS_WRITTEN | _WITH_FORMATS
"""Functions that are read under names that sqlglot does not know."""

_OTHER_NAMES = {"TIMEDIFF": "TIMESTAMPDIFF"}
"""Functions that sqlglot knows by their other names only."""

_STRONGER = (exp.Sub, exp.Mul, exp.Div, exp.Neg)
"""What binds more than the sum that sqlglot makes of ``interval 1 day 2 hours``."""

_MASK = "__as_written_"


class SparkSql(Spark):
    """Spark since 4.0.

    A quote that is doubled inside a string is one quote: sqlglot takes ``'it''s'`` for two strings
    side by side, which Spark concatenates only where something stands between them. ``percentile``
    may have frequencies, ``max_by`` a number of values; ``listagg`` has no comma unless it is
    given; and percentiles ``WITHIN GROUP`` are not approximate. So these functions are read under
    names that sqlglot does not know; those with formats then become what sqlglot knows, if it
    writes that as it was. The word ``window`` begins a clause only before a name and AS.
    The pipe syntax is read as nested SELECTs, ``identifier('t')`` as the name, ``v:path`` as a
    call; hints are put beside the tree.
    (sqlglot's parser and generator cannot be derived from: with ``sqlglotc`` installed they are
    compiled.)
    """

    class Tokenizer(Spark.Tokenizer):
        """The first escape is the one that is written."""

        STRING_ESCAPES: ClassVar = ["\\", "'", '"']

    def parse(self, sql: str, **opts: Any) -> list[exp.Expr | None]:
        """Read statements."""
        tokens, hints = numbered(self._tokens(sql), sql)
        trees = _unmasked(self.parser(**opts).parse(_masked(without_pipes(tokens)), sql))
        for tree in trees:
            if tree is not None and hints:
                attach(tree, hints, self.tokenizer())
        return trees

    def parse_into(
        self, expression_type: exp.IntoType, sql: str, **opts: Any
    ) -> list[exp.Expr | None]:
        """Read a part of a statement."""
        tokens = _masked(self._tokens(sql))
        return _unmasked(self.parser(**opts).parse_into(expression_type, tokens, sql))

    def _tokens(self, sql: str) -> list[Token]:
        tokens = with_constant_names(self.tokenize(sql))
        return with_marked_shifts(with_bracketed_paths(tokens, sql))


def _masked(tokens: list[Token]) -> list[Token]:
    masked = [_renamed(t, t.text) if _is_name(n, tokens) else t for n, t in enumerate(tokens)]
    for n, (name, behind, last) in enumerate(zip(tokens, tokens[1:], tokens[2:], strict=False)):
        if behind.token_type is not TokenType.L_PAREN or last.token_type is TokenType.R_PAREN:
            continue
        called = name.text.upper()
        if called in _TO_MASK:
            masked[n] = _renamed(name, _MASK + name.text)
        elif called in _OTHER_NAMES:
            masked[n] = _renamed(name, _OTHER_NAMES[called])
    return masked


def _is_name(number: int, tokens: list[Token]) -> bool:
    """Whether a token is ``window``, and does not begin the clause ``WINDOW w AS (…)``."""
    if tokens[number].token_type is not TokenType.WINDOW:
        return False
    behind = tokens[number + 1 : number + 3]
    return len(behind) < 2 or behind[1].token_type is not TokenType.ALIAS


def _renamed(token: Token, text: str) -> Token:
    return Token(
        TokenType.VAR,
        text,
        line=token.line,
        col=token.col,
        start=token.start,
        end=token.end,
        comments=token.comments,
    )


def _unmasked(trees: list[exp.Expr | None]) -> list[exp.Expr | None]:
    return [None if tree is None else _all_understood(tree) for tree in trees]


def _all_understood(tree: exp.Expr) -> exp.Expr:
    for node in reversed(list(tree.walk())):  # what is inside of a call before the call
        found = _understood(node)
        if found is node:
            continue
        if node is tree:
            return found
        node.replace(found)
    return tree


def _understood(node: exp.Expr) -> exp.Expr:
    """What a call that was read under another name is."""
    if isinstance(node, exp.Any) and not isinstance(node.parent, exp.Binary):
        return exp.LogicalOr(this=node.this.unnest())
    if isinstance(node, exp.Add) and isinstance(node.parent, _STRONGER):
        behind = isinstance(node.parent, exp.Sub) and node.arg_key == "this"
        return node if behind else exp.paren(node)  # an interval of several units
    if isinstance(node, exp.Values):
        return _named_by_its_last_row(node)
    if isinstance(node, exp.Select):
        name_paths(node)
        return _with_its_own_joins(node)
    if isinstance(node, (exp.Bracket, exp.BitwiseRightShift)):
        return variant_get(node) or unsigned_shift(node) or node
    if not isinstance(node, exp.Anonymous) or not node.name.startswith(_MASK):
        return node
    node.set("this", node.name.removeprefix(_MASK))
    if node.name.upper() in _WITH_FORMATS:
        return _with_format(node)
    return _named_struct(node) or node


def _named_by_its_last_row(values: exp.Values) -> exp.Values:
    """``VALUES 1, 2 AS t(x)``, of which sqlglot gives the name to the last value, in place."""
    row = values.expressions[-1].expressions if values.expressions else []
    value = row[0] if len(row) == 1 else None
    if isinstance(value, exp.Alias):
        alias = values.args.get("alias") or exp.TableAlias()
        alias.set("this", value.args["alias"].copy())
        values.set("alias", alias)
        value.replace(value.this)
    return values


def _with_its_own_joins(select: exp.Select) -> exp.Select:
    """``FROM a JOIN b SELECT …``, of which sqlglot gives the joins to ``a``, in place."""
    from_ = select.args.get("from_")
    if from_ is None:
        return select
    for clause in ("joins", "laterals"):
        found = from_.this.args.get(clause)
        if found:
            from_.this.set(clause, None)
            select.set(clause, [*found, *(select.args.get(clause) or [])])
    return select


def _with_format(call: exp.Anonymous) -> exp.Expr:
    """The call as sqlglot knows it, unless that is another."""
    try:
        known = exp.func(call.name, *call.expressions, dialect="spark")
        if len(call.expressions) < 2:
            return known
        texts = [node.sql(dialect="spark") for node in (known, call)]
    except (SqlglotError, ValueError):
        return call
    if call.name.upper() in ("TRUNC", "DATE_TRUNC"):
        texts = [text.upper() for text in texts]
    return known if texts[0] == texts[1] else call


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
