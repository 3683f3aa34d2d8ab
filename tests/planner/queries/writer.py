"""Random models over random tables: all operators that the planner has rules for, composed.

Where DuckDB differs from Spark the generator keeps out of the way, so that a failure is the
planner's:

- numbers are small, so that nothing overflows (Spark wraps or raises, DuckDB raises);
- nothing is divided but by a literal (Spark gives NULL or raises, DuckDB gives infinity);
- doubles are sums of quarters, so that their sums are exact in any order;
- the average of decimals is a double in DuckDB: it stands alone in the outermost SELECT, where
  the comparison allows for rounding, and nothing is sorted by it;
- GROUP BY ALL over constants alone groups no rows into one group in DuckDB, into none in Spark;
  so does the grand total of grouping sets;
- doubles are not shown as text: -0.0 and 0.0 are one value, but two texts;
- of an IN only the truth counts: where it is unknown, Spark's value is false.
"""

from __future__ import annotations

from tests.planner.queries.kinds import (
    ARRAY,
    STRUCT,
    Column,
    Relation,
    columns_of,
    listed,
)
from tests.planner.queries.recursion import Recursions

SET_OPERATIONS = (
    "union all", "union all", "union", "intersect", "intersect all", "except", "except all",
)  # fmt: skip


class Writer(Recursions):
    """Writes one model."""

    def model(self, depth: int, top: bool = True) -> Relation:
        """A whole model: CTEs, the query, ORDER BY and LIMIT."""
        texts = []
        self.ctes = []
        recursive = ""
        for number in range(self.pick(0, 0, 1, 2)):
            name = self.pick(f"cte{number}", f"Cte{number}", ("delta", "groups")[number])
            if self.chance(15):
                body, recursive = self.recursive(name), "recursive "
                texts.append(body.sql)
            else:
                body = self.query(max(0, depth - 2))
                texts.append(f"{name} as ({body.sql})")
            self.ctes.append(Relation(name, body.columns, body.size))
        body = self.query(depth, top=top)
        sql = (f"with {recursive}{', '.join(texts)} " if texts else "") + body.sql
        self.ctes = []
        sql += self.order(body) if self.chance(25) else ""
        return Relation(sql, body.columns, body.size)

    def order(self, body: Relation) -> str:
        """A total order by all columns, so that a LIMIT has one result."""
        if (
            self.rounded
            or body.sql.endswith(")")
            or any(f" {s} " in body.sql for s in SET_OPERATIONS)
        ):
            return ""
        keys = []
        for number, column in enumerate(body.columns, 1):
            named = self.pick(column.ref, str(number))
            if column.type in (ARRAY, STRUCT):
                named = column.ref
            keys.append(named + self.pick("", " desc", " asc nulls last", " desc nulls first"))
        limit = self.pick("", f" limit {self.some(0, 4)}", " limit 3 offset 1")
        return f" order by {', '.join(keys)}{limit}"

    def query(self, depth: int, top: bool = False, wanted: list[str] | None = None) -> Relation:
        """A query expression; its columns' refs are its output names."""
        if depth > 0 and self.chance(18):
            return self.combined(depth, wanted)
        return self.select(depth, top, wanted)

    def combined(self, depth: int, wanted: list[str] | None) -> Relation:
        """A set operation on selects of the same types, which may be set operations too."""
        first = self.query(depth - 1, wanted=wanted)
        types = [c.type for c in first.columns]
        second = self.query(depth - 1, wanted=types)
        kind = self.pick(*SET_OPERATIONS)
        left, right = first.sql, second.sql
        if any(f" {s} " in f"{left} {right}" for s in SET_OPERATIONS):
            left, right = f"({left})", f"({right})"
        return Relation(f"{left} {kind} {right}", first.columns, first.size + second.size)

    def select(self, depth: int, top: bool, wanted: list[str] | None = None) -> Relation:
        """One SELECT; ``wanted`` gives the types of its columns."""
        made = self.from_(depth)
        scope, size = made.scope, made.size
        from_ = f" from {made.text}{self.where(scope)}"
        kind = self.pick("plain", "plain", "plain", "grouped", "grouped", "grouped", "distinct",
                         "window", "sets")  # fmt: skip
        if kind == "sets" and wanted is None:
            return self.sets(from_, scope, size, top)
        if kind in ("grouped", "sets"):
            return self.grouped(from_, scope, size, top, wanted)
        if kind == "window" and wanted is None:
            return self.windowed(from_, scope, size, top)
        if wanted is None and self.chance(10) and len({c.name for c in scope}) == len(scope):
            star = tuple(Column(c.name, c.type) for c in scope)
            if made.starred:
                return Relation(f"select *{from_}", star, size)
        types = wanted or [self.pick(*{c.type: 0 for c in scope}) for _ in range(self.some(1, 3))]
        items = [self.item(n, t, scope, deep=True) for n, t in enumerate(types, 1)]
        distinct = "distinct " if kind == "distinct" else ""
        return Relation(f"select {distinct}{listed(items)}{from_}", columns_of(items), size)
