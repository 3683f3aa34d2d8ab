"""Groups, partitions and LIMIT over rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp

from python_ivm.algebra import nodes
from python_ivm.algebra.nodes import Node
from python_ivm.rows.aggregates import aggregate, calls
from python_ivm.rows.builder import Builder, Rows, named, row_of
from python_ivm.rows.expressions import Compiler, Row, unknown
from python_ivm.rows.kinds import INT, ValueType
from python_ivm.rows.operators import (
    Bag,
    Distinct,
    Grouped,
    Total,
    add,
)


def aggregated(builder: Builder, node: Node, inputs: Sequence[Rows]) -> Rows:
    """GROUP BY, DISTINCT, and aggregates of all rows."""
    assert isinstance(node, nodes.Aggregate)
    compiler = builder.compiler(inputs[0].columns)
    keys = [compiler.compile(key.expression) for key in node.keys]
    key_of = row_of([key.of for key in keys])
    key_kinds = [key.kind for key in keys]
    if not node.measures and keys:
        place = builder.add(Distinct(key_of), [inputs[0].operator])
        return named(place, node, key_kinds)
    functions: list[Callable[[Bag], Any]] = []
    special: dict[int, tuple[int, ValueType]] = {}
    for measure in node.measures:
        for call in calls(measure.expression):
            kind, function = aggregate(compiler, call)
            special[id(call)] = (len(functions), kind)
            functions.append(function)
    over = Compiler({}, builder.ansi, special)
    measures = [over.compile(measure.expression) for measure in node.measures]
    shown = row_of([measure.of for measure in measures])

    def made(key: Any, sides: Sequence[Bag]) -> Bag:
        (bag,) = sides
        if keys and not bag:
            return {}
        values = shown(tuple([function(bag) for function in functions]))
        return {(*key, *values): 1}

    operator = Grouped([key_of], made) if keys else Total(1, made)
    place = builder.add(operator, [inputs[0].operator])
    kinds = [*key_kinds, *(measure.kind for measure in measures)]
    return named(place, node, kinds)


_RANKS = {exp.RowNumber: "row_number", exp.Rank: "rank", exp.DenseRank: "dense_rank"}


def windowed(builder: Builder, node: Node, inputs: Sequence[Rows]) -> Rows:
    """Window functions over the rows of a partition: ranks, and aggregates of all of them."""
    assert isinstance(node, nodes.Window)
    compiler = builder.compiler(inputs[0].columns)
    key = row_of([compiler.compile(part).of for part in node.partition]) if node.partition else None
    items = [compiler.compile(item.expression) for item in node.items]
    shown = row_of([item.of for item in items])
    functions = [_window_function(builder, compiler, named.expression) for named in node.functions]

    def made(key: Any, sides: Sequence[Bag]) -> Bag:
        (bag,) = sides
        rows = [row for row, times in bag.items() for _ in range(times)]
        values = [function(rows, bag) for _, function in functions]
        result: Bag = {}
        for place, row in enumerate(rows):
            add(result, {(*shown(row), *(value[place] for value in values)): 1})
        return result

    place = builder.add(Grouped([key or (lambda row: ())], made), [inputs[0].operator])
    kinds = [*(item.kind for item in items), *(kind for kind, _ in functions)]
    return named(place, node, kinds)


def _window_function(
    builder: Builder, compiler: Compiler, tree: exp.Expr
) -> tuple[ValueType, Callable[[list[Row], Bag], list[Any]]]:
    if not isinstance(tree, exp.Window):
        raise unknown(tree)
    order = tree.args.get("order")
    ranked = _RANKS.get(type(tree.this))
    if ranked is None:
        if order is not None or tree.args.get("spec") is not None:
            raise unknown(tree, "an aggregate over an ordered window")
        kind, whole = aggregate(compiler, tree.this)
        return kind, lambda rows, bag: [whole(bag)] * len(rows)
    sort_key = _sort_key(compiler, order.expressions if order is not None else ())

    def ranks(rows: list[Row], bag: Bag) -> list[Any]:
        result: list[Any] = [None] * len(rows)
        rank = dense = 0
        before: Any = None
        places = sorted(range(len(rows)), key=lambda place: sort_key(rows[place]))
        for number, place in enumerate(places, 1):
            if number == 1 or sort_key(rows[place]) != before:
                rank, dense, before = number, dense + 1, sort_key(rows[place])
            result[place] = {"row_number": number, "rank": rank, "dense_rank": dense}[ranked]
        return result

    return INT, ranks


class _Descending:
    """A value that sorts the other way round."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __lt__(self, other: _Descending) -> bool:
        return bool(other.value < self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Descending) and bool(self.value == other.value)


def _sort_key(compiler: Compiler, order: Sequence[exp.Expr]) -> Callable[[Row], list[Any]]:
    parts = []
    for key in order:
        descending = bool(key.args.get("desc"))
        first = key.args.get("nulls_first")
        nulls_first = not descending if first is None else bool(first)
        parts.append((compiler.compile(key.this).of, descending, nulls_first))

    def value(row: Row) -> list[Any]:
        found: list[tuple[int, Any]] = []
        for of, descending, nulls_first in parts:
            one = of(row)
            if one is None:
                found.append((0 if nulls_first else 2, 0))
            else:
                found.append((1, _Descending(one) if descending else one))
        return found

    return value


def limited(builder: Builder, node: Node, inputs: Sequence[Rows]) -> Rows:
    """LIMIT and OFFSET; of rows of equal order those are kept whose values sort first."""
    assert isinstance(node, nodes.Sort)
    if node.limit is None and node.offset is None:
        return inputs[0]
    compiler = builder.compiler(inputs[0].columns)
    sort_key = _sort_key(compiler, node.order)
    limit, offset = (
        None if part is None else compiler.compile(part).of(())
        for part in (node.limit, node.offset)
    )
    skipped = int(offset or 0)

    def made(key: Any, sides: Sequence[Bag]) -> Bag:
        rows = [row for row, times in sides[0].items() for _ in range(times)]
        rows.sort(key=lambda row: (sort_key(row), _any_order(row)))
        result: Bag = {}
        for row in rows[skipped : None if limit is None else skipped + int(limit)]:
            add(result, {row: 1})
        return result

    place = builder.add(Grouped([lambda row: ()], made), [inputs[0].operator])
    return replace(inputs[0], operator=place)


def _any_order(row: Row) -> list[Any]:
    """Which of equal rows a LIMIT keeps does not depend on when they came."""
    return [(value is not None, value if value is not None else 0) for value in row]
