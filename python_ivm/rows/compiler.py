"""From a plan to operators over rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from sqlglot import exp

from python_ivm.algebra import nodes
from python_ivm.algebra.nodes import Node
from python_ivm.errors import NotYetImplemented
from python_ivm.rows import groups, joins
from python_ivm.rows.builder import Builder, Rows, named, row_of
from python_ivm.rows.kinds import common
from python_ivm.rows.operators import (
    Linear,
    Repeated,
)


def compiled(builder: Builder, node: Node, inputs: Sequence[Rows]) -> Rows:
    """Compile one operator of a plan.

    Args:
        builder: Collects the operators.
        node: The operator.
        inputs: What its inputs give.

    Raises:
        NotYetImplemented: If the row engine has no such operator, or cannot compute one of its
            expressions.
    """
    rule = _RULES.get(type(node))
    if rule is None:
        raise NotYetImplemented(
            f"{_spoken(node)} within a loop",
            hint="Compute it in a CTE that is outside of the loop, which Spark evaluates.",
        )
    return rule(builder, node, inputs)


def _spoken(node: Node) -> str:
    return {"ClockFilter": "A condition on the clock", "Generate": "A generator"}.get(
        type(node).__name__, type(node).__name__
    )


def _project(builder: Builder, node: Node, inputs: Sequence[Rows]) -> Rows:
    compiler = builder.compiler(inputs[0].columns)
    typed = [compiler.compile(expression) for expression in node.expressions]
    known = inputs[0].columns
    columns = [
        known[(e.table, e.name)][0] if isinstance(e, exp.Column) else None for e in node.expressions
    ]
    place = builder.add_mapped(inputs[0], row_of([one.of for one in typed]), columns)
    return named(place, node, [one.kind for one in typed])


def _filter(builder: Builder, node: Node, inputs: Sequence[Rows]) -> Rows:
    return joins.where(builder, inputs[0], node.expressions)


def _repeat(builder: Builder, node: Node, inputs: Sequence[Rows]) -> Rows:
    times = builder.compiler(inputs[0].columns).compile(node.expressions[0]).of
    return replace(inputs[0], operator=builder.add(Repeated(times), [inputs[0].operator]))


def _union(builder: Builder, node: Node, inputs: Sequence[Rows]) -> Rows:
    by_part = [
        [rows.columns[(c.relation, c.name)][1] for c in part.schema]
        for part, rows in zip(node.inputs, inputs, strict=True)
    ]
    kinds = [common(column) for column in zip(*by_part, strict=True)]
    functions = [
        builder.brought(rows, kinds, part.schema)
        for part, rows in zip(node.inputs, inputs, strict=True)
    ]
    place = builder.add(Linear(functions), [rows.operator for rows in inputs])
    return named(place, node, kinds)


_RULES: Mapping[type[Node], Callable[[Builder, Node, Sequence[Rows]], Rows]] = {
    nodes.Project: _project,
    nodes.Filter: _filter,
    nodes.Repeat: _repeat,
    nodes.UnionAll: _union,
    nodes.Join: joins.join,
    nodes.SemiJoin: joins.semi_join,
    nodes.Mark: joins.mark,
    nodes.LeftJoin: joins.outer_join,
    nodes.FullJoin: joins.outer_join,
    nodes.Aggregate: groups.aggregated,
    nodes.Bindings: groups.aggregated,
    nodes.Window: groups.windowed,
    nodes.Sort: groups.limited,
}
