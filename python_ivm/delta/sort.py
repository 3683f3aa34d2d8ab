"""ORDER BY and LIMIT: only at the top of a model, where the public view holds them."""

from __future__ import annotations

from collections.abc import Callable

from python_ivm.algebra.nodes import Node, Sort
from python_ivm.delta.term import Changes, Term
from python_ivm.errors import NotYetImplemented


def delta(node: Sort, changes: Changes, inner: Callable[[Node, Changes], list[Term]]) -> list[Term]:
    """The input's delta where there is no LIMIT, for then the order has no effect below the top.

    Raises:
        NotYetImplemented: For a LIMIT inside a query.
    """
    if node.limit is not None or node.offset is not None:
        raise NotYetImplemented("ORDER BY with LIMIT below the top of a model", operator="LIMIT")
    return inner(node.input, changes)
