"""The layout of the source: imports go one way, and folders stay small enough to look through."""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from python_ivm.delta import RULES

ROOT = Path(__file__).parents[2]
PLANNER, ADAPTER = "python_ivm", "dbt.adapters.sparkivm"
BOTH = pytest.mark.parametrize("package", (PLANNER, ADAPTER))

ORDER = (
    "errors",
    "sources",
    "algebra",
    "parse",
    "functions",
    "qualify",
    "bind",
    "rows",
    "delta",
    "state",
    "optimize",
    "render",
    "loops",
    "refresh",
    "explain",
    "operate",
)
"""The folders of the planner; each imports those before it only."""

MOST = 16
"""How many modules a folder may hold."""


Graph = Mapping[str, set[str]]


@cache
def modules(package: str) -> Mapping[str, Path]:
    """The modules of a package by their dotted names; a folder's ``__init__`` has its name."""
    folder = ROOT.joinpath(*package.split("."))
    found = {}
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(path: Path) -> Iterable[str]:
    """What a file imports, each name with its module; imports for type checkers count, too."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@cache
def imports(package: str) -> Graph:
    """For each module of a package the modules of the same package that it imports."""
    known = modules(package)
    graph: dict[str, set[str]] = {}
    for module, path in known.items():
        names = [n if n in known else n.rpartition(".")[0] for n in imported(path)]
        graph[module] = {name for name in names if name in known} - {module}
    return graph


def between(package: str, folder_of: Callable[[str], str | None]) -> Graph:
    """The imports between folders, of modules that are in one."""
    graph: defaultdict[str, set[str]] = defaultdict(set)
    for module, others in imports(package).items():
        here = folder_of(module)
        there = {folder_of(other) for other in others} - {here}
        if here is not None:
            graph[here] |= {folder for folder in there if folder is not None}
    return graph


def circle(graph: Graph) -> list[str]:
    """A circle of imports, if there is one."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@BOTH
def test_no_circle_of_modules(package: str) -> None:
    assert len(imports(package)) > 20
    assert any(imports(package).values())
    assert circle(imports(package)) == []


@BOTH
def test_no_circle_of_folders_side_by_side(package: str) -> None:
    """A folder's own files may stand below its sub-folders, and above them; no test of these."""
    files = modules(package)
    folders = {module for module, path in files.items() if path.name == "__init__.py"}
    for parent in folders:

        def child(module: str, parent: str = parent) -> str | None:
            below = module.removeprefix(f"{parent}.")
            found = f"{parent}.{below.partition('.')[0]}"
            return found if below != module and found in folders else None

        graph = between(package, child)
        assert circle(graph) == []


def test_folders_of_the_planner_import_those_before_them() -> None:
    def top(module: str) -> str | None:
        return module.split(".")[1] if "." in module else None

    graph = between(PLANNER, top)
    assert set(graph) == set(ORDER)
    backwards = {
        (here, there)
        for here, others in graph.items()
        for there in others
        if ORDER.index(there) > ORDER.index(here)
    }
    assert not backwards


@BOTH
def test_folders_are_small(package: str) -> None:
    sizes = Counter(
        module.rpartition(".")[0]
        for module, path in modules(package).items()
        if path.name != "__init__.py"
    )
    assert not {folder for folder, size in sizes.items() if size > MOST}


def test_delta_holds_one_module_for_each_operator_and_nothing_else() -> None:
    folder = ROOT / PLANNER / "delta"
    named = {re.sub(r"(?<!^)(?=[A-Z])", "_", node.__name__).lower() for node in RULES}
    assert {path.stem for path in folder.glob("*.py")} == {*named, "__init__"}
    for node, rule in RULES.items():
        stem = re.sub(r"(?<!^)(?=[A-Z])", "_", node.__name__).lower()
        assert rule.__module__ == f"{PLANNER}.delta.{stem}"


def test_the_planner_is_pure() -> None:
    roots = {n.partition(".")[0] for path in modules(PLANNER).values() for n in imported(path)}
    assert roots - sys.stdlib_module_names == {PLANNER, "sqlglot"}


def test_a_circle_is_found() -> None:
    assert set(circle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}})) == {"a", "b", "c"}
    assert circle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []
