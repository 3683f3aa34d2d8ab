"""Unions of columns of different types: each part is cast to the union's type, as Spark does it.

The delta of a union may come from one part alone, which would have that part's types.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from python_ivm.algebra.columns import Named
from python_ivm.algebra.nodes import Node, Project, UnionAll
from python_ivm.algebra.walks import bottom_up
from python_ivm.parse.parser import DIALECT

Types = Mapping[str, Mapping[str, str]]

Casts = Callable[[UnionAll], Sequence[Mapping[str, str]]]
"""Gives, for each part of a union, the type of each column that must be cast, by the union's name.

It is asked from the leaves up: the unions below already have one type for each column."""


def of_one_type(plan: Node, casts: Casts, name: Callable[[str], str]) -> Node:
    """A plan in which all parts of a union have the same types.

    Args:
        plan: The plan. It is not normalized yet: there a union of unions is still as the user
            nested it, by which Spark finds its types.
        casts: What the parts are cast to.
        name: Gives a relation's name that nothing else has, from a wanted one.
    """

    def rule(node: Node) -> Node:
        if not isinstance(node, UnionAll):
            return node
        parts = tuple(
            _cast(part, node.names, kinds, name(f"{node.relation}_part_{number}"))
            if kinds
            else part
            for number, (part, kinds) in enumerate(zip(node.parts, casts(node), strict=True), 1)
        )
        return replace(node, parts=parts)

    return bottom_up(plan, rule)


def _cast(part: Node, names: tuple[str, ...], kinds: Mapping[str, str], relation: str) -> Project:
    items = []
    for name, column in zip(names, part.schema, strict=True):
        value: exp.Expr = column.expression()
        if name in kinds:
            value = exp.cast(value, kinds[name], dialect=DIALECT)
        items.append(Named(name, value))
    return Project(part, relation, tuple(items))


def key(union: UnionAll, number: int) -> str:
    """The name under which the types of a part stand among those of relations."""
    return f"__ivm_union__ {union.relation} {number}"


def known(types: Types) -> Casts:
    """The casts that were found at a build."""
    return lambda union: [types.get(key(union, n), {}) for n in range(len(union.parts))]
