"""Columns of relations, and expressions over them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from sqlglot import exp


@dataclass(frozen=True)
class ColumnRef:
    """A column of a relation of the plan."""

    relation: str
    name: str

    def expression(self) -> exp.Column:
        """The column as an expression."""
        return exp.column(self.name, table=self.relation, quoted=True)


@dataclass(frozen=True)
class Named:
    """An expression and the name of the column that it makes."""

    name: str
    expression: exp.Expr


_UNBROKEN = (exp.Literal, exp.Placeholder, exp.Func, exp.Bracket)
"""What needs no parentheses in a larger expression, unless it is binary: to sqlglot AND and OR are
functions, too."""


def columns_of(expression: exp.Expr) -> set[ColumnRef]:
    """The columns that an expression names."""
    # Most expressions are a column, which a walk would be a detour to.
    found = [expression] if isinstance(expression, exp.Column) else expression.find_all(exp.Column)
    return {ColumnRef(c.table, c.name) for c in found}


BESIDE = frozenset(
    {
        "any", "before", "changed", "copies", "keys", "now", "null", "nulls", "row", "rows",
        "rows_before", "some", "steps", "sums", "tagged", "tags", "top", "unknown",
    }
)  # fmt: skip
"""What the rules name relations of their own by, after the one that they stand beside."""


def beside(relation: str, what: str) -> str:
    """The name of a relation that a rule makes beside one of the plan.

    No other relation has it, as names are given so that none :func:`may_be_beside` another.

    Args:
        relation: The one of the plan, or a label that no other operator has.
        what: One of :data:`BESIDE`.
    """
    assert what in BESIDE, what
    return f"{relation}_{what}"


def may_be_beside(name: str, relation: str) -> bool:
    """Whether a rule might give a name to something beside a relation."""
    return name.endswith(_ENDS) and name.startswith(f"{relation}_")


_ENDS = tuple(f"_{what}" for what in BESIDE)


def first_free(wanted: str, is_free: Callable[[str], bool]) -> str:
    """A name, or with the first number behind it, from 2 on, with which it is free."""
    numbered = (f"{wanted}_{number}" for number in itertools.count(2))
    return next(name for name in itertools.chain([wanted], numbered) if is_free(name))


def flat_names(columns: Iterable[ColumnRef], taken: Iterable[str] = ()) -> dict[ColumnRef, str]:
    """A name for each column that no other has, its own where it can be.

    Args:
        columns: Columns of one or more relations.
        taken: Names that none may have.
    """
    every = list(columns)
    reserved = set(taken)
    names: dict[ColumnRef, str] = {}
    for column in every:
        clash = sum(other.name == column.name for other in every) > 1 or column.name in reserved
        name = f"{column.relation}_{column.name}" if clash else column.name
        while name in names.values() or name in reserved:
            name += "_"
        names[column] = name
    return names


def under(
    relation: str, columns: Iterable[ColumnRef], taken: Iterable[str] = ()
) -> tuple[tuple[Named, ...], dict[ColumnRef, exp.Expr]]:
    """Columns of one or more relations as those of a new one.

    Args:
        relation: The new relation.
        columns: The columns.
        taken: Names that none may have.

    Returns:
        What the new relation shows of them, and what each of them is there.
    """
    names = flat_names(columns, taken)
    shown = tuple(Named(name, column.expression()) for column, name in names.items())
    return shown, {c: ColumnRef(relation, name).expression() for c, name in names.items()}


def substitute(expression: exp.Expr, mapping: Mapping[ColumnRef, exp.Expr]) -> exp.Expr:
    """The expression with columns replaced by expressions."""
    if not mapping:
        return expression
    result = expression.copy()
    for column in list(result.find_all(exp.Column)):
        found = mapping.get(ColumnRef(column.table, column.name))
        if found is None:
            continue
        new = found.copy()
        if isinstance(new, exp.Column):
            new.this.update_positions(column.this)  # errors still say where
        elif not isinstance(new, exp.Dot) and (
            isinstance(new, exp.Binary) or not isinstance(new, _UNBROKEN)
        ):
            new = exp.paren(new, copy=False)
        if column is result:
            return new
        column.replace(new)
    return result
