"""Draws the planner's folders and their imports on docs/architecture.md (`make docs`)."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from graphlib import TopologicalSorter
from pathlib import Path

from scripts.docs import DOCS, ROOT
from scripts.docs.marked_blocks import filled

PAGE = DOCS / "architecture.md"
PACKAGE = ROOT / "python_ivm"

Graph = Mapping[str, set[str]]


def folder_imports(package: Path) -> dict[str, set[str]]:
    """Which of a package's folders import which others; those for type checkers count, too."""
    folders = {path.parent.name for path in package.glob("*/__init__.py")}
    found: dict[str, set[str]] = {folder: set() for folder in folders}
    for folder in folders:
        for path in (package / folder).rglob("*.py"):
            found[folder] |= folders.intersection(_imported(path, package.name)) - {folder}
    return found


def _imported(path: Path, package: str) -> Iterator[str]:
    """What stands behind the package's name in a file's imports."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                first, _, rest = f"{node.module}.{alias.name}".partition(".")
                if first == package:
                    yield rest.partition(".")[0]


def reduced(graph: Graph) -> dict[str, set[str]]:
    """A graph without the arrows that a longer way says already.

    Raises:
        graphlib.CycleError: If it has a circle.
    """
    reached: dict[str, set[str]] = {}
    for name in TopologicalSorter(graph).static_order():
        reached[name] = graph[name].union(*(reached[other] for other in graph[name]))
    return {
        name: {o for o in others if not any(o in reached[other] for other in others)}
        for name, others in graph.items()
    }


def picture(package: Path = PACKAGE) -> str:
    """The folders as a Mermaid flowchart, each with the first sentence of its docstring."""
    lines = ["```mermaid", "flowchart BT"]
    graph = folder_imports(package)
    for name in sorted(graph):
        told = ast.get_docstring(ast.parse((package / name / "__init__.py").read_text())) or ""
        sentence = told.split("\n\n")[0].replace("\n", " ").rstrip(".").replace('"', "'")
        lines.append(f'  {name}["<b>{name}</b><br>{sentence.replace("`", "")}"]')
    for name, others in sorted(reduced(graph).items()):
        lines += [f"  {other} --> {name}" for other in sorted(others)]
    return "\n".join([*lines, "```"])


def page(text: str) -> str:
    """The page with the picture as the code has it now."""
    return filled(text, {"folders": picture()}.__getitem__)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
