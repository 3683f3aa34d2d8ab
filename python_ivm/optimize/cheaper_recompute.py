"""Choice by cost: where to follow a change reads more than the query, compute the query and diff.

Decision 0035.
"""

from __future__ import annotations

from python_ivm.optimize.context import Context
from python_ivm.sources.clock import CLOCK
from python_ivm.state.merge import Merge


def cheaper_recompute(merge: Merge, context: Context) -> Merge:
    """Take the MERGE that recomputes the query if it is cheaper.

    Args:
        merge: A MERGE that follows changes, with all bounds.
        context: Knows costs and the other MERGE.
    """
    other = context.recompute
    if other is None or not merge.follows:
        return merge
    sources = merge.follows - {CLOCK}
    return other if context.cost.is_more_expensive(merge.rows, other.rows, sources) else merge
