"""Net changes: rows that came and went between two refreshes are no change (a consolidation).

A row that the query never sees may fail an expression of it, as ``a / b`` where b was 0 for a
while. So where an expression that can fail is computed of changed rows, those that cancel out are
left out first. Elsewhere they cancel out for nothing when the delta is grouped.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from sqlglot import exp

from python_ivm.algebra import nodes
from python_ivm.algebra.linear_recursion import last_rounds
from python_ivm.algebra.nodes import At, Node
from python_ivm.algebra.walks import OncePerNode, bottom_up
from python_ivm.functions.failures import Failures
from python_ivm.optimize.analysis.provenance import Kinds
from python_ivm.optimize.context import Context
from python_ivm.optimize.irrelevant_updates import FLOATS, comparable
from python_ivm.state.layout import Layout
from python_ivm.state.merge import Merge


def net_changes(merge: Merge, context: Context) -> Merge:
    """Let the reads of some sources' changes leave out the rows that came and went.

    Not where rows were only added; nor of columns whose equal values may differ otherwise than the
    zeros of floating numbers do, as texts under a collation, or cannot be compared.

    Args:
        merge: A MERGE that follows changes.
        context: Names the sources.
    """
    if merge.changes is None:
        return merge
    inserts_only = merge.changes.inserts_only

    def rule(node: Node) -> Node:
        if not isinstance(node, nodes.Scan) or node.at is not At.DELTA or not node.columns:
            return node
        if node.source not in context.net or inserts_only.get(node.source):
            return node
        by_text = _compared_by_text(node, context.kinds)
        return node if by_text is None else replace(node, net=by_text)

    return replace(merge, rows=bottom_up(merge.rows, rule))


def _compared_by_text(scan: nodes.Scan, kinds: Kinds) -> tuple[str, ...] | None:
    known = comparable([kinds(scan.source, name) for name in scan.columns])
    if known is None:
        return None
    return tuple(name for name, kind in zip(scan.columns, known, strict=True) if kind in FLOATS)


def sources_to_net(layout: Layout, failures: Failures) -> frozenset[str]:
    """The sources of whose changed rows a refresh computes expressions that can fail.

    Above an aggregate, a window or a LIMIT expressions are computed of what the query gives before
    and after the change, and not of changed rows; below one its keys tell what changed.

    Args:
        layout: What the model stores.
        failures: Tells which expressions can fail.
    """
    once = OncePerNode()
    found: set[str] = set()

    def fails(expressions: Iterable[exp.Expr]) -> bool:
        return failures.ansi and failures.any(expressions)

    def visit(node: Node, failing: bool) -> None:
        once(failing, node, lambda: enter(node, failing))

    def enter(node: Node, failing: bool) -> None:
        if isinstance(node, nodes.Scan) and failing:
            found.add(node.source)
        below = fails(_of_changed_rows(node)) or (failing and not _recomputes(node))
        for child in node.inputs:
            visit(child, below)

    values = [key.expression for key in layout.keys]
    values += [value for counter in layout.counters for value in counter.values]
    visit(layout.input, fails(values))
    return frozenset(found)


def _of_changed_rows(node: Node) -> Iterable[exp.Expr]:
    """The expressions that are computed of the changed rows of a node's inputs."""
    match node:
        case nodes.Aggregate():
            return [key.expression for key in node.keys]
        case nodes.Window():
            return node.partition
    return node.expressions


def _recomputes(node: Node) -> bool:
    """Whether a node's rows are computed before and after the change."""
    limited = isinstance(node, nodes.Sort) and (node.limit or node.offset) is not None
    whole = isinstance(node, nodes.Recursion) and not last_rounds(node)
    return limited or whole or isinstance(node, (nodes.Aggregate, nodes.Window))
