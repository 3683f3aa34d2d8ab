"""Joins over rows: pairs by equal keys, and the operators that look for a match."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlglot import exp

from python_ivm.algebra import nodes
from python_ivm.algebra.columns import ColumnRef, columns_of
from python_ivm.algebra.nodes import Node
from python_ivm.rows.builder import Builder, Columns, Rows, named, row_of
from python_ivm.rows.expressions import Column, Function, Row, compared_as
from python_ivm.rows.kinds import BOOLEAN
from python_ivm.rows.lookups import LookedUp, Lookup
from python_ivm.rows.operators import (
    Bag,
    Given,
    Grouped,
    Joined,
    Key,
    add,
)


def where(builder: Builder, rows: Rows, conditions: Sequence[exp.Expr]) -> Rows:
    """The rows that meet all conditions."""
    if not conditions:
        return rows
    meets = builder.compiler(rows.columns).condition(conditions)
    every = range(rows.width)
    place = builder.add_mapped(rows, lambda row: row if meets(row) else None, every)
    return replace(rows, operator=place)


def join(builder: Builder, node: Node, inputs: Sequence[Rows]) -> Rows:
    """Part after part, those first that an equality connects."""
    left = list(node.expressions)
    rest = list(inputs)
    joined = rest.pop(0)
    joined, left = _applied(builder, joined, left)
    while rest:
        connected = next((r for r in rest if _equalities(joined, r, left)), rest[0])
        rest.remove(connected)
        joined = _pair(builder, joined, connected, _equalities(joined, connected, left))
        joined, left = _applied(builder, joined, left)
    return joined


def _applied(
    builder: Builder, rows: Rows, conditions: list[exp.Expr]
) -> tuple[Rows, list[exp.Expr]]:
    """The rows that meet all conditions on their columns; and the other conditions."""
    own = [c for c in conditions if all(_key(column) in rows.columns for column in columns_of(c))]
    others = [c for c in conditions if c not in own]
    return where(builder, rows, own), others


def _key(column: ColumnRef) -> Column:
    return column.relation, column.name


def _pair(
    builder: Builder, left: Rows, right: Rows, equal: Sequence[tuple[exp.Expr, exp.Expr, bool]]
) -> Rows:
    keys = _keys(builder, left, right, equal)
    looked_up = _looked_up(builder, left, right, equal, keys)
    place = looked_up or builder.add(Joined(keys), [left.operator, right.operator])
    return Rows(place, _beside(left, right), left.width + right.width)


def _looked_up(
    builder: Builder,
    left: Rows,
    right: Rows,
    equal: Sequence[tuple[exp.Expr, exp.Expr, bool]],
    keys: tuple[Key, Key],
) -> int | None:
    """The operator that looks up rows in one of the sides, if that is a table which can be asked.

    A plain column of the table must equal a value of a type that has one form for equal values.
    """
    for side, (table, rows) in enumerate(((right, left), (left, right))):
        given = builder.operators[table.operator]
        if not isinstance(given, Given) or not isinstance(given.rows, Lookup):
            continue
        for first, second, safe in equal:
            value, asked = (first, second) if side == 0 else (second, first)
            if not isinstance(asked, exp.Column):
                continue
            place, kind = table.columns[(asked.table, asked.name)]
            typed = builder.compiler(rows.columns).compile(value)
            if kind != typed.kind and not (kind.is_whole and typed.kind.is_whole):
                continue
            if kind.is_whole or kind.name in ("string", "date"):
                own = keys if side == 0 else (keys[1], keys[0])
                operator = LookedUp(given.rows, place, own, typed.of, side == 1, nulls=safe)
                return builder.add(operator, [rows.operator])
    return None


def _beside(left: Rows, right: Rows) -> Columns:
    moved = {name: (place + left.width, kind) for name, (place, kind) in right.columns.items()}
    return {**left.columns, **moved}


def _equalities(
    left: Rows, right: Rows, conditions: Sequence[exp.Expr]
) -> list[tuple[exp.Expr, exp.Expr, bool]]:
    """The equalities between two sides: of the left, of the right, and whether NULL equals NULL."""
    found = []
    for condition in conditions:
        if not isinstance(condition, (exp.EQ, exp.NullSafeEQ)):
            continue
        safe = isinstance(condition, exp.NullSafeEQ)
        for one, other in (
            (condition.this, condition.expression),
            (condition.expression, condition.this),
        ):
            if _all_of(one, left) and _all_of(other, right):
                found.append((one, other, safe))
                break
    return found


def _all_of(tree: exp.Expr, rows: Rows) -> bool:
    columns = columns_of(tree)
    return bool(columns) and all(_key(column) in rows.columns for column in columns)


def _keys(
    builder: Builder,
    left: Rows,
    right: Rows,
    equal: Sequence[tuple[exp.Expr, exp.Expr, bool]],
) -> tuple[Key, Key]:
    """The keys of both sides; None where a value is NULL that is equal to nothing."""
    sides: tuple[list[Function], list[Function]] = ([], [])
    for one, other, _ in equal:
        first = builder.compiler(left.columns).compile(one)
        second = builder.compiler(right.columns).compile(other)
        kind = compared_as(first.kind, second.kind)
        sides[0].append(builder.compiler(left.columns).cast(first, kind))
        sides[1].append(builder.compiler(right.columns).cast(second, kind))
    safe = [is_safe for _, _, is_safe in equal]
    return _key_of(sides[0], safe), _key_of(sides[1], safe)


def _key_of(functions: Sequence[Function], safe: Sequence[bool]) -> Key:
    if not functions:
        return lambda row: ()
    if len(functions) == 1 and not safe[0]:
        return functions[0]

    def key(row: Row) -> Any:
        values = tuple([function(row) for function in functions])
        if any(v is None and not s for v, s in zip(values, safe, strict=True)):
            return None
        return values

    return key


def _matching(builder: Builder, node: nodes.Binary, inputs: Sequence[Rows]) -> Any:
    """Keys that rows that match have in common, and whether a pair of rows matches."""
    left, right = inputs
    keys = _keys(builder, left, right, _equalities(left, right, node.conditions))
    columns = _beside(left, right)
    meets = builder.compiler(columns).condition(node.conditions)
    return keys, meets, columns


def semi_join(builder: Builder, node: Node, inputs: Sequence[Rows]) -> Rows:
    """Rows that have a match, or those that have none."""
    assert isinstance(node, nodes.SemiJoin)
    keys, meets, _ = _matching(builder, node, inputs)
    anti = node.anti

    def made(key: Any, sides: Sequence[Bag]) -> Bag:
        left, right = sides
        return {
            row: times
            for row, times in left.items()
            if any(meets((*row, *other)) for other in right) != anti
        }

    place = builder.add(Grouped(keys, made), [rows.operator for rows in inputs])
    return replace(inputs[0], operator=place)


def mark(builder: Builder, node: Node, inputs: Sequence[Rows]) -> Rows:
    """Every row, and whether it has a match."""
    assert isinstance(node, nodes.Mark)
    keys, meets, _ = _matching(builder, node, inputs)
    compiler = builder.compiler(inputs[0].columns)
    typed = [compiler.compile(item.expression) for item in node.items]
    shown = row_of([one.of for one in typed])

    def made(key: Any, sides: Sequence[Bag]) -> Bag:
        left, right = sides
        result: Bag = {}
        for row, times in left.items():
            mark = any(meets((*row, *other)) for other in right)
            add(result, {(*shown(row), mark): times})
        return result

    place = builder.add(Grouped(keys, made), [rows.operator for rows in inputs])
    return named(place, node, [*(one.kind for one in typed), BOOLEAN])


def outer_join(builder: Builder, node: Node, inputs: Sequence[Rows]) -> Rows:
    """Pairs of rows, and rows without a match beside NULLs."""
    assert isinstance(node, (nodes.LeftJoin, nodes.FullJoin))
    keys, meets, columns = _matching(builder, node, inputs)
    no_left, no_right = ((None,) * rows.width for rows in inputs)
    full = isinstance(node, nodes.FullJoin)

    def made(key: Any, sides: Sequence[Bag]) -> Bag:
        left, right = sides
        result: Bag = {}
        matched: set[Row] = set()
        for row, times in left.items():
            found = [other for other in right if meets((*row, *other))]
            matched.update(found)
            for other in found:
                add(result, {(*row, *other): times * right[other]})
            if not found:
                add(result, {(*row, *no_right): times})
        if full:
            for other, times in right.items():
                if other not in matched:
                    add(result, {(*no_left, *other): times})
        return result

    place = builder.add(Grouped(keys, made), [rows.operator for rows in inputs])
    return Rows(place, columns, inputs[0].width + inputs[1].width)
