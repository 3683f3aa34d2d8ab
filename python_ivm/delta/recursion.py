"""WITH RECURSIVE: the whole recursion, now and before.

A changed row can begin or end chains of any length, and the rounds before are not stored. So all
rounds are computed over the sources as they are and as they were; what both have cancels out
before the MERGE, and is not rewritten (docs/decisions/0032).
"""

from __future__ import annotations

from sqlglot import exp

from python_ivm.algebra.nodes import Recursion
from python_ivm.algebra.term import Changes, Inner, Term


def delta(node: Recursion, changes: Changes, inner: Inner) -> list[Term]:
    """Two terms: the rows now, and those before with the opposite sign."""
    now, before = changes.post(node), changes.pre(node)
    return [
        Term(now, exp.Literal.number(1), False, f"{node.relation} now, recomputed"),
        Term(before, exp.Literal.number(-1), False, f"{node.relation} before, recomputed"),
    ]
