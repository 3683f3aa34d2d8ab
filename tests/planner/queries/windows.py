"""Random window functions: ranks, offsets, frames, ties."""

from __future__ import annotations

from tests.planner.queries.aggregates import Aggregates
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

FRAMES = (
    "",
    "",
    " rows between unbounded preceding and current row",
    " rows between 1 preceding and 1 following",
    " rows between current row and unbounded following",
    " range between unbounded preceding and current row",
    " range between unbounded preceding and unbounded following",
)


def _sortable(scope: list[Column]) -> list[Column]:
    return [column for column in scope if column.type not in (ARRAY, STRUCT)]


class Windows(Aggregates):
    """SELECTs with window functions."""

    def windowed(self, from_: str, scope: list[Column], size: int, top: bool) -> Relation:
        """A SELECT with one or two window functions, perhaps under QUALIFY."""
        types = [self.pick(*{c.type: 0 for c in scope}) for _ in range(self.some(1, 2))]
        items = [self.item(n, t, scope) for n, t in enumerate(types, 1)]
        for _ in range(self.pick(1, 1, 2)):
            items.append(self.function(len(items) + 1, scope, top))
        qualify = ""
        if _sortable(scope) and self.chance(20):
            qualify = (
                f" qualify {self.rank()}() {self.over(scope, total=True)} <= {self.some(1, 2)}"
            )
        return Relation(f"select {listed(items)}{from_}{qualify}", columns_of(items), size)

    def rank(self) -> str:
        return self.pick("row_number", "rank", "dense_rank")

    def over(self, scope: list[Column], total: bool = False, frame: str = "") -> str:
        """OVER, by a total order if a function needs one to have one result."""
        sortable = _sortable(scope)
        by = [self.pick(*scope).ref for _ in range(self.pick(0, 1, 1, 2))]
        partition = f"partition by {', '.join(dict.fromkeys(by))} " if by else ""
        keys = dict.fromkeys(self.pick(*sortable).ref for _ in range(self.some(1, 2)))
        if total and self.chance(70):
            keys = {**keys, **dict.fromkeys(c.ref for c in sortable)}
        order = ", ".join(f"{k}{self.pick('', ' desc', ' nulls last')}" for k in keys)
        return f"over ({partition}order by {order}{frame})"

    def function(self, number: int, scope: list[Column], top: bool) -> Item:
        """A window function as an item."""
        name = fresh(number, scope)
        sortable = _sortable(scope)
        kind = self.pick("rank", "rank", "aggregate", "aggregate", "offset", "value", "whole")
        if not sortable or kind == "whole":
            by = f"partition by {self.pick(*scope).ref}" if self.chance(70) else ""
            column = self.pick(*scope)
            word = self.pick("count", "min", "max")
            type_ = INT if word == "count" else column.type
            return Item(name, f"{word}({column.ref}) over ({by})", type_)
        if kind == "rank":
            word = self.rank()
            return Item(name, f"{word}() {self.over(scope, total=word == 'row_number')}", INT)
        column = self.pick(*sortable)
        if kind == "offset":
            word = self.pick(f"lag({column.ref})", f"lead({column.ref}, 1)")
            return Item(name, f"{word} {self.over(scope, total=True)}", column.type)
        frame = self.pick(*FRAMES)
        over = self.over(scope, total=" rows" in frame or kind == "value", frame=frame)
        if kind == "value":
            word = self.pick("first_value", "last_value")
            return Item(name, f"{word}({column.ref}) {over}", column.type)
        word = self.pick("sum", "count", "min", "max")
        if word == "sum" and column.type in (INT, DECIMAL):
            return Item(name, f"sum({column.ref}) {over}", {INT: INT}.get(column.type, WIDE))
        if word == "sum" and column.type == DOUBLE and top:
            return Item(name, f"sum({column.ref}) {over}", DOUBLE)
        if word == "count":
            return Item(name, f"count({column.ref}) {over}", INT)
        return Item(name, f"{self.pick('min', 'max')}({column.ref}) {over}", column.type)
