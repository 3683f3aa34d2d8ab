"""Aggregate functions over the rows of a group, with Spark's types and NULLs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sqlglot import exp

from python_ivm.rows.expressions import Compiler, Typed, unknown
from python_ivm.rows.kinds import BIGINT, BOOLEAN, VOID, ValueType, exactly, fit
from python_ivm.rows.operators import Bag

Aggregated = tuple[ValueType, Callable[[Bag], Any]]


def aggregate(compiler: Compiler, tree: exp.Expr) -> Aggregated:
    """An aggregate function's type, and its value for a group.

    Args:
        compiler: Compiles expressions over the rows of the group.
        tree: The call, maybe with a FILTER.

    Raises:
        NotYetImplemented: If the row engine does not know the function.
    """
    if isinstance(tree, exp.Filter):
        kind, whole = aggregate(compiler, tree.this)
        meets = compiler.condition([tree.expression.this])
        return kind, lambda bag: whole({row: n for row, n in bag.items() if meets(row)})
    argument = tree.this
    once = isinstance(argument, exp.Distinct)
    if isinstance(argument, exp.Distinct):
        if len(argument.expressions) != 1:
            raise unknown(tree, "an aggregate of several DISTINCT values")
        argument = argument.expressions[0]
    if isinstance(tree, exp.Count) and (isinstance(argument, exp.Star) or argument is None):
        return BIGINT, lambda bag: sum(bag.values())
    rule = _RULES.get(type(tree))
    if rule is None or (tree.expressions and not isinstance(tree, exp.Count)):
        raise unknown(tree)
    typed = compiler.compile(argument)
    others = [compiler.compile(other).of for other in tree.expressions]
    kind, of_values = rule(typed, tree, compiler.ansi)

    def value(bag: Bag) -> Any:
        values: dict[Any, int] = {}
        for row, times in bag.items():
            found = typed.of(row)
            if found is not None and all(other(row) is not None for other in others):
                values[found] = 1 if once else values.get(found, 0) + times
        return of_values(values)

    return kind, value


def calls(tree: exp.Expr) -> list[exp.Expr]:
    """The aggregate calls in an expression, each with its FILTER."""
    found: list[exp.Expr] = []
    for node in tree.walk(prune=lambda node: isinstance(node, (exp.AggFunc, exp.Filter))):
        if isinstance(node, (exp.AggFunc, exp.Filter)):
            found.append(node)
    return found


Values = dict[Any, int]
Rule = Callable[[Typed, exp.Expr, bool], tuple[ValueType, Callable[[Values], Any]]]


def _count(typed: Typed, tree: exp.Expr, ansi: bool) -> tuple[ValueType, Callable[[Values], Any]]:
    return BIGINT, lambda values: sum(values.values())


def _sum(typed: Typed, tree: exp.Expr, ansi: bool) -> tuple[ValueType, Callable[[Values], Any]]:
    if typed.kind.is_whole or typed.kind == VOID:
        made = fit(BIGINT, ansi)
        return (
            BIGINT,
            lambda values: made(sum(v * n for v, n in values.items())) if values else None,
        )
    if typed.kind.name != "decimal":
        raise unknown(tree, f"sum of {typed.kind}")
    kind = ValueType("decimal", min(38, typed.kind.precision + 10), typed.kind.scale)
    to_kind = fit(kind, ansi)

    def value(values: Values) -> Any:
        total: Any = 0
        for number, times in values.items():
            total = exactly(total, exactly(number, times, "*"), "+")
        return to_kind(total) if values else None

    return kind, value


def _extreme(choose: Callable[[Values], Any]) -> Rule:
    def rule(typed: Typed, tree: exp.Expr, ansi: bool) -> tuple[ValueType, Callable[[Values], Any]]:
        return typed.kind, lambda values: choose(values) if values else None

    return rule


def _boolean(choose: Callable[[Values], bool]) -> Rule:
    def rule(typed: Typed, tree: exp.Expr, ansi: bool) -> tuple[ValueType, Callable[[Values], Any]]:
        return BOOLEAN, lambda values: choose(values) if values else None

    return rule


_RULES: Mapping[type[exp.Expr], Rule] = {
    exp.Count: _count,
    exp.Sum: _sum,
    exp.Min: _extreme(min),
    exp.Max: _extreme(max),
    exp.LogicalOr: _boolean(any),
    exp.LogicalAnd: _boolean(all),
}
