"""The delta of a plan, operator by operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from python_ivm.algebra.nodes import (
    Aggregate,
    ClockFilter,
    Filter,
    FullJoin,
    Generate,
    Join,
    LeftJoin,
    Mark,
    Node,
    Project,
    Recursion,
    Repeat,
    Scan,
    SemiJoin,
    Sort,
    UnionAll,
    Window,
)
from python_ivm.algebra.term import Changes, Term
from python_ivm.delta import (
    aggregate,
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
from python_ivm.delta import clock_filter as clock
from python_ivm.errors import NotYetImplemented

RULES: dict[type[Node], Callable[..., list[Term]]] = {
    Scan: scan.delta,
    Filter: filter.delta,
    ClockFilter: clock.delta,
    Project: project.delta,
    Join: join.delta,
    LeftJoin: left_join.delta,
    FullJoin: full_join.delta,
    SemiJoin: semi_join.delta,
    Mark: mark.delta,
    UnionAll: union_all.delta,
    Window: window.delta,
    Repeat: repeat.delta,
    Generate: generate.delta,
    Aggregate: aggregate.delta,
    Recursion: recursion.delta,
    Sort: sort.delta,
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
