"""Generator functions of FROM and LATERAL VIEW, whose columns are named: one node of each."""

from __future__ import annotations

import re

from sqlglot import exp

from python_ivm.algebra.nodes import Filter, Generate, Node, TableFunction
from python_ivm.bind.scope import SelectScope
from python_ivm.errors import NotYetImplemented
from python_ivm.parse.trees import SUBQUERIES, position, spelled

_PLAIN = re.compile(r"[A-Za-z_]\w*", re.ASCII)
"""What needs no backquotes, which sqlglot does not write behind LATERAL."""


def generate(
    select: SelectScope, node: Node, lateral: exp.Lateral, outer: bool, on: exp.Expr | None = None
) -> Node:
    """The rows of a LATERAL VIEW, or of a join to a LATERAL function.

    Args:
        select: The SELECT; gets the new columns.
        node: The rows of the relations before it.
        lateral: The generator, its columns named.
        outer: Whether rows stay of which the generator makes none.
        on: The join's condition.

    Raises:
        NotYetImplemented: If a condition would decide whether an outer row has a match.
    """
    function = select.expression(lateral.this, generator=True)
    if lateral.this.find(*SUBQUERIES) is not None:
        raise NotYetImplemented(
            "A subquery in an argument of a generator", operator="LATERAL", **position(lateral)
        )
    alias = lateral.alias_or_name
    names = tuple(name.lower() for name in lateral.alias_column_names)
    relation = select.binder.name(alias if _PLAIN.fullmatch(alias) else "generated")
    made = Generate(node, function, relation, names, outer)
    select.show(alias, made.schema[len(node.schema) :])
    select.closed_under(made)
    if on is None or on == exp.true():
        return made
    if outer:
        raise NotYetImplemented(
            "LEFT JOIN LATERAL of a function on a condition", operator="LATERAL", **position(on)
        )
    return Filter(made, select.expression(on))


def table_function(select: SelectScope, source: exp.Table) -> Node:
    """A function of constants in FROM.

    Raises:
        NotYetImplemented: If it names columns of an outer query.
    """
    call = source.this
    shown = f"{spelled(call)}()"
    if source.find(exp.Column) or source.find(exp.Query):
        raise NotYetImplemented(
            f"{shown} in FROM of more than constants",
            operator=shown,
            **position(source),
        )
    names = tuple(name.lower() for name in source.alias_column_names)
    node = TableFunction(select.binder.name(source.alias or "generated"), names, call.copy())
    select.show(source.alias, node.schema)
    return node
