"""Rewrites of a MERGE that save work and change no result, in their order.

A pass is one module with one function from a MERGE and a context to a MERGE. Each may be left out
(:attr:`Context.without`): every result stays the same, which a property test proves. A new pass is
a new module and a line here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from python_ivm.algebra.term import Changes
from python_ivm.delta import delta
from python_ivm.optimize import (
    affected_keys,
    cheaper_recompute,
    data_skipping,
    irrelevant_updates,
    join_key_lookahead,
    net_changes,
    predicate_ordering,
    projection_merging,
    redundant_bounds,
    semijoin_reduction,
    shared_changes,
    state_reuse,
)
from python_ivm.optimize.context import Context
from python_ivm.state.layout import Layout
from python_ivm.state.merge import Merge, following

Rewrite = Callable[[Merge, Context], Merge]


@dataclass(frozen=True)
class Pass:
    """One rewrite.

    Attributes:
        rewrite: It.
        otherwise: What takes its place where it is left out; None does nothing.
    """

    rewrite: Rewrite
    otherwise: Rewrite | None = None

    @property
    def name(self) -> str:
        """Its module's and its function's name."""
        return self.rewrite.__name__


LOGICAL: tuple[Pass, ...] = (
    # Reads the rows that a recursion had from the state, where that stores them.
    Pass(state_reuse.state_reuse),
    # Finds affected groups, partitions and rows by the changed rows alone, one too many at worst.
    Pass(affected_keys.affected_keys, otherwise=affected_keys.keys_of_deltas),
    # Computes these only, before and after the change, and not all that there are.
    Pass(semijoin_reduction.semijoin_reduction, otherwise=semijoin_reduction.all_rows),
    # Makes one projection of two.
    Pass(projection_merging.projection_merging),
    # Reads each source's change feed once.
    Pass(shared_changes.shared_changes),
    # Leaves out changed rows that came and went, where one of them could fail the statement.
    Pass(net_changes.net_changes),
)
"""The passes that look at the plan alone."""

COST_BASED: tuple[Pass, ...] = (
    # Bounds what is joined to changed rows by their keys, so that files and row groups are skipped.
    Pass(data_skipping.data_skipping),
    # Asks for the keys that the first joins give, and bounds the large table after them by these.
    Pass(join_key_lookahead.join_key_lookahead),
    # Writes bounds before predicates that are expensive to compute.
    Pass(predicate_ordering.predicate_ordering),
    # Leaves out a bound beside a narrower one.
    Pass(redundant_bounds.redundant_bounds),
    # Follows no change of which the query sees nothing.
    Pass(irrelevant_updates.irrelevant_updates),
    # Computes the query and writes what differs, where that reads less.
    Pass(cheaper_recompute.cheaper_recompute),
)
"""The passes that ask for sizes, statistics and changed keys."""

PASSES = (*LOGICAL, *COST_BASED)
"""All passes of a MERGE, in order. (`null_aware_anti_join` rewrites a model's plan once.)"""


def compiled(layout: Layout, changes: Changes, context: Context) -> Merge:
    """The MERGE that follows changes, after the passes that look at the plan alone.

    Args:
        layout: What the model stores.
        changes: Which sources changed.
        context: What passes know.
    """
    merge = following(layout, delta(layout.input, changes), changes)
    return rewritten(merge, replace(context, layout=layout), LOGICAL)


def rewritten(merge: Merge, context: Context, passes: tuple[Pass, ...] = PASSES) -> Merge:
    """A MERGE after some passes.

    Args:
        merge: The MERGE.
        context: What passes know; notes which of them changed the plan.
        passes: The passes, in order.
    """
    for each in passes:
        left_out = each.name in context.without
        rewrite = each.otherwise if left_out else each.rewrite
        if rewrite is None:
            continue
        before, merge = merge, rewrite(merge, context)
        if not left_out and (merge.rows is not before.rows or merge.on != before.on):
            context.changed[each.name] = None
    return merge
