"""Projection merging: a projection of a projection becomes one, so that less SQL is nested."""

from __future__ import annotations

from dataclasses import replace

from python_ivm.algebra.normalize import merge_projections
from python_ivm.optimize.context import Context
from python_ivm.state.merge import Merge


def projection_merging(merge: Merge, context: Context) -> Merge:
    """Merge projections, as the normal form of a query has them.

    Args:
        merge: A MERGE.
        context: Not asked.
    """
    return replace(merge, rows=merge_projections(merge.rows))
