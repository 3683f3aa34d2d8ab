"""From text to a sqlglot tree, with errors that say where."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokenizer_core import TokenType

from python_ivm.errors import InvalidModel, NotParsed
from python_ivm.parse.ctes import cte_of
from python_ivm.parse.dialect import SparkSql
from python_ivm.parse.loops import mark_loop
from python_ivm.parse.marks import AS_OF_LAST, Mark, mark_at
from python_ivm.parse.trees import position

DIALECT = SparkSql()
"""How all text is read and written."""


_UNCLOSED = re.compile(r"Missing (?P<mark>.+) from \d+:(?P<offset>\d+)")


def table_key(parts: tuple[str, ...]) -> str:
    """The name by which the planner knows a table: its parts in lower case."""
    return ".".join(parts).lower()


_AS_WRITTEN = frozenset(
    {
        TokenType.VAR, TokenType.IDENTIFIER, TokenType.STRING, TokenType.RAW_STRING,
        TokenType.HEX_STRING, TokenType.NATIONAL_STRING, TokenType.UNICODE_STRING,
    }
)  # fmt: skip

_BEFORE_NAMES = (TokenType.ALIAS, TokenType.DOT, TokenType.COLON)
_VALUES = frozenset(
    {TokenType.NULL, TokenType.TRUE, TokenType.FALSE, TokenType.CURRENT_DATE,
     TokenType.CURRENT_TIMESTAMP, TokenType.CURRENT_USER}
)  # fmt: skip
_FIRST, _LAST = (TokenType.L_PAREN, TokenType.COMMA), (TokenType.R_PAREN, TokenType.COMMA)


def essence(sql: str) -> str:
    """A text without comments, hints and layout, and with keywords and functions in capitals.

    What a library makes of the text would change with its versions.
    """
    tokens = [t for t in DIALECT.tokenize(sql) if t.token_type is not TokenType.HINT]
    words = []
    structs: list[bool] = []
    for number, token in enumerate(tokens):
        word = sql[token.start : token.end + 1]
        before, after = (
            tokens[n].token_type if 0 <= n < len(tokens) else None for n in (number - 1, number + 1)
        )
        is_name = token.token_type in _AS_WRITTEN or before in _BEFORE_NAMES
        # A column of a keyword's name is a field's name where a struct is made of it.
        of_struct = structs[-1:] == [True] and token.token_type not in _VALUES
        is_name = is_name or (of_struct and before in _FIRST and after in _LAST)
        is_call = token.token_type is TokenType.VAR and after is TokenType.L_PAREN
        words.append(word if is_name and not is_call else word.upper())
        if token.token_type is TokenType.L_PAREN:
            structs.append(before is TokenType.STRUCT)
        elif token.token_type is TokenType.R_PAREN:
            del structs[-1:]
    return " ".join(words)


@dataclass(frozen=True)
class TableReference:
    """A table as the model's text names it.

    Attributes:
        parts: Catalog, schema and name, as many as are written, in that order.
        start: Offset in the text of the name's first character.
        end: Offset in the text behind the name's last character.
        line: Line of the name, from 1.
        column: Column of the name, from 1.
        pinned: Whether the text itself says which version to read.
        previous: Whether it is read as it was before the run.
        last: Whether it is read as the model's last step saw it.
        aliased: Whether the text gives it another name.
    """

    parts: tuple[str, ...]
    start: int
    end: int
    line: int | None
    column: int | None
    pinned: bool = False
    previous: bool = False
    last: bool = False
    aliased: bool = False

    @property
    def key(self) -> str:
        """The name by which the planner knows the table."""
        return table_key(self.parts) + (AS_OF_LAST if self.last else "")

    @property
    def key_now(self) -> str:
        """The same of the table as it is now."""
        return table_key(self.parts)


_MODIFIERS = ("with_", "order", "limit", "offset")


def parse(sql: str) -> exp.Query:
    """Parse a model's compiled SQL.

    Args:
        sql: One SELECT (or set operation, or WITH … SELECT) in Spark's dialect.

    Returns:
        The tree, untouched.

    Raises:
        NotParsed: If the text does not parse; Spark may know more of its own SQL.
        InvalidModel: If it is not one query.
    """
    try:
        parsed = sqlglot.parse(sql, read=DIALECT)
    except ParseError as error:
        first = error.errors[0] if error.errors else {}
        raise NotParsed(
            f"The SQL does not parse: {first.get('description', error)}"
            + (f" near '{first['highlight']}'" if first.get("highlight") else ""),
            line=first.get("line"),
            column=first.get("col"),
            hint="Correct the model's SQL; positions refer to the compiled SQL under target/.",
        ) from error
    except TokenError as error:
        opened = _UNCLOSED.search(str(error.__cause__ or error.__context__))
        if opened is None:
            raise InvalidModel(
                f"The SQL does not parse: {error}", hint="Look for an unclosed quote or comment."
            ) from error
        before = sql[: int(opened["offset"])]
        raise InvalidModel(
            f"The SQL does not parse: what {opened['mark']} opens here is never closed",
            line=before.count("\n") + 1,
            column=len(before) - (before.rfind("\n") + 1) + 1,
            hint="Close the quote; a quote inside a text is doubled.",
        ) from error
    # What follows the last semicolon may be a comment.
    statements = [s for s in parsed if s is not None and not isinstance(s, exp.Semicolon)]
    if len(statements) != 1:
        raise InvalidModel(
            f"The model has {len(statements)} statements",
            hint="A model is exactly one SELECT.",
        )
    query = statements[0]
    if isinstance(query, exp.Subquery):
        query = _without_parentheses(query)
    for inner in list(query.find_all(exp.Subquery)) if query is not None else ():
        _put_in_parentheses(inner)
    if isinstance(query, exp.Values):
        query = _of_rows(query)
    if isinstance(query, exp.Alias):
        raise NotParsed(
            "The model is a TABLE without a SELECT", hint="Write SELECT * FROM before it."
        )
    if not isinstance(query, exp.Query):
        raise InvalidModel(
            f"The model is a {query.key.upper()}, not a query", hint="A model is one SELECT."
        )
    mark_loop(query)
    return query


def _without_parentheses(query: exp.Subquery) -> exp.Expr:
    """The query in parentheses; what stands around them is a query of its own."""
    _put_in_parentheses(query)
    inner = query.this
    return _without_parentheses(inner) if isinstance(inner, exp.Subquery) else inner


def _put_in_parentheses(query: exp.Subquery) -> None:
    """Make ``(SELECT …) LIMIT 1`` inside of a query a query of its own, in place."""
    around = {k: query.args[k] for k in _MODIFIERS if query.args.get(k)}
    if not around or not isinstance(query.this, (exp.Query, exp.Values)):
        return
    for clause in around:
        query.set(clause, None)
    name = exp.TableAlias(this=exp.to_identifier("in_parentheses"))
    inner = exp.Subquery(this=query.this, alias=name)
    query.set("this", exp.Select(**around).select("*").from_(inner, copy=False))


def _of_rows(values: exp.Values) -> exp.Select:
    """``VALUES (1), (2) LIMIT 1`` as a SELECT."""
    around = {k: values.args[k] for k in _MODIFIERS if values.args.get(k)}
    for clause in around:
        values.set(clause, None)
    return exp.Select(**around).select("*").from_(values, copy=False)


def without_terminator(sql: str) -> str:
    """A statement's text without the semicolons, and the comments behind them, that end it.

    Args:
        sql: Text that :func:`parse` takes.
    """
    tokens = sqlglot.tokenize(sql, read=DIALECT) if ";" in sql else []
    while tokens and tokens[-1].token_type is TokenType.SEMICOLON:
        sql = sql[: tokens.pop().start]
    return sql


def split_statements(sql: str) -> list[str]:
    """The statements of a text that holds several, without the semicolons between them."""
    statements, start = [], 0
    for token in DIALECT.tokenize(sql):
        if token.token_type is TokenType.SEMICOLON:
            statements.append(sql[start : token.start].strip())
            start = token.end + 1
    return [statement for statement in (*statements, sql[start:].strip()) if statement]


def table_references(query: exp.Query) -> list[TableReference]:
    """The tables that a query reads, once for each place, in the text's order.

    Raises:
        InvalidModel: If a CTE is named twice.
    """
    return [reference(node) for node in table_nodes(query)]


def table_nodes(query: exp.Query) -> list[exp.Table]:
    """The places of a tree where a query reads a table, in the text's order.

    Names of CTEs are not tables. Views are listed like tables: only the catalog knows.

    Raises:
        InvalidModel: If a CTE is named twice.
    """
    for with_ in query.find_all(exp.With):
        names = [cte.alias.lower() for cte in with_.expressions]
        for number, cte in enumerate(with_.expressions):
            if names[number] in names[:number]:
                raise InvalidModel(f"Two CTEs are named {cte.alias}", **position(cte.args["alias"]))
    found = [
        node
        for node in query.find_all(exp.Table)
        if isinstance(node.this, exp.Identifier) and cte_of(node) is None
    ]
    return sorted(found, key=lambda node: reference(node).start)


def reference(node: exp.Table) -> TableReference:
    """A table by its name and place."""
    identifiers = [p for p in node.parts if isinstance(p, exp.Identifier)]
    first, last = identifiers[0], identifiers[-1]
    where = position(first)
    return TableReference(
        parts=tuple(p.name for p in identifiers),
        start=first.meta.get("start", 0),
        end=last.meta.get("end", 0) + 1,
        line=where.get("line"),
        column=where.get("column"),
        pinned=node.args.get("version") is not None,
        aliased=bool(node.alias),
    )


def quoted_name(parts: tuple[str, ...]) -> str:
    """A relation's name with every part quoted."""
    return ".".join("`" + part.replace("`", "``") + "`" for part in parts)


def pin_versions(
    sql: str, versions: Mapping[str, int], seen: Mapping[str, str] | None = None
) -> str:
    """The user's own text with every table read at a given version.

    The text is spliced, not rendered anew, so that a recomputation is the user's SQL to the
    letter and shares nothing with the planner's own rendering.

    Args:
        sql: The model's compiled SQL.
        versions: Version by table key, a negative one before there were rows; tables that are not
            named, and those whose version the text gives already, are left as they are.
        seen: The condition on the rows that are seen, of tables of which not all are.
    """
    seen = seen or {}
    if not versions:
        return sql
    pinned = sql
    tables = _places_of_table(sql)
    for reference in reversed(table_references(parse(sql))):
        if mark_at(sql, reference.end) is Mark.LAST:
            reference = replace(reference, last=True)
        if reference.key in versions and not reference.pinned:
            table = pinned[reference.start : reference.end]
            version = versions[reference.key]
            start = tables.get(reference.start, reference.start)
            if version < 0:
                table = f"(SELECT * FROM {table} WHERE FALSE)"
                pinned = pinned[:start] + table + pinned[reference.end :]
                continue
            table += f" VERSION AS OF {version}"
            if reference.key in seen:
                table = f"(SELECT * FROM {table} WHERE {seen[reference.key]})"
                table += "" if reference.aliased else f" AS {quoted_name(reference.parts[-1:])}"
            elif start < reference.start:  # TABLE t has no versions
                table = f"(SELECT * FROM {table})"
            pinned = pinned[:start] + table + pinned[reference.end :]
    return pinned


def without_schemas(sql: str) -> str | None:
    """A text that says of each table only which one of its tables it is, and its own name.

    So two texts are the same if they differ in nothing but the schemas of their tables.

    Returns:
        The essence of the text; None where it says which version of a table to read, for another
        schema's table has other versions.
    """
    numbers: dict[str, int] = {}
    edits: list[tuple[int, int, str]] = []
    for reference in table_references(parse(sql)):
        if reference.pinned:
            return None
        number = numbers.setdefault(reference.key, len(numbers) + 1)
        # A number cannot stand in a table's place, so that this is never a text of somebody's.
        name = f"{number} {quoted_name(reference.parts[-1:]).lower()}"
        edits.append((reference.start, reference.end, name))
    for start, end, name in reversed(edits):
        sql = sql[:start] + name + sql[end:]
    return essence(sql)


def with_tables(sql: str, names: dict[str, str]) -> str:
    """A text that reads other tables.

    Args:
        sql: The text of a query.
        names: What stands for a table, by its planner key.
    """
    for reference in reversed(table_references(parse(sql))):
        if reference.key in names:
            sql = sql[: reference.start] + names[reference.key] + sql[reference.end :]
    return sql


def _places_of_table(sql: str) -> dict[int, int]:
    """Where the word TABLE stands before a name, by where the name begins."""
    tokens = DIALECT.tokenize(sql)
    return {
        name.start: word.start
        for word, name in pairwise(tokens)
        if word.token_type is TokenType.TABLE
    }
