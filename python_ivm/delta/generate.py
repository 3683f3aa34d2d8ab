"""Generate (explode, LATERAL VIEW, UNPIVOT): linear; what a row makes goes and comes with it.

Source: as for a projection that gives several rows (Griffin and Libkin, "Incremental Maintenance of
Views with Duplicates", SIGMOD 1995): Δ(gen(A)) = gen(ΔA), each made row with its row's count.
"""

from __future__ import annotations

from dataclasses import replace

from python_ivm.algebra.nodes import Generate
from python_ivm.algebra.term import Changes, Inner, Term


def delta(node: Generate, changes: Changes, inner: Inner) -> list[Term]:
    """Each term of the input's delta, generated."""
    return [
        replace(term, plan=replace(node, input=term.plan, function=term.over(node.function)))
        for term in inner(node.input, changes)
    ]
