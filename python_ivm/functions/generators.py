"""Generator functions: each makes rows of its arguments."""

from __future__ import annotations

from sqlglot import exp

_TYPES = (exp.Explode, exp.ExplodeOuter, exp.Inline, exp.Stack)
_NAMES = frozenset({"inline_outer", "json_tuple", "variant_explode", "variant_explode_outer"})

TABLE_FUNCTIONS = frozenset(
    {
        "range", "explode", "explode_outer", "posexplode", "posexplode_outer", "inline",
        "inline_outer", "stack", "json_tuple", "variant_explode", "variant_explode_outer", "table",
    }
)  # fmt: skip
"""Functions in FROM whose rows follow from their arguments; any other can read tables unseen."""


def is_generator(node: exp.Expr) -> bool:
    """Whether a node is a call of a generator function."""
    if isinstance(node, exp.Anonymous):
        return node.name.lower() in _NAMES
    return isinstance(node, _TYPES)
