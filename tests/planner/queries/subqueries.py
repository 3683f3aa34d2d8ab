"""Random subqueries: EXISTS, IN, ANY and scalar ones, correlated by any condition or by none."""

from __future__ import annotations

from tests.planner.queries.expressions import Expressions
from tests.planner.queries.kinds import DATE, DECIMAL, DOUBLE, INT, STRUCT, TEXT, Column, Relation

COMPARED = (INT, TEXT, DATE, DECIMAL, DOUBLE)


class Subqueries(Expressions):
    """Subqueries in conditions and as values."""

    def query(
        self, depth: int, top: bool = False, wanted: list[str] | None = None
    ) -> Relation:  # pragma: no cover
        """A query expression."""
        raise NotImplementedError

    def inner(self) -> Relation:
        """What a subquery reads."""
        if self.chance(12):
            body = self.query(0)
            return Relation(f"({body.sql})", body.columns, body.size)
        return self.pick(*self.tables, *self.tables, *self.ctes)

    def opened(self) -> tuple[str, list[Column]]:
        """A subquery's FROM, and what is in scope in it."""
        self.subqueries -= 1
        alias = f"sq{self.subqueries}"
        table = self.inner()
        columns = table.under(alias)
        text = f"{table.sql} {alias}"
        numbers = [c.ref for c in columns if c.type == INT]
        if self.chance(12):
            other = self.pick(*self.tables)
            more = other.under(f"{alias}j")
            side = self.pick("", "left ", "full ")
            left = self.pick(*[c for c in columns if c.type == INT] or [None])
            if left is not None:
                text += f" {side}join {other.sql} {alias}j on {left.ref} = {alias}j.{more[0].name}"
                if more[0].type == INT:
                    return text, columns + more
                text = f"{table.sql} {alias}"
        if numbers and self.chance(10):
            outer = self.pick("", "outer ")
            array = f"array({self.pick(*numbers)}, 2)"
            text += f" lateral view {outer}explode({array}) {alias}g as ge"
            columns = [*columns, Column(f"{alias}g.ge", INT)]
        return text, columns

    def correlated(self, scope: list[Column], columns: list[Column], most: int = 2) -> list[str]:
        """Conditions that compare columns of the outer query with the subquery's."""
        outer = [c for c in scope if "." in c.ref]
        own = {c.name.lower() for c in columns}  # hide what a USING merged under such a name
        merged = [c for c in scope if "." not in c.ref and c.ref.lower() not in own]
        outer += merged * 4
        pairs = [(x, y) for x in outer for y in columns if x.type == y.type]
        terms = []
        for _ in range(self.some(0, most) if pairs else 0):
            x, y = self.pick(*pairs)
            same = self.pick("=", "=", "=", "<=>", "<", "<>", ">=")
            terms.append(f"{y.ref} {same} {x.ref}")
        if len(terms) == 2 and self.chance(20):
            return [f"({' or '.join(terms)})"]
        return terms

    def rows(self, scope: list[Column], correlations: int = 2) -> tuple[str, list[Column]]:
        """FROM and WHERE of a subquery, and what is in scope in it."""
        text, columns = self.opened()
        terms = self.correlated(scope, columns, correlations)
        if self.chance(25):
            terms.append(self.condition(columns, deep=self.chance(30)))
        text += " where " + " and ".join(terms) if terms else ""
        names = [c.name for c in columns]
        if correlations and len(set(names)) == len(names) and self.chance(15):
            alias = f"{columns[0].ref.partition('.')[0]}d"
            distinct = self.pick("", "distinct ")
            listed = ", ".join(f"{c.ref} as {c.name}" for c in columns)
            text = f"(select {distinct}{listed} from {text}) {alias}"
            columns = [Column(f"{alias}.{c.name}", c.type) for c in columns]
        return text, columns

    def subquery(self, scope: list[Column]) -> str:
        """A condition with a subquery."""
        outer = [c for c in scope if c.type in COMPARED and "." in c.ref]
        kind = self.pick("exists", "not exists", "in", "in", "not in", "scalar", "scalar", "tuple")
        if not outer or "exists" in kind:
            return f"{'not ' if kind.startswith('not') else ''}exists ({self.existence(scope)})"
        column = self.pick(*outer)
        if kind == "scalar":
            compared = self.pick("<", "=", ">=", "<>")
            return f"{column.ref} {compared} {self.scalar(column.type, scope)}"
        text, columns = self.rows(scope, 0 if kind == "tuple" else 2)  # DuckDB has no other
        match = [c.ref for c in columns if c.type == column.type]
        if not match:
            return f"exists (select 1 from {text})"
        if kind == "tuple":
            return (
                f"({column.ref}, {column.ref}) in "
                f"(select {self.pick(*match)}, {self.pick(*match)} from {text})"
            )
        shown = self.pick(*match)
        if self.chance(10):
            shown = f"max({shown})"
        asked = f"select {shown} as asked from {text}"
        if self.chance(10):
            asked = f"({asked}) order by asked nulls first limit {self.some(0, 3)}"
        return f"{column.ref} {kind} ({asked})"

    def existence(self, scope: list[Column]) -> str:
        """A subquery of which only counts whether it has a row."""
        text, columns = self.rows(scope)
        shown = self.pick(*columns).ref
        one_row = f"{self.pick('', 'distinct ')}{self.pick('max', 'count')}({shown})"
        return self.pick(
            f"select 1 from {text}",
            f"select 1 from {text}",
            f"select {self.pick('', 'distinct ')}{shown} from {text} limit 1",
            f"select {one_row} from {text}{self.pick('', ' limit 1')}",
            f"select {one_row} from {text} having count(*) > 1",
            f"select {shown} from {text} group by {shown}",
            f"select {shown} from {text} group by {shown} having count(*) > 1 limit 2",
            f"select {shown} from {text} group by {shown} qualify count(*) over () > 1",
        )

    def scalar(self, type_: str, scope: list[Column]) -> str:
        """A subquery as a value."""
        text, columns = self.rows(scope)
        match = [c.ref for c in columns if c.type == type_]
        if type_ == INT and (not match or self.chance(35)):
            shown = self.pick("count(*)", f"count({self.pick(*columns).ref})")
        elif not match:
            return self.value(type_, scope, 0)
        elif type_ == INT and self.chance(30):
            shown = f"sum({self.pick(*match)})"
        else:
            shown = f"{self.pick('min', 'max')}({self.pick(*match)})"
        return f"(select {shown} from {text})"

    # -- LATERAL -----------------------------------------------------------------------------

    def lateral(
        self, text: str, scope: list[Column], size: int, largest: int
    ) -> tuple[str, list[Column], int]:
        """A FROM clause with a join to a subquery that names a relation before it."""
        table = self.inner()
        columns = table.under("lt")
        outer = [c for c in scope if "." in c.ref]
        pairs = [(x, y) for x in outer for y in columns if x.type == y.type and x.type != STRUCT]
        if size * table.size > largest or not pairs:
            return text, scope, size
        form = self.pick(
            "rows", "rows", "aggregate", "group", "distinct", "limit", "union", "nested", "window"
        )
        x, y = self.pick(*pairs)
        same = self.pick("=", "=", "<", "<=>", "<>")
        where = f"{y.ref} {same} {x.ref}"
        if self.chance(30):
            where += f" and {self.condition(columns)}"
        shown = self.pick(*columns)
        items = {
            "rows": f"{shown.ref} as ge",
            "aggregate": f"max({shown.ref}) as ge, count(*) as gn",
            "group": f"{shown.ref} as ge, count(*) as gn",
            "distinct": f"distinct {shown.ref} as ge",
            "limit": f"{shown.ref} as ge",
            "union": f"{shown.ref} as ge",
            "nested": f"{shown.ref} as ge",
            "window": f"{shown.ref} as ge, count(*) over (partition by {shown.ref}) as gn",
        }[form]
        tail = {"group": f" group by {shown.ref}", "limit": f" order by {shown.ref} limit 1"}
        query = f"select {items} from {table.sql} lt where {where}{tail.get(form, '')}"
        if form == "union":
            operator = self.pick("union all", "union", "except", "intersect all")
            query += f" {operator} select {shown.ref} from {table.sql} lt where {y.ref} >= {x.ref}"
        elif form == "nested":
            query = f"select max(ln.ge) as ge, count(*) as gn from ({query}) ln"
        inside = f"({query}) gen"
        join = self.pick(", lateral", " cross join lateral", " join lateral", " left join lateral")
        on = " on true" if join.startswith((" join", " left")) else ""
        made = [Column("gen.ge", shown.type)]
        if form in ("aggregate", "group", "nested", "window"):
            made.append(Column("gen.gn", INT))
        if on and self.chance(40):
            on = f" on {self.condition(made)}"
        many = 1 if form in ("aggregate", "nested", "limit") else 2
        return f"{text}{join} {inside}{on}", [*scope, *made], size * many
