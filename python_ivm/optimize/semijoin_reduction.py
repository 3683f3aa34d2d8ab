"""Semijoin reduction: only affected groups, partitions and rows are computed, before and after.

Source: Bernstein and Chiu, "Using Semi-Joins to Solve Relational Queries", JACM 28, 1981; for
groups that a change affects: Palpanas, Sidle, Cochrane and Pirahesh, "Incremental Maintenance for
Non-Distributive Aggregate Functions", VLDB 2002. Decision 0004.
"""

from __future__ import annotations

from dataclasses import replace

from python_ivm.algebra.nodes import Node, Reduction, SemiJoin
from python_ivm.algebra.walks import bottom_up
from python_ivm.optimize.context import Context
from python_ivm.state.merge import Merge


def semijoin_reduction(merge: Merge, context: Context) -> Merge:
    """Leave out the rows that would cancel each other.

    Args:
        merge: A MERGE whose plan may have reductions.
        context: Not asked.
    """

    def rule(node: Node) -> Node:
        if not isinstance(node, Reduction):
            return node
        return SemiJoin(node.left, node.right, node.conditions)

    return replace(merge, rows=bottom_up(merge.rows, rule))


def all_rows(merge: Merge, context: Context) -> Merge:
    """Without reduction: all groups, partitions and rows, of which most cancel each other."""

    def rule(node: Node) -> Node:
        return node.left if isinstance(node, Reduction) else node

    return replace(merge, rows=bottom_up(merge.rows, rule))
