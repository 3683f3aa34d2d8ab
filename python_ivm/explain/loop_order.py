"""A loop in words: its operators in the order in which they run, and who reads whom."""

from __future__ import annotations

from python_ivm.loops.loop import Loop


def loop_order(loop: Loop) -> str:
    """The operators of a loop by their numbers.

    Args:
        loop: The loop.

    Returns:
        A line for each operator and binding: its number, what it is, and the numbers of those that
        it reads. One that stands in a circle without a delay is marked by ``↻``.
    """
    graph, number = loop.graph, loop.order.number
    circling = {vertex for circle in loop.order.circles for vertex in circle}
    delays = set(graph.delays.values())
    lines = []
    for vertex in sorted(number, key=lambda v: number[v]):
        what = graph.vertices[vertex]
        if graph.stored[what.binding] == vertex:
            columns = zip(loop.names[what.binding], loop.kinds[what.binding], strict=True)
            told = f"{what.binding}({', '.join(f'{name} {kind}' for name, kind in columns)})"
        elif vertex in delays:
            told = what.label
        else:
            told = f"{what.binding}: {what.label}" + (" (by Spark)" if what.is_given else "")
        read = ", ".join(str(number[one]) for one in graph.inputs[vertex])
        mark = "↻" if vertex in circling else " "
        lines.append(f"  {number[vertex]:>3} {mark} {told}" + (f" ← {read}" if read else ""))
    if circling:
        lines.append("  ↻ runs, within a round, until it adds no row")
    return "\n".join(lines)
