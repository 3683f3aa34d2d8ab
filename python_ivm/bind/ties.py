"""What rows are compared by that the user's order leaves equal, once types are known."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from python_ivm.algebra import nodes
from python_ivm.algebra.columns import Named
from python_ivm.algebra.nodes import Node
from python_ivm.algebra.ties import tied
from python_ivm.algebra.walks import bottom_up
from python_ivm.bind.union_types import Types
from python_ivm.functions.comparable import comparable
from python_ivm.parse.parser import DIALECT

ORDERS = "__ivm_orders__"
"""The name under which these types stand among those of relations."""

Kinds = Callable[[Node, Sequence[exp.Expr]], Mapping[str, str]]
"""Gives, for values over a plan's rows, the types of those that Spark cannot compare, by text."""


def known_kinds(types: Types) -> Kinds:
    """The types that were found at a build."""
    return lambda rows, values: types.get(ORDERS, {})


def text(value: exp.Expr) -> str:
    """What a value is found by among types."""
    return value.sql(dialect=DIALECT)


def break_ties(plan: Node, kinds: Kinds | None) -> Node:
    """A plan without marks (``algebra/ties.py``): each value, or what it is compared by.

    Args:
        plan: The plan.
        kinds: Knows types; None leaves each value as it is.

    Raises:
        NotYetImplemented: If a type cannot be read.
    """

    def rule(node: Node) -> Node:
        if not isinstance(node, (nodes.Window, nodes.Sort, nodes.Aggregate)):
            return node
        marks = [tied(part) for e in _ordering(node) for part in e.find_all(exp.Anonymous)]
        values = list(dict.fromkeys(value for value in marks if value is not None))
        if not values:
            return node
        found = kinds(node.input, values) if kinds is not None else {}
        return _over(node, lambda e: _without_marks(e, found))

    return bottom_up(plan, rule)


def _ordering(node: nodes.Window | nodes.Sort | nodes.Aggregate) -> list[exp.Expr]:
    if isinstance(node, nodes.Sort):
        return list(node.order)
    named = node.functions if isinstance(node, nodes.Window) else node.measures
    return [item.expression for item in named]


def _over(node: Node, form: Callable[[exp.Expr], exp.Expr]) -> Node:
    if isinstance(node, nodes.Sort):
        keys = []
        for key in node.order:
            keys.append(key.copy())
            keys[-1].set("this", form(key.this))
        return replace(node, order=tuple(keys))
    if isinstance(node, nodes.Window):
        return replace(node, functions=_each(node.functions, form))
    assert isinstance(node, nodes.Aggregate)
    return replace(node, measures=_each(node.measures, form))


def _each(items: Sequence[Named], form: Callable[[exp.Expr], exp.Expr]) -> tuple[Named, ...]:
    return tuple(Named(item.name, form(item.expression)) for item in items)


def _without_marks(expression: exp.Expr, kinds: Mapping[str, str]) -> exp.Expr:
    def rule(part: exp.Expr) -> exp.Expr:
        if isinstance(part, (exp.Min, exp.Max)):
            value = tied(part.this)
            kind = kinds.get(text(value)) if value is not None else None
            if value is not None and kind is not None:  # the value with the extreme form
                name = "min_by" if isinstance(part, exp.Min) else "max_by"
                pair = [value.copy(), comparable(value, kind)]
                return exp.Anonymous(this=name, expressions=pair)
        value = tied(part)
        if value is None:
            return part
        kind = kinds.get(text(value))
        return value.copy() if kind is None else comparable(value, kind)

    return expression.copy().transform(rule)
