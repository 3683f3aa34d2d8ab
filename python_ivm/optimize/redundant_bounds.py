"""Redundant bounds: of several bounds of one column only the narrowest is written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from python_ivm.algebra.columns import ColumnRef, columns_of
from python_ivm.algebra.conditions import conjuncts
from python_ivm.algebra.nodes import Filter, Join, LeftJoin, Node, SemiJoin
from python_ivm.algebra.walks import bottom_up
from python_ivm.optimize.analysis.bounds import bound_of
from python_ivm.optimize.context import Context
from python_ivm.state.merge import Merge


def redundant_bounds(merge: Merge, context: Context) -> Merge:
    """Leave out a column's bounds beside one that leaves fewer of its values.

    Each is implied by an equality, so that none is missed.

    Args:
        merge: A MERGE with bounds.
        context: Not asked.
    """

    def rule(node: Node) -> Node:
        if isinstance(node, Filter):
            conditions = conjuncts(node.condition)
            kept = _narrowest(conditions)
            return node if kept == conditions else Filter(node.input, exp.and_(*kept))
        if isinstance(node, (Join, LeftJoin, SemiJoin)):
            kept = _narrowest(node.conditions)
            if len(kept) < len(node.conditions):
                return replace(node, conditions=tuple(kept))
        return node

    return replace(merge, rows=bottom_up(merge.rows, rule))


def _narrowest(conditions: Sequence[exp.Expr]) -> list[exp.Expr]:
    bounds = [(frozenset(columns_of(condition)), bound_of(condition)) for condition in conditions]
    least: dict[frozenset[ColumnRef], int] = {}
    for columns, bound in bounds:
        if bound is not None:
            least[columns] = min(bound.values, least.get(columns, bound.values))
    every = zip(conditions, bounds, strict=True)
    return [c for c, (columns, b) in every if b is None or b.values == least[columns]]
