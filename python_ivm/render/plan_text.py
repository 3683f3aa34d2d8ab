"""A plan as an indented tree, for people and for tests."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from python_ivm.algebra import nodes
from python_ivm.algebra.columns import Named
from python_ivm.algebra.nodes import At, Node
from python_ivm.parse.parser import DIALECT
from python_ivm.render.renderer import bare


def tree(plan: Node, names: Mapping[str, str] | None = None) -> str:
    """One line an operator, inputs indented below it; what stands in two places is told once.

    Args:
        plan: The plan.
        names: Other names of sources, by planner key.
    """
    return "\n".join(_lines(plan, 0, set(), names or {}))


def _lines(node: Node, depth: int, told: set[int], names: Mapping[str, str]) -> list[str]:
    indent = "  " * depth
    if id(node) in told and node.inputs:
        return [f"{indent}{node.schema[0].relation}, as above"]
    told.add(id(node))
    lines = [indent + label(node, names)]
    for child in node.inputs:
        lines += _lines(child, depth + 1, told, names)
    return lines


def label(node: Node, names: Mapping[str, str]) -> str:
    """An operator in one line: its kind, and what it computes.

    Args:
        node: The operator.
        names: Other names of sources, by planner key.
    """
    match node:
        case nodes.Scan():
            at = "" if node.at is At.POST else f" at {node.at.value}"
            source = names.get(node.source, node.source)
            return f"Scan {source} as {node.relation}{at} ({', '.join(node.columns)})"
        case nodes.Filter() | nodes.ClockFilter():
            return f"Filter {one_line(node.condition)}"
        case nodes.Project():
            return f"Project {_named(node.items)}"
        case nodes.Join():
            if len(node.parts) == 1:
                return f"Filter {_all(node.conditions)}"
            return f"Join on {_all(node.conditions)}" if node.conditions else "Join (cross)"
        case nodes.SemiJoin(anti=True):
            return f"AntiJoin on {_all(node.conditions)}"
        case nodes.LeftJoin() | nodes.FullJoin() | nodes.SemiJoin() | nodes.Reduction():
            return f"{type(node).__name__} on {_all(node.conditions)}"
        case nodes.AffectedKeys():
            return f"AffectedKeys {node.relation} ({_named(node.keys)})"
        case nodes.Mark():
            return f"Mark {node.mark} where {_all(node.conditions)}"
        case nodes.Window():
            return f"Window {_named(node.functions)}"
        case nodes.Repeat():
            return f"Repeat {one_line(node.times)} times"
        case nodes.Generate():
            made = f"{one_line(node.function)} as {node.relation} ({', '.join(node.names)})"
            return f"Generate {'outer ' if node.outer else ''}{made}"
        case nodes.TableFunction():
            made = f"{one_line(node.function)} as {node.relation}"
            return f"Function {made} ({', '.join(node.names)})"
        case nodes.Values():
            return f"Values as {node.relation} ({', '.join(node.names)}), {len(node.rows)} rows"
        case nodes.Bindings():
            return f"Bindings {_named(node.keys)}"
        case nodes.Aggregate():
            if not node.measures:
                return f"Distinct {_named(node.keys)}"
            by = f" by {_named(node.keys)}" if node.keys else ""
            return f"Aggregate {_named(node.measures)}{by}"
        case nodes.UnionAll():
            return f"UnionAll ({', '.join(node.names)})"
        case nodes.Recursion():
            kind = "RecursiveSet" if node.is_set else "Recursion"
            return f"{kind} {node.relation} ({', '.join(node.names)})"
        case nodes.WorkingTable():
            return f"WorkingTable of {node.recursion} as {node.relation}"
        case nodes.Sort():
            parts = [f"Sort by {', '.join(one_line(k) for k in node.order)}"] if node.order else []
            parts += [f"limit {one_line(node.limit)}"] if node.limit is not None else []
            parts += [f"offset {one_line(node.offset)}"] if node.offset is not None else []
            return " ".join(parts)
    return type(node).__name__


def _all(conditions: tuple[exp.Expr, ...]) -> str:
    several = len(conditions) > 1
    told = (exp.paren(c) if several and isinstance(c, exp.Or) else c for c in conditions)
    return " and ".join(map(one_line, told)) or "true"


def _named(items: tuple[Named, ...]) -> str:
    return ", ".join(
        item.name
        if isinstance(item.expression, exp.Column) and item.expression.name == item.name
        else f"{item.name} = {one_line(item.expression)}"
        for item in items
    )


def one_line(expression: exp.Expr) -> str:
    """An expression as Spark SQL on one line."""
    return str(bare(expression).sql(dialect=DIALECT, copy=False))
