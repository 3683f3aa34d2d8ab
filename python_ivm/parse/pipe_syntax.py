"""The pipe syntax as nested SELECTs, token by token.

sqlglot reads ``|>`` as CTEs, and loses whether WHERE or LIMIT comes first. Here each operator
becomes a SELECT over what stands before it. The user's tokens keep their places in the text, so
that errors and table names are found there.

Source: Spark's documentation, "SQL Pipe Syntax".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from sqlglot import Token, TokenType

from python_ivm.errors import NotParsed
from python_ivm.parse.tokens import Tokens, closing, outside, split, words

_SETS = ("UNION", "EXCEPT", "MINUS", "INTERSECT")
_JOINS = ("JOIN", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "NATURAL", "SEMI", "ANTI")
_ORDERS = ("ORDER BY", "SORT BY", "CLUSTER BY", "DISTRIBUTE BY")
_ONLY_FROM = frozenset(
    {
        TokenType.SELECT, TokenType.WHERE, TokenType.GROUP_BY, TokenType.HAVING,
        TokenType.ORDER_BY, TokenType.LIMIT, TokenType.OFFSET, TokenType.LATERAL,
    }
)  # fmt: skip
_ENDS_A_VALUE = frozenset(
    {
        TokenType.VAR, TokenType.IDENTIFIER, TokenType.NUMBER, TokenType.STRING, TokenType.R_PAREN,
        TokenType.R_BRACKET, TokenType.END, TokenType.NULL, TokenType.TRUE, TokenType.FALSE,
    }
)  # fmt: skip
_NAMES = frozenset({TokenType.VAR, TokenType.IDENTIFIER})
_NO_PLAIN_KEY = frozenset(
    {
        TokenType.ROLLUP, TokenType.CUBE, TokenType.GROUPING_SETS, TokenType.ALL,
        TokenType.NUMBER, TokenType.L_PAREN,
    }
)  # fmt: skip
"""What begins grouping sets and ordinals."""


def without_pipes(tokens: Tokens) -> Tokens:
    """The tokens of statements, with ``|>`` and ``TABLE t`` written as SELECTs.

    Raises:
        NotParsed: For an operator that is not known, or that takes rows in an order which a
            SELECT in between loses.
    """
    if not any(t.token_type in (TokenType.PIPE_GT, TokenType.TABLE) for t in tokens):
        return tokens
    found: Tokens = []
    statement: Tokens = []
    for token in tokens:
        if token.token_type is TokenType.SEMICOLON:
            found += [*_query(statement), token]
            statement = []
        else:
            statement.append(token)
    return found + _query(statement)


def _query(tokens: Tokens) -> Tokens:
    """A query, those in its parentheses first; behind WITH, what follows the CTEs."""
    tokens = _inside_parentheses(tokens)
    start = _behind_ctes(tokens)
    base, *operators = split(tokens[start:], TokenType.PIPE_GT)
    if not operators:
        return [*tokens[:start], *_tables_as_selects(base)]
    pipe = next(t for t in tokens[start:] if t.token_type is TokenType.PIPE_GT)
    rows = _base(base, pipe)
    for operator in operators:
        if not operator:
            raise _unknown(pipe)
        rows = _applied(rows, operator)
    return [*tokens[:start], *rows.query()]


def _inside_parentheses(tokens: Tokens) -> Tokens:
    found: Tokens = []
    number = 0
    while number < len(tokens):
        found.append(tokens[number])
        if tokens[number].token_type is TokenType.L_PAREN:
            end = closing(tokens, number)
            inner = tokens[number + 1 : end]
            is_call = number > 0 and tokens[number - 1].token_type in _NAMES
            found += _inside_parentheses(inner) if is_call else _query(inner)
            number = end - 1
        number += 1
    return found


def _behind_ctes(tokens: Tokens) -> int:
    """Where the query begins that stands behind a WITH clause."""
    if not tokens or tokens[0].token_type is not TokenType.WITH:
        return 0
    number = 1
    while number < len(tokens):
        if tokens[number].token_type is TokenType.L_PAREN:
            is_body = tokens[number - 1].token_type is TokenType.ALIAS
            number = closing(tokens, number)
            another = tokens[number + 1 : number + 2]
            if is_body and (not another or another[0].token_type is not TokenType.COMMA):
                return number + 1
        number += 1
    return 0


def _tables_as_selects(tokens: Tokens) -> Tokens:
    """``TABLE t`` by itself, and TABLE and VALUES as sides of a set operation."""
    found: Tokens = []
    for number, token in enumerate(tokens):
        is_side = number > 0 and tokens[number - 1].text.upper() in (*_SETS, "ALL", "DISTINCT")
        if token.token_type is TokenType.TABLE and (is_side or number == 0):
            found += words(token, "SELECT * FROM")
        elif token.token_type is TokenType.VALUES and is_side:
            found += [*words(token, "SELECT * FROM"), token]
        else:
            found.append(token)
    return found


def _unknown(token: Token) -> NotParsed:
    return _not_parsed(
        token, "as an operator of the pipe syntax", "Write the query as nested SELECTs."
    )


def _not_parsed(token: Token, why: str, hint: str) -> NotParsed:
    column = token.col - (token.end - token.start)
    message = f"The SQL does not parse: {token.text} {why}"
    return NotParsed(message, line=token.line, column=column, hint=hint)


@dataclass(frozen=True)
class _Rows:
    """What an operator gets: rows of FROM, with conditions and an order, or a whole query.

    Attributes:
        at: A token whose place the words that are put in get.
        items: What stands in FROM.
        name: The name by which expressions may call the rows; None where there are several.
        select: What stands behind SELECT; empty where all columns are shown.
        where: The conditions.
        groups: What stands behind them: GROUP BY, or a WINDOW clause.
        order: ORDER BY.
        limit: How many of the rows in this order are kept.
        forgets: Whether there is an order below that LIMIT would keep to.
    """

    at: Token
    items: Tokens
    name: Token | None = None
    select: Tokens = field(default_factory=list)
    where: Tokens = field(default_factory=list)
    groups: Tokens = field(default_factory=list)
    order: Tokens = field(default_factory=list)
    limit: Tokens = field(default_factory=list)
    forgets: bool = False

    def words(self, text: str) -> Tokens:
        return words(self.at, text)

    @property
    def is_open(self) -> bool:
        """Whether another operator may still use the same FROM."""
        return not self.select and not self.groups and not self.limit

    def query(self) -> Tokens:
        """The rows as a query."""
        found = [*self.words("SELECT"), *(self.select or self.words("*"))]
        found += [*self.words("FROM"), *self.items]
        if self.where:
            found += [*self.words("WHERE"), *self.where]
        return [*found, *self.groups, *self.order, *self.limit]

    def closed(self, name: Token | None = None) -> _Rows:
        """The rows as a derived table."""
        label = name or self.name
        items = [*self.words("("), *self.query(), *self.words(")")]
        items += [*self.words("AS"), label] if label is not None else []
        return _Rows(self.at, items, label, forgets=self.forgets or bool(self.order))

    def shown(self, select: Tokens, groups: Tokens | None = None) -> _Rows:
        """Other columns of the rows."""
        rows = self if self.is_open and not self.order else self.closed()
        return replace(rows, select=select, groups=groups or [])


def _base(tokens: Tokens, pipe: Token) -> _Rows:
    """What stands before the first operator: FROM or TABLE, or any query."""
    if not tokens:
        raise _unknown(pipe)
    first = tokens[0]
    items = tokens[1:]
    if first.token_type is TokenType.TABLE:
        return _Rows(first, items, _own_name(items))
    if first.token_type is TokenType.VALUES:
        return _Rows(first, tokens)
    if first.token_type is TokenType.FROM and not any(
        token.token_type in _ONLY_FROM for token in outside(items)
    ):
        return _Rows(first, items, _own_name(items))
    ordered = any(t.token_type in (TokenType.ORDER_BY, TokenType.LIMIT) for t in outside(tokens))
    if first.token_type is TokenType.FROM:
        tokens = [*words(first, "SELECT *"), *tokens]
    if first.token_type is not TokenType.L_PAREN or closing(tokens, 0) < len(tokens) - 1:
        tokens = [*words(first, "("), *_tables_as_selects(tokens), *words(first, ")")]
    return _Rows(first, tokens, forgets=ordered)


def _own_name(items: Tokens) -> Token | None:
    """The name of the only relation of FROM: its alias, or the last part of the table's name."""
    own = outside(items)
    several = any(t.token_type in (TokenType.COMMA, TokenType.JOIN) for t in own)
    last = own[-1]
    return last if not several and last.token_type in _NAMES else None


def _applied(rows: _Rows, operator: Tokens) -> _Rows:
    """The rows after an operator."""
    rule = _RULES.get(operator[0].text.upper())
    if rule is None:
        raise _unknown(operator[0])
    return rule(rows, operator)


def _select(rows: _Rows, operator: Tokens) -> _Rows:
    """``SELECT a, b``, with a WINDOW clause behind it."""
    rest = operator[1:]
    for number, token in enumerate(rest):
        behind = [t.token_type for t in rest[number + 2 : number + 3]]
        if number and token.text.upper() == "WINDOW" and behind == [TokenType.ALIAS]:
            return rows.shown(rest[:number], rest[number:])
    return rows.shown(rest)


def _extend(rows: _Rows, operator: Tokens) -> _Rows:
    return rows.shown([*rows.words("* ,"), *operator[1:]])


def _set(rows: _Rows, operator: Tokens) -> _Rows:
    """``SET a = b + 1, b = a``: one after the other."""
    for assignment in split(operator[1:], TokenType.COMMA):
        if len(assignment) < 3 or assignment[1].token_type is not TokenType.EQ:
            raise _unknown(assignment[0] if assignment else rows.at)
        value = [*rows.words("("), *assignment[2:], *rows.words(")")]
        replaced = [*rows.words("* REPLACE ("), *value, *rows.words("AS"), assignment[0]]
        rows = rows.shown([*replaced, *rows.words(")")])
    return rows


def _drop(rows: _Rows, operator: Tokens) -> _Rows:
    return rows.shown([*rows.words("* EXCEPT ("), *operator[1:], *rows.words(")")])


def _as(rows: _Rows, operator: Tokens) -> _Rows:
    rest = operator[1:]
    if len(rest) != 1:
        raise _unknown(rest[0] if rest else rows.at)
    return rows.closed(rest[0])


def _where(rows: _Rows, operator: Tokens) -> _Rows:
    """Conditions of the same rows, of which the order stays."""
    rows = rows if rows.is_open else rows.closed()
    condition = [*rows.words("("), *operator[1:], *rows.words(")")]
    where = [*rows.where, *rows.words("AND"), *condition] if rows.where else condition
    return replace(rows, where=where)


def _aggregate(rows: _Rows, operator: Tokens) -> _Rows:
    """``AGGREGATE sum(v) AS s GROUP BY k``: the keys, then the aggregates.

    Keys are written twice, so that tables of subqueries in them would be named twice.
    """
    parts = split(operator[1:], TokenType.GROUP_BY)
    keys = split(parts[1], TokenType.COMMA) if len(parts) > 1 else []
    for key in keys:
        asks = any(token.token_type is TokenType.SELECT for token in key)
        if not key or asks or key[0].token_type in _NO_PLAIN_KEY or len(parts) > 2:
            raise _unknown(key[0] if key else rows.at)
    groups: Tokens = []
    items = [*keys, *([parts[0]] if parts[0] else [])]
    shown: Tokens = []
    for item in items:
        shown += [*rows.words(","), *item] if shown else item
    for key in keys:
        groups += rows.words("," if groups else "GROUP_BY") + _without_alias(key)
    below = rows if rows.is_open and not rows.order else rows.closed()
    return _Rows(rows.at, below.items, select=shown, where=below.where, groups=groups)


def _without_alias(item: Tokens) -> Tokens:
    if len(item) > 1 and item[-1].token_type in _NAMES:
        if item[-2].token_type is TokenType.ALIAS:
            return item[:-2]
        if item[-2].token_type in _ENDS_A_VALUE:
            return item[:-1]
    return item


def _join(rows: _Rows, operator: Tokens) -> _Rows:
    """One more join of FROM; after ``FROM a, b`` it would be one of b alone."""
    listed = any(token.token_type is TokenType.COMMA for token in outside(rows.items))
    plain = rows.is_open and not rows.where and not rows.order and not listed
    below = rows if plain else rows.closed()
    return _Rows(rows.at, [*below.items, *operator])


def _order(rows: _Rows, operator: Tokens) -> _Rows:
    if sum(token.text.upper() in _ORDERS for token in outside(operator)) > 1:
        raise _unknown(operator[-1])
    below = rows if rows.is_open else rows.closed()
    return replace(below, order=operator, forgets=False)


def _limit(rows: _Rows, operator: Tokens) -> _Rows:
    """LIMIT and OFFSET keep the first rows in the order that the operators before them left."""
    below = rows if rows.is_open else rows.closed()
    if below.forgets:
        raise _not_parsed(
            operator[0],
            "of rows whose order other operators of the pipe syntax keep",
            "Write ORDER BY right before it.",
        )
    return replace(below, limit=operator)


def _set_operation(rows: _Rows, operator: Tokens) -> _Rows:
    sides = [*rows.words("("), *rows.query(), *rows.words(")"), *operator]
    return _Rows(rows.at, [*rows.words("("), *_tables_as_selects(sides), *rows.words(")")])


def _behind(rows: _Rows, operator: Tokens) -> _Rows:
    return _Rows(rows.at, [*rows.closed().items, *operator]).closed()


_RULES: dict[str, Callable[[_Rows, Tokens], _Rows]] = {
    "SELECT": _select,
    "EXTEND": _extend,
    "SET": _set,
    "DROP": _drop,
    "AS": _as,
    "WHERE": _where,
    "AGGREGATE": _aggregate,
    **dict.fromkeys(_JOINS, _join),
    **dict.fromkeys(_ORDERS, _order),
    **dict.fromkeys(("LIMIT", "OFFSET"), _limit),
    **dict.fromkeys(_SETS, _set_operation),
    **dict.fromkeys(("PIVOT", "UNPIVOT", "TABLESAMPLE"), _behind),
}
"""One rule an operator, by its first word. A rule gets the rows before it and its tokens."""
