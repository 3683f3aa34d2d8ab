"""Where the values of a plan's columns come from: which columns of which tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sqlglot import exp

from python_ivm.algebra import nodes
from python_ivm.algebra.columns import ColumnRef
from python_ivm.algebra.nodes import At, Node
from python_ivm.algebra.walks import OncePerNode

DATE = "date"
WHOLE_NUMBERS = frozenset({"tinyint", "smallint", "int", "bigint"})

Kinds = Callable[[str, str], str | None]
"""The Spark type of a source's column; None where it is not known."""


@dataclass(frozen=True, order=True)
class Key:
    """A column of a source, or of its change."""

    source: str
    column: str


Tables = frozenset[tuple[str, str, At]]
"""Columns of tables: source, column and state."""


class Provenance:
    """The tables' columns that hold the values of a plan's columns."""

    def __init__(self, kinds: Kinds) -> None:
        """Take the types of the sources' columns."""
        self._kinds = kinds
        self._once = OncePerNode()

    def of(self, node: Node, column: ColumnRef) -> Tables | None:
        """The tables' columns that hold a column's values but NULL; None if it is computed."""
        return self._once(column, node, lambda: self._below(node, column))

    def kinds(self, node: Node, column: ColumnRef) -> frozenset[str | None]:
        """The Spark types of those columns; none if it is computed."""
        return frozenset(self._kinds(s, name) for s, name, _ in self.of(node, column) or ())

    def read(self, node: Node, column: ColumnRef) -> frozenset[Key]:
        """The columns of tables, not of changes, that hold values of a column."""
        origins = self.of(node, column) or frozenset()
        return frozenset(Key(source, name) for source, name, at in origins if at is not At.DELTA)

    def keys(self, node: Node, column: ColumnRef) -> frozenset[Key]:
        """The columns of changes that hold all values of a column but NULL; none if others may."""
        origins = self.of(node, column) or frozenset()
        for source, name, at in origins:
            if at is not At.DELTA or family(self._kinds(source, name)) is None:
                return frozenset()
        return frozenset(Key(source, name) for source, name, _ in origins)

    def input_with(self, node: Node, column: ColumnRef) -> Node | None:
        """The first of a node's inputs that has a column."""
        return self._once("inputs", node, lambda: _inputs_by_column(node)).get(column)

    def _below(self, node: Node, column: ColumnRef) -> Tables | None:
        widened = masked = False
        match node:
            case nodes.Scan():
                return frozenset({(node.source, column.name, node.at)})
            case nodes.UnionAll():
                index = node.names.index(column.name)
                every: Tables = frozenset()
                for part in node.parts:
                    origins = self.of(part, part.schema[index])
                    if origins is None:
                        return None
                    every |= origins
                return every
            case nodes.Project() | nodes.Window() | nodes.Mark() | nodes.Aggregate():
                items = node.keys if isinstance(node, nodes.Aggregate) else node.items
                item = next((i.expression for i in items if i.name == column.name), None)
                if isinstance(item, exp.Cast) and item.to.is_type("bigint"):
                    item, widened = item.this, True
                if isinstance(item, exp.Case) and (shown := _or_null(item)) is not None:
                    item, masked = shown, True
                if not isinstance(item, exp.Column):
                    return None
                column = ColumnRef(item.table, item.name)
        below = self.input_with(node, column)
        if below is None:
            return None
        own = self.of(below, column)
        if widened and not all(self._kinds(s, name) in WHOLE_NUMBERS for s, name, _ in own or ()):
            return None
        if masked and not all(at is At.DELTA for _, _, at in own or ()):
            return None  # no condition on it reaches the tables
        return own and (self._of_equal(node, column, own) or own)

    def _of_equal(self, node: Node, column: ColumnRef, own: Tables) -> Tables | None:
        """The columns of changes whose values a join leaves of a column that is read."""
        if all(at is At.DELTA for _, _, at in own):
            return None
        others = self._equal_to(node, column)
        for other in others if others and not keeps(node, column) else ():
            below = self.input_with(node, other)
            origins = self.of(below, other) if below is not None else None
            if origins and all(at is At.DELTA for _, _, at in origins):
                every = {family(self._kinds(s, name)) for s, name, _ in (*own, *origins)}
                if len(every) == 1 and None not in every:
                    return origins
        return None

    def _equal_to(self, node: Node, column: ColumnRef) -> list[ColumnRef]:
        """The columns that a join's conditions equate to one."""
        return self._once("equal", node, lambda: _equal_columns(node)).get(column, [])


def equalities(node: Node) -> Iterator[tuple[ColumnRef, ColumnRef, bool]]:
    """The columns that a join's conditions equate, both ways, and whether NULL equals NULL."""
    if not isinstance(node, (nodes.Join, nodes.LeftJoin, nodes.SemiJoin)):
        return
    for condition in node.conditions:
        if not isinstance(condition, (exp.EQ, exp.NullSafeEQ)):
            continue
        one, other = condition.this.unnest(), condition.expression.unnest()
        if isinstance(one, exp.Column) and isinstance(other, exp.Column):
            refs = ColumnRef(one.table, one.name), ColumnRef(other.table, other.name)
            for first, second in (refs, refs[::-1]):
                yield first, second, isinstance(condition, exp.NullSafeEQ)


def keeps(node: Node, column: ColumnRef) -> bool:
    """Whether a join keeps the rows of a column's side that have no match."""
    kept = isinstance(node, nodes.LeftJoin) or (isinstance(node, nodes.SemiJoin) and node.anti)
    return kept and column in node.inputs[0].schema


def family(kind: str | None) -> str | None:
    """What kind of key a Spark type is, of those that statistics of files help to find."""
    if kind in WHOLE_NUMBERS:
        return "whole number"
    return DATE if kind == DATE else None


def _or_null(case: exp.Case) -> exp.Expr | None:
    """What an expression gives that else gives NULL (``CASE WHEN .. THEN .. END``)."""
    branches = case.args["ifs"]
    if len(branches) != 1 or case.args.get("this") or case.args.get("default"):
        return None
    shown: exp.Expr = branches[0].args["true"]
    return shown


def _equal_columns(node: Node) -> dict[ColumnRef, list[ColumnRef]]:
    equal: dict[ColumnRef, list[ColumnRef]] = {}
    for one, other, _ in equalities(node):
        equal.setdefault(one, []).append(other)
    return equal


def _inputs_by_column(node: Node) -> dict[ColumnRef, Node]:
    return {ref: child for child in reversed(node.inputs) for ref in child.schema}
