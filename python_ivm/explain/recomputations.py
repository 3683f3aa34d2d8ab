"""Which parts of a model are recomputed where a change touches them, and why."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from python_ivm.algebra.linear_recursion import last_rounds
from python_ivm.algebra.nodes import Aggregate, Bindings, Recursion, Sort, Window
from python_ivm.render.plan_text import one_line
from python_ivm.state.layout import Layout


def recomputations(layout: Layout) -> tuple[str, ...]:
    """What a refresh recomputes: one sentence for each operator or stored column.

    What is not named is maintained from the changed rows, with lookups of the rows that they match.
    """
    return (*_counters(layout), *_operators(layout))


def _counters(layout: Layout) -> Iterator[str]:
    for counter in layout.counters:
        if not counter.recomputable:
            continue
        if counter.lost() == exp.true():
            yield (
                f"{counter.name}: in every changed group, as {one_line(counter.build())} does not "
                "follow from its old value and the changed rows"
            )
        else:
            yield f"{counter.name}: in groups that lost the row or value that it rests on"


def _operators(layout: Layout) -> Iterator[str]:
    # What stands below a recursion is told with it.
    for node in layout.input.walk(lambda node: not isinstance(node, Recursion)):
        if isinstance(node, Aggregate) and not isinstance(node, Bindings):
            keys = ", ".join(key.name for key in node.keys)
            which = f"the changed groups of {keys}" if keys else "its one row"
            yield f"{node.relation}: {which}, now and before, as another operator reads the result"
        elif isinstance(node, Window):
            keys = ", ".join(one_line(key) for key in node.partition)
            which = f"the changed partitions by {keys}" if keys else "all rows (no PARTITION BY)"
            yield f"{node.relation}: {which}, now and before, as any row can move all others"
        elif isinstance(node, Recursion):
            if not last_rounds(node):
                yield f"{node.relation}: all rounds, now and before, as it reads a round twice"
            elif layout.recursion is None:
                yield (
                    f"{node.relation}: all rounds before, as the state does not hold their rows; "
                    "as a model of its own it follows what changed"
                )
        elif isinstance(node, Sort) and node.order and (node.limit or node.offset):
            yield (
                f"{node.schema[0].relation}: the sorted rows, now and before, as LIMIT and OFFSET "
                "keep others when any row changes"
            )
