"""Random recursive CTEs, of two or three rounds.

They read tables, as DuckDB 1.5.5 loses rows of joins to correlated subqueries below a recursion.
"""

from __future__ import annotations

from tests.planner.queries.kinds import DATE, DOUBLE, INT, LARGEST, TEXT, Column, Relation
from tests.planner.queries.windows import Windows

TYPES = {INT: "int", TEXT: "string", DATE: "date", DOUBLE: "double"}
"""What the step's columns are cast to: Spark asks for the anchor's types."""

DEPTH = "depth"


class Recursions(Windows):
    """CTEs that name themselves."""

    def recursive(self, name: str) -> Relation:
        """A recursive CTE: its text, with AS, and its columns."""
        table = self.table()
        scope = table.under("z")
        given = [c.type for c in scope if c.type in TYPES]
        types = [self.pick(INT, *given) for _ in range(self.some(1, 2))]
        columns = (*(Column(f"r{n}", t) for n, t in enumerate(types, 1)), Column(DEPTH, INT))
        where = f" where {self.asked(scope)}" if self.chance(50) else ""
        rows = self.rows_of(types, scope)
        anchor = f"select {rows}, 0 as {DEPTH} from {table.sql} as z{where}"
        step, size = self.step(name, columns, table.size)
        listed = f" ({', '.join(c.name for c in columns)})" if self.chance(30) else ""
        return Relation(f"{name}{listed} as ({anchor} union all {step})", columns, size)

    def step(self, name: str, columns: tuple[Column, ...], size: int) -> tuple[str, int]:
        """The step, and how many rows all rounds have."""
        last = Relation(name, columns, size).under("q")
        scope, from_, rounds = last, f"{name} as q", self.some(1, 2)
        other = self.table()
        if size * other.size**rounds <= LARGEST and self.chance(80):
            scope = last + other.under("z")
            kind = self.pick("join", "join", "left join")
            from_ += f" {kind} {other.sql} as z on {self.condition(scope)}"
            size *= max(1, other.size) ** rounds
        if self.chance(20):
            from_ = from_.replace(f"{name} as q", f"(select * from {name}) as q")
        rows = self.rows_of([c.type for c in columns[:-1]], scope)
        where = f"q.{DEPTH} < {rounds}"
        if self.chance(50):
            where += f" and ({self.asked(scope)})"
        return f"select {rows}, q.{DEPTH} + 1 as {DEPTH} from {from_} where {where}", size * 2

    def table(self) -> Relation:
        """A table, no view and no model."""
        return self.pick(*(table for table in self.tables if table.sql.startswith("s.t")))

    def asked(self, scope: list[Column]) -> str:
        """A condition, now and then by the clock."""
        days = [c.ref for c in scope if c.type == DATE]
        if days and self.chance(15):
            return f"{self.pick(*days)} >= current_date() - interval 61 days"
        return self.condition(scope)

    def rows_of(self, types: list[str], scope: list[Column]) -> str:
        """Columns of the given types."""
        values = [self.item(n, t, scope).sql for n, t in enumerate(types, 1)]
        casts = zip(values, types, strict=True)
        return ", ".join(f"cast({v} as {TYPES[t]}) as r{n}" for n, (v, t) in enumerate(casts, 1))
