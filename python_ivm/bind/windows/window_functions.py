"""Window functions in expressions: one Window operator for each PARTITION BY.

A function's value may depend on the order of rows that its ORDER BY leaves equal. Then all columns
that the query uses complete the order: the value is one that Spark could give, and the same one
whenever the partition is computed again (docs/decisions/0011).
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from python_ivm.algebra.columns import ColumnRef, Named, columns_of, substitute, under
from python_ivm.algebra.nodes import Node, Window
from python_ivm.algebra.ties import tie
from python_ivm.bind.scope import ModelScope
from python_ivm.errors import InvalidModel, NotYetImplemented
from python_ivm.functions.aggregates import (
    APPROXIMATE,
    MAINTAINED,
    ORDERED,
    arguments,
    core,
    function_name,
    ignores_nulls,
)
from python_ivm.functions.deterministic_choice import RowOrder, determined, is_choice
from python_ivm.functions.window_frames import RANGE, ROWS, frame, totally_ordered
from python_ivm.parse.trees import position

_CLAUSES = ("partition_by", "order", "spec")
_PEERS_ALIKE = frozenset({"rank", "dense_rank", "percent_rank", "cume_dist"})
_BY_ROW = frozenset({"row_number", "ntile", "lag", "lead"})


def with_named_windows(tree: exp.Select) -> exp.Select:
    """A SELECT in which each window is written out where its name stood.

    Raises:
        InvalidModel: For a name that the WINDOW clause does not define.
    """
    if not any(w.args.get("alias") for w in tree.find_all(exp.Window)):
        return tree
    copied = tree.copy()
    named: dict[str, exp.Expr] = {w.this.name: w for w in copied.args.get("windows") or []}
    for window in copied.find_all(exp.Window):
        if window.arg_key == "windows" or window.parent_select is not copied:
            continue
        meant: exp.Expr = window
        seen: set[str] = set()
        while meant.args.get("alias"):
            name = meant.args["alias"].name
            if name not in named or name in seen:
                raise InvalidModel(f"No window is named {name}", **position(window))
            seen.add(name)
            meant = named[name]
        if meant is not window:
            if any(window.args.get(part) for part in _CLAUSES):
                raise NotYetImplemented(
                    "More clauses behind a window's name", operator="WINDOW", **position(window)
                )
            window.set("alias", None)
            for part in _CLAUSES:
                given = meant.args.get(part)
                several = isinstance(given, list)
                window.set(part, [g.copy() for g in given or []] if several else given)
    return copied


def computed(
    binder: ModelScope, node: Node, expressions: list[exp.Expr]
) -> tuple[Node, list[exp.Expr]]:
    """Compute the window functions of expressions.

    Args:
        binder: Gives names; notes where the plan takes one of several results.
        node: The rows.
        expressions: Expressions over its columns, with window functions in them.

    Returns:
        The rows with the functions' values, and the expressions over them.

    Raises:
        NotYetImplemented: For functions whose value is not determined by their order.
    """
    used = {c for e in expressions for c in columns_of(e)}
    ties: list[exp.Expr] = [tie(c.expression()) for c in node.schema if c in used]

    def one_value(part: exp.Expr) -> exp.Expr:
        if isinstance(part, exp.Window):
            return _Determined(part, ties, binder).expression()
        return part

    if any(e.find(exp.Window) for e in expressions):
        expressions = [e.copy().transform(one_value) for e in expressions]
    while True:
        found = [w for e in expressions for w in e.find_all(exp.Window) if not _nests(w)]
        if not found:
            return node, expressions
        partition = tuple(found[0].args.get("partition_by") or ())
        together = [w for w in found if tuple(w.args.get("partition_by") or ()) == partition]
        node, expressions = _extended(binder, node, expressions, partition, together)


def _nests(window: exp.Window) -> bool:
    return any(w is not window for w in window.find_all(exp.Window))


def _extended(
    binder: ModelScope,
    node: Node,
    expressions: list[exp.Expr],
    partition: tuple[exp.Expr, ...],
    together: list[exp.Window],
) -> tuple[Node, list[exp.Expr]]:
    relation = binder.name("windowed")
    used = {c for e in expressions for c in columns_of(e)}
    names = [f"{relation}_{number}" for number in range(1, len(together) + 1)]
    items, mapping = under(relation, (c for c in node.schema if c in used), taken=names)
    functions: list[Named] = []
    values: list[tuple[exp.Window, exp.Expr]] = []
    for window in together:
        if all(window != w for w, _ in values):
            name = names[len(functions)]
            functions.append(Named(name, window.copy()))
            values.append((window.copy(), ColumnRef(relation, name).expression()))

    def replaced(part: exp.Expr) -> exp.Expr:
        if isinstance(part, exp.Window):
            for window, value in values:
                if part == window:
                    return value.copy()
        return part

    above = [substitute(e.copy().transform(replaced), mapping) for e in expressions]
    return Window(node, relation, items, partition, tuple(functions)), above


class _Determined:
    """One window function, in a form whose value does not depend on the order of equal rows."""

    def __init__(self, window: exp.Window, ties: list[exp.Expr], binder: ModelScope) -> None:
        self.window = window
        self.ties = ties
        self.binder = binder
        self.function = core(window.this)
        self.name = function_name(self.function)

    def expression(self) -> exp.Expr:
        if self.name in _PEERS_ALIKE:
            return self.window.copy()
        if self.name in _BY_ROW:
            if self.window.args.get("order") is None:
                raise self._refused(f"{self.name}() without ORDER BY")
            self.binder.chooses = True
            copied = totally_ordered(self.window, self.ties)
            copied.set("spec", None)
            return copied
        if self.name == "nth_value":
            return self._nth_value()
        if self.name not in MAINTAINED - APPROXIMATE:
            raise self._refused(f"The window function {self.name}()")
        self.binder.chooses |= is_choice(self.window.this)
        if self.name in ORDERED:
            if frame(self.window) != RANGE:
                return totally_ordered(self.window, self.ties)
            by_number = RowOrder((self._number(),), numbered=True)
            return determined(self.window.this, by_number, self._placed(self.window))
        window: exp.Expr = self.window
        if frame(window) == ROWS:
            self.binder.chooses = True
            window = totally_ordered(window, self.ties)
        return determined(window.this, RowOrder(), self._placed(window))

    def _nth_value(self) -> exp.Expr:
        """The n-th row of a frame; of one that starts with the partition, the n-th of all."""
        self.binder.chooses = True
        if frame(self.window) != RANGE:
            return totally_ordered(self.window, self.ties)
        spec = self.window.args.get("spec")
        start = spec.args.get("start") if spec is not None else "UNBOUNDED"
        if str(start).upper() != "UNBOUNDED" or ignores_nulls(self.window.this):
            raise self._refused("nth_value() over this RANGE")
        value, number = arguments(self.function)
        there = exp.EQ(this=self._number(), expression=number.copy())
        return self._placed(self.window)(exp.Max(this=exp.Case().when(there, value.copy())))

    def _number(self) -> exp.Expr:
        """The row's number in its partition, in an order that leaves no rows equal."""
        ordered = totally_ordered(self.window, self.ties)
        ordered.set("this", exp.RowNumber())
        ordered.set("spec", None)
        return ordered

    @staticmethod
    def _placed(window: exp.Expr) -> Callable[[exp.Expr], exp.Expr]:
        def place(function: exp.Expr) -> exp.Expr:
            copied = window.copy()
            copied.set("this", function)
            return copied

        return place

    def _refused(self, construct: str) -> NotYetImplemented:
        return NotYetImplemented(construct, operator=f"{self.name}()", **position(self.window))
