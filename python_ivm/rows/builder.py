"""What compiling a plan collects: operators over rows, and what their rows are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from python_ivm.algebra.columns import ColumnRef
from python_ivm.algebra.nodes import Node
from python_ivm.rows.expressions import Column, Compiler, Function
from python_ivm.rows.kinds import ValueType, common
from python_ivm.rows.lookups import Lookup, MadeRows
from python_ivm.rows.operators import Given, Linear, Operator, Row

Columns = dict[Column, tuple[int, ValueType]]
"""The place in the row and the type of each column."""


@dataclass(frozen=True)
class Rows:
    """What a compiled plan gives.

    Attributes:
        operator: The place of its operator.
        columns: The columns of its rows.
        width: The length of its rows.
    """

    operator: int
    columns: Columns
    width: int


@dataclass
class Builder:
    """Collects operators.

    Attributes:
        ansi: Whether ANSI mode is on.
        operators: The operators.
        inputs: For each operator those that it reads, in order.
        owners: For each operator whose it is: what a plan's node was given as.
        owner: Whose the next operators are.
    """

    ansi: bool
    operators: list[Operator] = field(default_factory=list)
    inputs: list[list[int]] = field(default_factory=list)
    owners: list[int] = field(default_factory=list)
    owner: int = 0

    def add(self, operator: Operator, inputs: Sequence[int] = ()) -> int:
        """Add an operator.

        Returns:
            Its place.
        """
        self.operators.append(operator)
        self.inputs.append(list(inputs))
        self.owners.append(self.owner)
        return len(self.operators) - 1

    def add_mapped(
        self, rows: Rows, made: Callable[[Row], Row | None], columns: Sequence[int | None]
    ) -> int:
        """Add what makes a row of each row by itself; a table that can be asked stays one.

        Args:
            rows: The rows.
            made: The row that is made of one; None if it goes.
            columns: For each column of a made row the place of the column that it is, or None.

        Returns:
            The operator's place.
        """
        given = self.operators[rows.operator]
        if isinstance(given, Given) and isinstance(given.rows, Lookup):
            return self.add(Given(MadeRows(given.rows, made, columns)))
        return self.add(Linear([made]), [rows.operator])

    def compiler(self, columns: Columns) -> Compiler:
        """Compiles expressions over such rows."""
        return Compiler(columns, self.ansi)

    def brought(
        self, rows: Rows, kinds: Sequence[ValueType], names: Sequence[ColumnRef]
    ) -> Function:
        """The row of some columns, each brought to a type.

        Raises:
            NotYetImplemented: If a column's type is of another sort.
        """
        compiler = self.compiler(rows.columns)
        typed = [compiler.compile(name.expression()) for name in names]
        for one, kind in zip(typed, kinds, strict=True):
            common((one.kind, kind))
        return row_of([compiler.cast(one, kind) for one, kind in zip(typed, kinds, strict=True)])


def named(place: int, node: Node, kinds: Sequence[ValueType]) -> Rows:
    """What an operator gives whose rows are those of a node's schema."""
    columns = {
        (column.relation, column.name): (at, kind)
        for at, (column, kind) in enumerate(zip(node.schema, kinds, strict=True))
    }
    return Rows(place, columns, len(kinds))


def row_of(functions: Sequence[Function]) -> Function:
    """A row of several values."""
    if len(functions) == 1:
        only = functions[0]
        return lambda row: (only(row),)
    if len(functions) == 2:
        first, second = functions
        return lambda row: (first(row), second(row))
    return lambda row: tuple([function(row) for function in functions])
