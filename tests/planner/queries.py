"""Random models over random tables: all operators that the planner has rules for, composed.

Where DuckDB differs from Spark the generator keeps out of the way, so that a failure is the
planner's:

- numbers are small, so that nothing overflows (Spark wraps or raises, DuckDB raises);
- nothing is divided but by a literal (Spark gives NULL or raises, DuckDB gives infinity);
- doubles are sums of quarters, so that their sums are exact in any order;
- the average of decimals is a double in DuckDB: it stands alone in the outermost SELECT, where
  the comparison allows for rounding, and nothing is sorted by it;
- GROUP BY ALL over constants alone groups no rows into one group in DuckDB, into none in Spark;
- doubles are not shown as text: -0.0 and 0.0 are one value, but two texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

INT, TEXT, DATE, DECIMAL, WIDE, DOUBLE = "int", "string", "date", "decimal", "wide", "double"
SPARK_TYPES = {INT: "int", TEXT: "string", DATE: "date", DECIMAL: "decimal(8,2)", DOUBLE: "double"}
LITERALS = {
    INT: ("1", "2", "0", "-1"),
    TEXT: ("'a'", "'b'", "''"),
    DATE: ("date '2024-01-01'", "date '2024-02-29'"),
    DECIMAL: ("cast(1.50 as decimal(8,2))", "cast(0 as decimal(8,2))"),
    WIDE: ("cast(2.5 as decimal(8,2))",),
    DOUBLE: ("cast(0.25 as double)", "cast(-1.5 as double)"),
}
# Names that the planner itself uses in what it emits are as good as any other.
ALIASES = (
    "a", "b", "c", "delta", "lost", "changed", "recomputed", "net_delta", "source", "state",
    "stored", "change", "q_rows", "q_keys", "delta_t1", "ivm_view", "ivm_view_groups",
)  # fmt: skip
LARGEST = 1500
"""Upper bound for the estimated rows of an intermediate result."""


@dataclass(frozen=True)
class Column:
    """A column in scope: how it is named there, and its type."""

    ref: str
    type: str


@dataclass(frozen=True)
class Relation:
    """Something that can stand in FROM."""

    sql: str
    columns: tuple[Column, ...]
    size: int


@dataclass(frozen=True)
class Item:
    """An item of a SELECT list."""

    name: str
    sql: str
    type: str
    aggregated: bool = False


@dataclass
class Writer:
    """Writes one model.

    Attributes:
        draw: Hypothesis' draw.
        tables: The source tables.
        full: Whether the model has a part that is known to be rebuilt in full.
        rounded: Whether a column is an average of decimals.
    """

    draw: Callable[[st.SearchStrategy[Any]], Any]
    tables: tuple[Relation, ...]
    full: bool = False
    rounded: bool = False
    ctes: list[Relation] = field(default_factory=list)

    def pick(self, *options: Any) -> Any:
        return self.draw(st.sampled_from(options))

    def chance(self, percent: int) -> bool:
        """Shrinks towards False."""
        return self.draw(st.integers(0, 99)) >= 100 - percent

    def some(self, least: int, most: int) -> int:
        return self.draw(st.integers(least, most))

    # -- the model ---------------------------------------------------------------------------

    def model(self, depth: int) -> str:
        """A whole model: CTEs, the query, ORDER BY and LIMIT."""
        texts = []
        for number in range(self.pick(0, 0, 1, 2)):
            body = self.query(max(0, depth - 2), top=False)
            name = self.pick(f"cte{number}", f"Cte{number}", ("delta", "groups")[number])
            texts.append(f"{name} as ({body.sql})")
            self.ctes.append(Relation(name, body.columns, body.size))
        body = self.query(depth, top=True)
        sql = (f"with {', '.join(texts)} " if texts else "") + body.sql
        return sql + self.order(body) if self.chance(25) else sql

    def order(self, body: Relation) -> str:
        """A total order by all columns, so that a LIMIT has one result."""
        if self.rounded or " union " in body.sql:
            return ""
        keys = []
        for number, column in enumerate(body.columns, 1):
            named = self.pick(column.ref, str(number))
            keys.append(named + self.pick("", " desc", " asc nulls last", " desc nulls first"))
        limit = self.pick("", f" limit {self.some(0, 4)}", " limit 3 offset 1")
        return f" order by {', '.join(keys)}{limit}"

    def query(self, depth: int, top: bool) -> Relation:
        """A query expression; its columns' refs are its output names."""
        if depth > 0 and self.chance(15):
            return self.union(depth, top)
        return self.select(depth, top)

    def union(self, depth: int, top: bool) -> Relation:
        """UNION [ALL] of selects of the same types."""
        first = self.select(depth - 1, top=False)
        types = [c.type for c in first.columns]
        second = self.select(depth - 1, top=False, wanted=types)
        kind = self.pick("union all", "union all", "union")
        sql = f"{first.sql} {kind} {second.sql}"
        return Relation(sql, first.columns, first.size + second.size)

    # -- FROM --------------------------------------------------------------------------------

    def relation(self, depth: int) -> Relation:
        kind = self.draw(st.integers(0, 9))
        if depth > 0 and kind >= 7:
            body = self.query(depth - 1, top=False)
            order = f" order by {self.pick(*body.columns).ref}" if self.chance(15) else ""
            return Relation(f"({body.sql}{order})", body.columns, body.size)
        if depth > 0 and kind == 6 and self.chance(50):
            return self.pivoted(self.query(depth - 1, top=False))
        if self.ctes and kind >= 4:
            return self.pick(*self.ctes)
        return self.pick(*self.tables)

    def from_(self, depth: int) -> tuple[str, list[Column], int]:
        """A FROM clause, what it puts in scope, and its estimated size."""
        aliases = list(self.draw(st.permutations(ALIASES)))[:3]
        first = self.relation(depth)
        text = f"{first.sql} {aliases[0]}"
        scope = [Column(f"{aliases[0]}.{c.ref}", c.type) for c in first.columns]
        size = first.size
        for alias in aliases[1 : self.pick(1, 1, 2, 2, 3)]:
            other = self.relation(depth - 1)
            if size * other.size > LARGEST:
                break
            columns = [Column(f"{alias}.{c.ref}", c.type) for c in other.columns]
            joined, shrinks = self.join(scope, columns, f"{other.sql} {alias}")
            text += joined
            scope += columns
            size = max(4, size * other.size // shrinks)
        return text, scope, size

    def join(self, scope: list[Column], columns: list[Column], item: str) -> tuple[str, int]:
        """A join to one more relation, and by how much it shrinks the product."""
        kind = self.pick("on", "on", "on", "using", "using", "theta", "cross", "comma", "natural")
        pairs = [(x, y) for x in scope for y in columns if x.type == y.type]
        left_names = [c.ref.split(".")[1].lower() for c in scope]
        shared = [
            (x, y)
            for x, y in pairs
            if x.ref.split(".")[1].lower() == y.ref.split(".")[1].lower()
            and left_names.count(x.ref.split(".")[1].lower()) == 1
        ]
        names = [c.ref.split(".")[1].lower() for c in columns]
        if kind == "natural":
            common = [n for n in names if n in left_names]
            fits = len(shared) == len(common) and all(left_names.count(n) == 1 for n in common)
            return (f" natural join {item}", 2) if common and fits else (f" cross join {item}", 1)
        if kind == "using" and shared:
            _, right = self.pick(*shared)
            return f" join {item} using ({right.ref.split('.')[1]})", 2
        if kind == "on" and pairs:
            whole = [(x, y) for x, y in pairs if x.type == INT]
            left, right = self.pick(*(whole if whole and self.chance(60) else pairs))
            same = self.pick("=", "=", "<=>")
            more = f" and {self.condition(scope + columns)}" if self.chance(20) else ""
            return f" join {item} on {left.ref} {same} {right.ref}{more}", 2
        if kind == "theta" and pairs:
            left, right = self.pick(*pairs)
            return f" inner join {item} on {left.ref} {self.pick('<', '<=', '<>')} {right.ref}", 1
        return (f", {item}" if kind == "comma" else f" cross join {item}"), 1

    def pivoted(self, body: Relation) -> Relation:
        """A derived table under PIVOT or UNPIVOT, where its columns allow it."""
        numbers = [c for c in body.columns if c.type == INT]
        for by in numbers[:1] if self.chance(50) else []:
            rest = [c for c in body.columns if c is not by and c.type not in (DOUBLE, WIDE)]
            if rest:
                of = self.pick(*rest)
                values = "(1 as p1, 2 as p2)"
                sql = f"pivot ({self.pick('max', 'min')}({of.ref}) for {by.ref} in {values})"
                kept = tuple(c for c in body.columns if c is not by and c is not of)
                made = (Column("p1", of.type), Column("p2", of.type))
                whole = f"(select * from ({body.sql}) {sql})"
                return Relation(whole, (*kept, *made), body.size)
        if len(numbers) > 1:
            nulls = self.pick("", "include nulls ")
            used = f"{numbers[0].ref}, {numbers[1].ref} as second"
            sql = f"unpivot {nulls}(val for what in ({used}))"
            kept = tuple(c for c in body.columns if c not in numbers[:2])
            made = (Column("what", TEXT), Column("val", INT))
            return Relation(f"(select * from ({body.sql}) {sql})", (*kept, *made), 2 * body.size)
        return Relation(f"({body.sql})", body.columns, body.size)

    def generated(self, text: str, scope: list[Column], size: int) -> tuple[str, list[Column], int]:
        """A FROM clause with a generator or a LATERAL subquery behind it, now and then."""
        numbers = [c.ref for c in scope if c.type == INT]
        # sqlglot looks for the columns of a table there that is named like a CTE in the CTE.
        hidden = {c.ref.split(".")[0] for c in scope} & {cte.sql for cte in self.ctes}
        if not numbers or hidden or 2 * size > LARGEST or not self.chance(18):
            return text, scope, size
        one, two = self.pick(*numbers), self.pick(*numbers, "2")
        kind = self.pick("explode", "explode", "posexplode", "stack", "inline", *["lateral"] * 3)
        if kind == "lateral":
            return self.lateral(text, scope, size, one)
        array = f"array({one}, {two})"
        if self.chance(30):
            array = f"case when {self.condition(scope)} then {array} end"
        outer = self.pick("", "", "outer ")
        names = ["ge"] if kind == "explode" else ["gp", "ge"]
        call = f"{kind}({array})"
        if kind == "stack":
            call = f"stack(2, 1, {one}, {two}, {two})"
        if kind == "inline":
            call = f"inline(array(struct({one} as f, {two} as g), struct({two} as f, 1 as g)))"
        text += f" lateral view {outer}{call} gen as {', '.join(names)}"
        return text, [*scope, *(Column(f"gen.{n}", INT) for n in names)], 2 * size

    def lateral(
        self, text: str, scope: list[Column], size: int, outer: str
    ) -> tuple[str, list[Column], int]:
        """A join to a subquery that names a relation before it."""
        table = self.pick(*self.tables)
        shown = self.pick(*table.columns)
        if size * table.size > LARGEST:
            return text, scope, size
        aggregate = self.chance(40)
        items = f"{f'max(lt.{shown.ref})' if aggregate else f'lt.{shown.ref}'} as ge"
        match = f"lt.k {'=' if aggregate else self.pick('=', '=', '<', '<=>')} {outer}"
        inside = f"(select {items} from {table.sql} lt where {match}) gen"
        join = self.pick("cross join lateral", "left join lateral")
        on = " on true" if join.startswith("left") else ""
        text += f" {join} {inside}{on}"
        return text, [*scope, Column("gen.ge", shown.type)], size * (1 if aggregate else 2)

    # -- SELECT ------------------------------------------------------------------------------

    def select(self, depth: int, top: bool, wanted: list[str] | None = None) -> Relation:
        """One SELECT; ``wanted`` gives the types of its columns."""
        text, scope, size = self.from_(depth)
        if "," in text and " join " in text:  # `a, b join c on a.x = c.x` does not see a
            text = text.replace(", ", " cross join ") if "(" not in text else text
        text, scope, size = self.generated(text, scope, size)
        where = f" where {self.condition(scope)}" if self.chance(30) else ""
        kind = self.pick("plain", "plain", "grouped", "grouped", "grouped", "distinct")
        if kind == "grouped":
            return self.grouped(f" from {text}{where}", scope, size, top, wanted)
        if wanted is None and self.chance(10) and len({_name(c) for c in scope}) == len(scope):
            star = tuple(Column(_name(c), c.type) for c in scope)
            if not any(word in text for word in (" using ", " natural ")):
                return Relation(f"select * from {text}{where}", star, size)
        types = wanted or [self.pick(*{c.type: 0 for c in scope}) for _ in range(self.some(1, 3))]
        items = [self.item(n, t, scope) for n, t in enumerate(types, 1)]
        distinct = "distinct " if kind == "distinct" else ""
        sql = f"select {distinct}{_list(items)} from {text}{where}"
        return Relation(sql, _columns(items), size)

    def item(self, number: int, type_: str, scope: list[Column]) -> Item:
        """A column under a name that FROM has not: GROUP BY would mean FROM's column by it."""
        sql = self.value(type_, scope, self.pick(0, 0, 1, 2))
        return Item(_fresh(number, scope), sql, type_)

    def grouped(
        self, from_: str, scope: list[Column], size: int, top: bool, wanted: list[str] | None
    ) -> Relation:
        """A SELECT with aggregates, and GROUP BY in one of its spellings."""
        usable = [c.type for c in scope]
        if wanted is None:
            types = [self.pick(*dict.fromkeys(usable)) for _ in range(self.pick(0, 1, 1, 2))]
            aggregates = self.some(0 if types else 1, 3)
            keys = [self.item(n, t, scope) for n, t in enumerate(types, 1)]
            items = keys + [
                self.measure(len(keys) + n, scope, top) for n in range(1, aggregates + 1)
            ]
        else:
            keys = []
            items = []
            for number, type_ in enumerate(wanted, 1):
                if self.chance(50):
                    keys.append(self.item(number, type_, scope))
                    items.append(keys[-1])
                else:
                    call = f"{self.pick('min', 'max')}({self.value(type_, scope, 1)})"
                    items.append(Item(_fresh(number, scope), call, type_, True))
        if wanted is None and self.chance(20):
            items = list(self.draw(st.permutations(items)))
        having = f" having {self.having(scope, keys)}" if self.chance(25) else ""
        sql = f"select {_list(items)}{from_}{self.group_by(keys, items)}{having}"
        if keys and wanted is None and self.chance(15):
            hidden = [i for i in items if i not in keys[:1]]
            # A bare number would be an ordinal.
            if hidden and not having and not any(map(_constant, keys)):
                spelled = ", ".join(k.sql for k in keys)
                sql = f"select {_list(hidden)}{from_} group by {spelled}"
                items = hidden
        return Relation(sql, _columns(items), size if keys else 1)

    def group_by(self, keys: list[Item], items: list[Item]) -> str:
        if not keys:
            return ""
        if not all(_constant(key) for key in keys) and self.chance(15):
            return " group by all"
        spelled = []
        for key in keys:
            options = [key.sql, key.name, str(items.index(key) + 1)]
            if _constant(key):
                options = options[1:]  # a bare number would be an ordinal
            spelled.append(self.pick(*options))
        return f" group by {', '.join(spelled)}"

    def having(self, scope: list[Column], keys: list[Item]) -> str:
        choices = [f"count(*) > {self.some(0, 2)}"]
        numbers = [c.ref for c in scope if c.type == INT]
        if numbers:
            ref = self.pick(*numbers)
            choices.append(f"sum({ref}) {self.pick('>', '<', '<>')} {self.some(-1, 3)}")
            choices.append(f"max({ref}) is not null and min({ref}) < 3")
        if keys:
            choices.append(f"{self.pick(*keys).sql} is not null")
        return self.pick(*choices)

    # -- aggregates --------------------------------------------------------------------------

    def measure(self, number: int, scope: list[Column], top: bool) -> Item:
        """An aggregate, or an expression over aggregates."""
        name = _fresh(number, scope)
        call, type_, simple = self.call(scope, top)
        if simple and type_ == INT and self.chance(30):
            other, other_type, fine = self.call(scope, top)
            if fine and other_type == INT:
                shape = self.pick("{} + {}", "coalesce({}, 0) - {}", "case when {} > 1 then {} end")
                return Item(name, shape.format(call, other), INT, True)
            return Item(name, f"coalesce({call}, -7)", INT, True)
        return Item(name, call, type_, True)

    def call(self, scope: list[Column], top: bool) -> tuple[str, str, bool]:
        """An aggregate call, its type, and whether it may stand in an expression."""
        kind = self.pick("count(*)", "count", "sum", "sum", "avg", "min", "max", "distinct")
        filter_ = f" filter (where {self.condition(scope)})" if self.chance(20) else ""
        if kind == "count(*)":
            return f"count(*){filter_}", INT, True
        column = self.pick(*scope)
        argument = self.value(column.type, scope, self.pick(0, 0, 1))
        if kind == "count":
            return f"count({argument}){filter_}", INT, True
        if kind == "distinct":
            return f"count(distinct {argument}){filter_}", INT, True
        if kind in ("sum", "avg") and column.type in (INT, DECIMAL, DOUBLE, WIDE):
            return self.number(kind, argument, column.type, filter_, top)
        word = kind if kind in ("min", "max") else "max"
        return f"{word}({argument}){filter_}", column.type, column.type == INT

    def number(
        self, kind: str, argument: str, type_: str, filter_: str, top: bool
    ) -> tuple[str, str, bool]:
        """A sum or an average."""
        if type_ == DOUBLE and not top:
            if not self.chance(10):
                return f"max({argument}){filter_}", DOUBLE, False
            self.full = True  # floating sums below another operator are rebuilt in full
        if kind == "avg":
            if type_ in (DECIMAL, WIDE):
                if not top:
                    return f"sum({argument}){filter_}", WIDE, False
                self.rounded = True
            elif type_ == INT and not top:
                return f"sum({argument}){filter_}", INT, True
            return f"avg({argument}){filter_}", DOUBLE, False
        result = {INT: INT, DECIMAL: WIDE, WIDE: WIDE, DOUBLE: DOUBLE}[type_]
        return f"sum({argument}){filter_}", result, result == INT

    # -- expressions -------------------------------------------------------------------------

    def value(self, type_: str, scope: list[Column], depth: int) -> str:
        """An expression of a type."""
        refs = [c.ref for c in scope if c.type == type_]
        literal = not refs or self.chance(8)
        leaf = self.pick(*LITERALS[type_]) if literal else self.pick(*refs)
        if depth == 0:
            return leaf
        other = self.pick(*refs, *LITERALS[type_])
        shapes = ["coalesce({a}, {b})", "case when {c} then {a} else {b} end", "nullif({a}, {b})"]
        if type_ == INT:
            shapes += ["{a} + {b}", "{a} - 1", "-({a})", "{a} % 3", "abs({a})", "{a} * 2"]
        if type_ == TEXT:
            shapes += ["concat({a}, {b})", "upper({a})", "{a} || 'z'"]
        if type_ == DECIMAL:
            shapes = ["coalesce({a}, {b})", "case when {c} then {a} else {b} end"]
        if type_ == WIDE:
            shapes = ["coalesce({a}, {a})"]
        if type_ == DOUBLE:
            shapes += ["{a} + {b}", "{a} / 2", "-({a})"]
        shape = self.pick(*shapes)
        condition = self.condition(scope) if "{c}" in shape else ""
        return shape.format(a=leaf, b=other, c=condition)

    def condition(self, scope: list[Column]) -> str:
        """A predicate."""
        column = self.pick(*scope)
        literal = self.pick(*LITERALS[column.type])
        same = [c.ref for c in scope if c.type == column.type]
        kind = self.draw(st.integers(0, 9))
        ref = column.ref
        if kind == 0:
            return f"{ref} is {self.pick('not ', 'not ', '')}null"
        if kind == 1:
            return f"{ref} in ({', '.join(LITERALS[column.type])})"
        if kind in (2, 3):
            return f"({self.condition(scope)} or {ref} = {literal})"
        if kind == 4:
            return f"not ({ref} {self.pick('<', '=')} {literal})"
        if kind == 5:
            return f"{ref} between {literal} and {self.pick(*LITERALS[column.type])}"
        other = self.pick(literal, *same)
        return f"{ref} {self.pick('<>', '>=', '<=', '=', '<', '<=>')} {other}"


def _name(column: Column) -> str:
    return column.ref.split(".")[-1]


def _fresh(number: int, scope: list[Column]) -> str:
    taken = {_name(c)[0] for c in scope}
    return next(letter for letter in "cbaxyzuvwpq" if letter not in taken) + str(number)


def _constant(item: Item) -> bool:
    """Whether an expression names no column."""
    return re.search(r"[a-z_]\w*\.\w", item.sql) is None


def _list(items: list[Item]) -> str:
    return ", ".join(f"{i.sql} as {i.name}" for i in items)


def _columns(items: list[Item]) -> tuple[Column, ...]:
    return tuple(Column(i.name, i.type) for i in items)
