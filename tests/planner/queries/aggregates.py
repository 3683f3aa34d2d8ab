"""Random GROUP BYs: aggregates, HAVING, grouping sets."""

from __future__ import annotations

import re

from hypothesis import strategies as st

from tests.planner.queries.joins import Joins
from tests.planner.queries.kinds import (
    ARRAY,
    DECIMAL,
    DOUBLE,
    INT,
    STRUCT,
    WIDE,
    Column,
    Item,
    Relation,
    columns_of,
    fresh,
    listed,
)


class Aggregates(Joins):
    """SELECTs with aggregates."""

    def item(self, number: int, type_: str, scope: list[Column], deep: bool = False) -> Item:
        """A column."""
        sql = self.value(type_, scope, self.pick(0, 0, 1, 2), deep)
        return Item(fresh(number, scope), sql, type_)

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
                    items.append(Item(fresh(number, scope), call, type_, True))
        if wanted is None and self.chance(20):
            items = list(self.draw(st.permutations(items)))
        having = f" having {self.having(scope, keys)}" if self.chance(25) else ""
        sql = f"select {listed(items)}{from_}{self.group_by(keys, items)}{having}"
        if keys and wanted is None and self.chance(15):
            hidden = [i for i in items if i not in keys[:1]]
            # A bare number would be an ordinal.
            if hidden and not having and not any(map(constant, keys)):
                spelled = ", ".join(k.sql for k in keys)
                sql = f"select {listed(hidden)}{from_} group by {spelled}"
                items = hidden
        return Relation(sql, columns_of(items), size if keys else 1)

    def group_by(self, keys: list[Item], items: list[Item]) -> str:
        if not keys:
            return ""
        if not all(constant(key) for key in keys) and self.chance(15):
            return " group by all"
        spelled = []
        for key in keys:
            options = [key.sql, key.name, str(items.index(key) + 1)]
            if constant(key):
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
        if self.subqueries and self.chance(20):
            return f"count(*) {self.pick('>=', '<')} {self.scalar(INT, [])}"
        return self.pick(*choices)

    def sets(self, from_: str, scope: list[Column], size: int, top: bool) -> Relation:
        """GROUP BY with grouping sets. DuckDB has a grand total over no rows, and Spark none."""
        keys = [Column(fresh(n, scope), c.ref) for n, c in enumerate(self.two(scope), 1)]
        types = {c.ref: c.type for c in scope}
        items = [Item(k.ref, k.type, types[k.type]) for k in keys]
        refs = [k.type for k in keys]
        items += [self.measure(len(items) + 1, scope, top)]
        if self.chance(50):
            items.append(Item(fresh(len(items) + 1, scope), f"grouping({refs[0]})", INT, True))
        whole = ", ".join(refs)
        spelled = [f"rollup ({whole})", f"cube ({whole})", f"grouping sets (({whole}), ())"]
        if len(refs) > 1:
            spelled += [f"{refs[0]}, rollup ({refs[1]})", f"grouping sets (({refs[1]}), ({whole}))"]
        sql = f"select {listed(items)}{from_} group by {self.pick(*spelled)} having count(*) > 0"
        return Relation(sql, columns_of(items), 3 * size)

    def two(self, scope: list[Column]) -> list[Column]:
        """One column, or two different ones."""
        usable = [c for c in scope if "." in c.ref]
        first = self.pick(*usable)
        rest = [c for c in usable if c.ref != first.ref]
        return [first, self.pick(*rest)] if rest and self.chance(60) else [first]

    # -- aggregates --------------------------------------------------------------------------

    def measure(self, number: int, scope: list[Column], top: bool) -> Item:
        """An aggregate, or an expression over aggregates."""
        name = fresh(number, scope)
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
        kind = self.pick("count(*)", "count", "sum", "sum", "avg", "min", "max", "distinct",
                         "several", "bool", "rare")  # fmt: skip
        filter_ = ""
        if self.chance(20):
            filter_ = f" filter (where {self.condition(scope)})"
        if kind == "count(*)":
            return f"count(*){filter_}", INT, True
        column = self.pick(*scope)
        argument = self.value(column.type, scope, self.pick(0, 0, 1))
        if kind == "count":
            return f"count({argument}){filter_}", INT, True
        if kind == "distinct":
            return f"count(distinct {argument}){filter_}", INT, True
        if kind == "several" and column.type in (INT, DECIMAL):
            result = INT if column.type == INT else WIDE
            return f"sum(distinct {argument}){filter_}", result, result == INT
        if kind == "bool":
            made = f"{self.pick('bool_and', 'bool_or')}({self.condition(scope)}){filter_}"
            return f"case when {made} then 1 else 0 end", INT, False
        if kind == "rare" and column.type not in (ARRAY, STRUCT):
            return self.rare(argument, column.type, scope, filter_, top)
        if kind in ("sum", "avg") and column.type in (INT, DECIMAL, DOUBLE, WIDE):
            return self.number(kind, argument, column.type, filter_, top)
        word = kind if kind in ("min", "max") else "max"
        return f"{word}({argument}){filter_}", column.type, column.type == INT

    def rare(
        self, argument: str, type_: str, scope: list[Column], filter_: str, top: bool
    ) -> tuple[str, str, bool]:
        """An aggregate that is computed anew for each group that changed."""
        kind = self.pick("median", "stddev", "max_by", "first", "set")
        if type_ == INT and kind in ("median", "stddev") and top:
            return f"{kind}({argument}){filter_}", DOUBLE, False
        if kind == "max_by":
            order = self.pick(*scope)
            if order.type not in (ARRAY, STRUCT):
                return f"max_by({argument}, {order.ref}){filter_}", type_, False
        if kind == "first":
            return f"first({argument}){filter_}", type_, False
        if kind == "set" and type_ == INT:
            return f"sort_array(collect_set({argument}))", ARRAY, False
        return f"min({argument}){filter_}", type_, type_ == INT

    def number(
        self, kind: str, argument: str, type_: str, filter_: str, top: bool
    ) -> tuple[str, str, bool]:
        """A sum or an average."""
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


def constant(item: Item) -> bool:
    """Whether an expression names no column."""
    return re.search(r"[a-z_]\w*\.\w", item.sql) is None
