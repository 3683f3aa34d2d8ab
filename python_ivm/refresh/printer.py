"""A plan as an indented tree, for people and for tests."""

from __future__ import annotations

from sqlglot import exp

from python_ivm.algebra.columns import Named
from python_ivm.algebra.nodes import (
    Aggregate,
    At,
    Bindings,
    ClockFilter,
    Filter,
    FullJoin,
    Generate,
    Join,
    LeftJoin,
    Mark,
    Node,
    Project,
    Recursion,
    Repeat,
    Scan,
    SemiJoin,
    Sort,
    TableFunction,
    UnionAll,
    Values,
    Window,
    WorkingTable,
)
from python_ivm.parse.parser import DIALECT
from python_ivm.render.renderer import bare


def tree(plan: Node) -> str:
    """One line an operator, inputs indented below it; what stands in two places is told once."""
    return "\n".join(_lines(plan, 0, set()))


def _lines(node: Node, depth: int, told: set[int]) -> list[str]:
    indent = "  " * depth
    if id(node) in told and node.inputs:
        return [f"{indent}{node.schema[0].relation}, as above"]
    told.add(id(node))
    lines = [indent + _label(node)]
    for child in node.inputs:
        lines += _lines(child, depth + 1, told)
    return lines


def _label(node: Node) -> str:
    match node:
        case Scan():
            at = "" if node.at is At.POST else f" at {node.at.value}"
            return f"Scan {node.source} as {node.relation}{at} ({', '.join(node.columns)})"
        case Filter() | ClockFilter():
            return f"Filter {one_line(node.condition)}"
        case Project():
            return f"Project {_named(node.items)}"
        case Join():
            if len(node.parts) == 1:
                return f"Filter {_all(node.conditions)}"
            return f"Join on {_all(node.conditions)}" if node.conditions else "Join (cross)"
        case LeftJoin() | FullJoin() | SemiJoin():
            name = "AntiJoin" if isinstance(node, SemiJoin) and node.anti else type(node).__name__
            return f"{name} on {_all(node.conditions)}"
        case Mark():
            return f"Mark {node.mark} where {_all(node.conditions)}"
        case Window():
            return f"Window {_named(node.functions)}"
        case Repeat():
            return f"Repeat {one_line(node.times)} times"
        case Generate():
            made = f"{one_line(node.function)} as {node.relation} ({', '.join(node.names)})"
            return f"Generate {'outer ' if node.outer else ''}{made}"
        case TableFunction():
            made = f"{one_line(node.function)} as {node.relation}"
            return f"Function {made} ({', '.join(node.names)})"
        case Values():
            return f"Values as {node.relation} ({', '.join(node.names)}), {len(node.rows)} rows"
        case Bindings():
            return f"Bindings {_named(node.keys)}"
        case Aggregate():
            if not node.measures:
                return f"Distinct {_named(node.keys)}"
            by = f" by {_named(node.keys)}" if node.keys else ""
            return f"Aggregate {_named(node.measures)}{by}"
        case UnionAll():
            return f"UnionAll ({', '.join(node.names)})"
        case Recursion():
            return f"Recursion {node.relation} ({', '.join(node.names)})"
        case WorkingTable():
            return f"WorkingTable of {node.recursion} as {node.relation}"
        case Sort():
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
