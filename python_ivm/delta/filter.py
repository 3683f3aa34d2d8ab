"""Filter: linear, so that it applies to the delta as it does to the rows."""

from __future__ import annotations

from dataclasses import replace

from python_ivm.algebra.nodes import Filter
from python_ivm.algebra.term import Changes, Inner, Term


def delta(node: Filter, changes: Changes, inner: Inner) -> list[Term]:
    """Each term of the input's delta, filtered."""
    return [
        replace(term, plan=Filter(term.plan, term.over(node.condition)))
        for term in inner(node.input, changes)
    ]
