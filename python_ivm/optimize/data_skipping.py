"""Data skipping: bounds from the changed rows' keys on all that is joined to them.

What joins a changed row by an equality has that row's key. That it has one of the changed rows'
keys is a condition on the other side that the equality implies: it changes no result, and few rows
come to the join. Delta skips the files, and Parquet the row groups, whose lowest and highest values
do not fit.

Sources: passing keys from one side of a join to the other is sideways information passing (Beeri
and Ramakrishnan, "On the Power of Magic", JLP 10, 1991); skipping by the ends of a block's values
is the work of zone maps (Moerkotte, "Small Materialized Aggregates", VLDB 1998). Decision 0020.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce

from python_ivm.algebra.columns import ColumnRef
from python_ivm.algebra.nodes import Node, SemiJoin
from python_ivm.algebra.walks import bottom_up
from python_ivm.optimize.analysis.bounds import Range, with_conditions
from python_ivm.optimize.analysis.provenance import (
    Key,
    Kinds,
    Provenance,
    equalities,
    family,
    keeps,
)
from python_ivm.optimize.context import Context
from python_ivm.state.counters import stored
from python_ivm.state.layout import STATE
from python_ivm.state.merge import Merge

_MOST_BOUNDS = 3
"""At most this many of a state's keys are bounded: the first ones tell its files best."""

Large = Callable[[str], bool]
"""Whether a source is so large that it pays to bound what is read of it."""


def data_skipping(merge: Merge, context: Context) -> Merge:
    """Bound what is joined to changed rows, and the stored rows that they belong to.

    Args:
        merge: A MERGE that follows changes.
        context: Is asked for the ranges of changed keys, where there is a use for one.
    """
    plan = merge.rows
    traced = _Traced(context.kinds, context.cost.is_large)
    traces = ((ref, traced.provenance.keys(plan, ref)) for ref in merge.keys)
    found = {ref: keys for ref, keys in traces if keys and context.cost.is_large(STATE)}
    wanted = {key for keys in found.values() for key in keys}
    for node in plan.walk():
        wanted.update(key for implied in traced.implied(node) for key in implied.keys)
    ranges = context.answers.ranges(wanted) if wanted else {}

    def rule(node: Node) -> Node:
        for implied in list(traced.implied(node)):
            range_ = _united(implied.keys, ranges)
            if range_ is not None:
                conditions = range_.holds(implied.column.expression(), implied.or_null)
                node = with_conditions(node, conditions, stays_left=implied.stays_left)
        return node

    known = ((ref, _united(keys, ranges)) for ref, keys in found.items())
    within = [range_.holds(stored(ref.name), or_null=True) for ref, range_ in known if range_]
    on = (*merge.on, *(condition for each in within[:_MOST_BOUNDS] for condition in each))
    return replace(merge, rows=bottom_up(plan, rule), on=on)


def keys_looked_up(merge: Merge, kinds: Kinds) -> frozenset[Key]:
    """The columns by which tables are looked up by changed keys, the state's among them.

    A table that is laid out by such a column is read in part only.

    Args:
        merge: A MERGE that follows changes.
        kinds: The types of the sources' columns.
    """
    traced = _Traced(kinds, lambda source: True)
    plan = merge.rows
    found = {Key(STATE, ref.name) for ref in merge.keys if traced.provenance.keys(plan, ref)}
    for node in plan.walk():
        for implied in traced.implied(node):
            found |= traced.read(node, implied.column)
    return frozenset(found)


def _united(keys: Collection[Key], ranges: Mapping[Key, Range]) -> Range | None:
    if not keys or any(key not in ranges for key in keys):
        return None
    return reduce(Range.__or__, (ranges[key] for key in sorted(keys)))


@dataclass(frozen=True)
class _Implied:
    """A column that equals one of a change.

    Attributes:
        column: The column to bound.
        keys: The columns of changes that hold the other column's values.
        or_null: Whether NULL equals NULL.
        stays_left: Whether it is one of a semijoin's left side, from which rows are kept.
    """

    column: ColumnRef
    keys: frozenset[Key]
    or_null: bool
    stays_left: bool


class _Traced:
    """What the keys of changes bound."""

    def __init__(self, kinds: Kinds, large: Large) -> None:
        self._kinds = kinds
        self._large = large
        self.provenance = Provenance(kinds)

    def implied(self, node: Node) -> Iterator[_Implied]:
        """The columns below a join that an equality bounds."""
        for changed, read, or_null in equalities(node):
            giving = self.provenance.input_with(node, changed)
            reading = self.provenance.input_with(node, read)
            if giving is None or reading is None or giving is reading or keeps(node, read):
                continue
            keys = self.provenance.keys(giving, changed)
            if keys and self._is_read(reading, read, keys):
                stays_left = isinstance(node, SemiJoin) and reading is node.left
                yield _Implied(read, keys, or_null, stays_left)

    def read(self, node: Node, column: ColumnRef) -> frozenset[Key]:
        """The tables' columns that one of a join's inputs shows as a column."""
        below = self.provenance.input_with(node, column)
        return self.provenance.read(below, column) if below is not None else frozenset()

    def _is_read(self, node: Node, column: ColumnRef, keys: frozenset[Key]) -> bool:
        """Whether a column comes from large tables, with values like those of the keys."""
        read = {key.source for key in self.provenance.read(node, column)}
        if not read:
            return False
        families = {family(self._kinds(key.source, key.column)) for key in keys}
        # The types of the state's own columns are not known: they are the keys of its groups.
        known = [kind for kind in self.provenance.kinds(node, column) if kind is not None]
        families |= set(map(family, known))
        return len(families) == 1 and any(map(self._large, sorted(read)))
