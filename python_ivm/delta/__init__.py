"""The delta of a plan: one operator, one module, named like its node.

The rules are tiny, and right without any optimization. Where they know that only some rows matter
they say so (:class:`~python_ivm.algebra.nodes.Reduction`), and leave the rest to ``optimize``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from python_ivm.algebra import nodes
from python_ivm.algebra.nodes import Node
from python_ivm.algebra.term import Changes, Term
from python_ivm.delta import (
    aggregate,
    clock_filter,
    filter,
    full_join,
    generate,
    join,
    left_join,
    mark,
    project,
    recursion,
    repeat,
    scan,
    semi_join,
    sort,
    union_all,
    window,
)
from python_ivm.errors import NotYetImplemented

RULES: dict[type[Node], Callable[..., list[Term]]] = {
    nodes.Scan: scan.delta,
    nodes.Filter: filter.delta,
    nodes.ClockFilter: clock_filter.delta,
    nodes.Project: project.delta,
    nodes.Join: join.delta,
    nodes.LeftJoin: left_join.delta,
    nodes.FullJoin: full_join.delta,
    nodes.SemiJoin: semi_join.delta,
    nodes.Mark: mark.delta,
    nodes.UnionAll: union_all.delta,
    nodes.Window: window.delta,
    nodes.Repeat: repeat.delta,
    nodes.Generate: generate.delta,
    nodes.Aggregate: aggregate.delta,
    nodes.Recursion: recursion.delta,
    nodes.Sort: sort.delta,
}
"""One rule an operator. A rule gets the node, the changes and a function for its inputs' deltas."""


def delta(node: Node, changes: Changes) -> list[Term]:
    """The terms of a node's delta; none where nothing below it changed.

    Raises:
        NotYetImplemented: If an operator has no rule.
    """
    if not changes.touches(node):
        return []
    return changes.once("delta", node, lambda: _delta(node, changes))


def _delta(node: Node, changes: Changes) -> list[Term]:
    rule: Any = RULES.get(type(node))
    if rule is None:
        raise NotYetImplemented(f"The delta of {type(node).__name__}")
    terms: list[Term] = rule(node, changes, delta)
    return terms
