"""Shared changes: each source's change feed is read once, with all columns that are asked for.

The elimination of a common subexpression: what several terms of a delta read becomes one CTE.
"""

from __future__ import annotations

from dataclasses import replace

from python_ivm.algebra.nodes import At, Node, Scan
from python_ivm.algebra.walks import bottom_up
from python_ivm.optimize.context import Context
from python_ivm.state.merge import Merge


def shared_changes(merge: Merge, context: Context) -> Merge:
    """Let all reads of one source's change read the same columns.

    Args:
        merge: A MERGE that follows changes.
        context: Not asked.
    """
    wanted: dict[str, dict[str, None]] = {}
    for node in merge.rows.walk():
        if isinstance(node, Scan) and node.at is At.DELTA:
            wanted.setdefault(node.source, {}).update(dict.fromkeys(node.columns))

    def rule(node: Node) -> Node:
        if not isinstance(node, Scan) or node.at is not At.DELTA:
            return node
        columns = tuple(wanted[node.source])
        return node if node.columns == columns else replace(node, columns=columns)

    return replace(merge, rows=bottom_up(merge.rows, rule))
