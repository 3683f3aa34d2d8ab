"""Scan: the delta of a source is its change feed between the two versions."""

from __future__ import annotations

from dataclasses import replace

from python_ivm.algebra.columns import ColumnRef
from python_ivm.algebra.nodes import COUNT, At, Scan
from python_ivm.algebra.term import Changes, Inner, Term


def delta(node: Scan, changes: Changes, _inner: Inner) -> list[Term]:
    """One term: the source's changed rows, +1 for each that came and -1 for each that went."""
    return [
        Term(
            replace(node, at=At.DELTA),
            ColumnRef(node.relation, COUNT).expression(),
            changes.inserts_only[node.source],
            f"Δ{node.relation}",
        )
    ]
