"""Draws the planner's folders and their imports on docs/architecture.md (`make docs`)."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "architecture.md"
PACKAGE = ROOT / "python_ivm"
BEGIN, END = "<!-- picture -->\n", "<!-- end of picture -->"

Graph = Mapping[str, set[str]]


def module_imports(package: Path) -> dict[str, set[str]]:
    """What each module of a package imports of it, those for type checkers included.

    Args:
        package: Its folder.

    Returns:
        Dotted names of modules, for each of them.
    """
    base = package.parent
    modules = {_dotted(path.relative_to(base)): path for path in package.rglob("*.py")}
    return {name: set(_imported(path, modules)) for name, path in modules.items()}


def _dotted(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def _imported(path: Path, modules: Mapping[str, Path]) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                named = (f"{node.module}.{alias.name}", node.module)
                yield from [name for name in named if name in modules][:1]
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)


def folder_imports(package: Path) -> dict[str, set[str]]:
    """Which of a package's folders import which others."""
    found: dict[str, set[str]] = {}
    for module, imported in module_imports(package).items():
        own = _folder(module)
        if own is None:
            continue
        found.setdefault(own, set()).update(
            other for other in map(_folder, imported) if other not in (None, own)
        )
    return found


def _folder(module: str) -> str | None:
    """The folder of a module; None for those that lie at the package's top."""
    parts = module.split(".")
    is_file_at_the_top = len(parts) < 2 or (PACKAGE / f"{parts[1]}.py").exists()
    return None if is_file_at_the_top else parts[1]


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
    return "\n".join([*lines, "```", ""])


def page(text: str) -> str:
    """The page with the picture as the code has it now."""
    before, rest = text.split(BEGIN, 1)
    _, after = rest.split(END, 1)
    return before + BEGIN + picture() + END + after


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
