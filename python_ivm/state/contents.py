"""What a state holds, computed from the sources."""

from __future__ import annotations

from sqlglot import exp

from python_ivm.algebra.columns import ColumnRef, Named, substitute
from python_ivm.algebra.nodes import Aggregate
from python_ivm.algebra.term import Changes
from python_ivm.state.layout import CHECK, HASH, STEP, Layout
from python_ivm.state.rows import row_hash


def contents(layout: Layout, relation: str) -> Aggregate:
    """The plan of a state's contents, computed from the sources as they are now.

    Args:
        layout: The model's layout.
        relation: The name of the plan's rows.
    """
    first, *others = layout.counters
    measures = [Named(first.name, first.build())]
    if layout.is_hashed:
        measures.append(Named(HASH, row_hash([k.expression for k in layout.keys])))
    measures += [Named(counter.name, counter.build()) for counter in others]
    if layout.check is not None:
        built = {ColumnRef("", counter.name): counter.build() for counter in layout.counters}
        keys = {ColumnRef("", key.name): key.expression for key in layout.keys}
        measures.append(Named(CHECK, substitute(layout.check, built | keys)))
    if layout.step is not None:
        number = exp.cast(exp.Literal.number(layout.step), "bigint")
        measures.append(Named(STEP, number))
    return Aggregate(Changes({}).post(layout.input), relation, layout.keys, tuple(measures))
