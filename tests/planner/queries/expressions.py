"""Random expressions and conditions over the columns in scope."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from tests.planner.queries.kinds import (
    ARRAY,
    DATE,
    DECIMAL,
    DOUBLE,
    INT,
    LITERALS,
    STRUCT,
    TEXT,
    WIDE,
    Column,
    Relation,
)


@dataclass
class Expressions:
    """Draws, and writes values and conditions.

    Attributes:
        draw: Hypothesis' draw.
        tables: What FROM may name: tables, views and maintained models.
        rounded: Whether a column is an average of decimals.
        ctes: The CTEs so far.
        subqueries: How many more subqueries the model may have.
        ordered: Whether a value may be one of several that Spark could give.
    """

    draw: Callable[[st.SearchStrategy[Any]], Any]
    tables: tuple[Relation, ...]
    rounded: bool = False
    ctes: list[Relation] = field(default_factory=list)
    subqueries: int = 3

    def pick(self, *options: Any) -> Any:
        return self.draw(st.sampled_from(options))

    def chance(self, percent: int) -> bool:
        """Shrinks towards False."""
        return self.draw(st.integers(0, 99)) >= 100 - percent

    def some(self, least: int, most: int) -> int:
        return self.draw(st.integers(least, most))

    def subquery(self, scope: list[Column]) -> str:
        """A condition with a subquery."""
        raise NotImplementedError

    def scalar(self, type_: str, scope: list[Column]) -> str:
        """A subquery as a value."""
        raise NotImplementedError

    def value(self, type_: str, scope: list[Column], depth: int, deep: bool = False) -> str:
        """An expression of a type; if ``deep`` it may have subqueries."""
        if deep and self.subqueries and type_ not in (WIDE, ARRAY, STRUCT) and self.chance(5):
            return self.scalar(type_, scope)
        refs = [c.ref for c in scope if c.type == type_]
        if type_ in (INT, TEXT):
            field_ = "a" if type_ == INT else "b"
            refs += [f"{c.ref}.{field_}" for c in scope if c.type == STRUCT]
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
        if type_ in (DECIMAL, ARRAY, STRUCT):
            shapes = shapes[:2]
        if type_ == WIDE:
            shapes = ["coalesce({a}, {a})"]
        if type_ == DOUBLE:
            shapes += ["{a} + {b}", "{a} / 2", "-({a})"]
        shape = self.pick(*shapes)
        condition = self.condition(scope, deep) if "{c}" in shape else ""
        return shape.format(a=leaf, b=other, c=condition)

    def condition(self, scope: list[Column], deep: bool = False) -> str:
        """A predicate of which only the truth counts; if ``deep`` it may have subqueries."""
        if deep and self.subqueries and self.chance(20):
            return self.subquery(scope)
        column = self.pick(*scope)
        literal = self.pick(*LITERALS[column.type])
        same = [c.ref for c in scope if c.type == column.type]
        kind = self.draw(st.integers(0, 10))
        ref = column.ref
        if kind in (0, 10):
            return f"{ref} is {self.pick('not ', '')}null"
        if kind == 1:
            return f"{ref} in ({', '.join(LITERALS[column.type])})"
        if kind == 2:
            return f"({self.condition(scope, deep)} or {ref} = {literal})"
        if kind == 3:
            return f"{self.condition(scope, deep)} and {ref} <> {literal}"
        if kind == 4:
            return f"not ({ref} {self.pick('<', '=')} {literal})"
        if kind == 5 and column.type not in (ARRAY, STRUCT):
            return f"{ref} between {literal} and {self.pick(*LITERALS[column.type])}"
        other = self.pick(literal, *same)
        return f"{ref} {self.pick('<>', '>=', '<=', '=', '<', '<=>')} {other}"

    def where(self, scope: list[Column], percent: int = 30) -> str:
        """A WHERE clause, now and then, now and then by the clock."""
        days = [c.ref for c in scope if c.type == DATE]
        if days and self.chance(12):
            before = self.pick("", " - interval 30 days", " - interval 61 days")
            text = f"{self.pick(*days)} {self.pick('>=', '<', '=')} current_date(){before}"
            if self.chance(30):
                text = f"({text} or {self.condition(scope)})"
            return f" where {text}"
        return f" where {self.condition(scope, deep=True)}" if self.chance(percent) else ""
