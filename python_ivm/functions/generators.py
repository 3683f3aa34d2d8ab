"""Generator functions: each makes rows of its arguments."""

from __future__ import annotations

from sqlglot import exp

_TYPES = (exp.Explode, exp.ExplodeOuter, exp.Inline, exp.Stack)
_NAMES = frozenset({"inline_outer", "json_tuple", "variant_explode", "variant_explode_outer"})


def is_generator(node: exp.Expr) -> bool:
    """Whether a node is a call of a generator function."""
    if isinstance(node, exp.Anonymous):
        return node.name.lower() in _NAMES
    return isinstance(node, _TYPES)
