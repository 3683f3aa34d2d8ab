"""The documentation names everything that the code has."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from python_ivm.delta import RULES
from python_ivm.errors import IvmError
from python_ivm.optimize import PASSES
from scripts.docs import write_examples
from scripts.docs import write_support_page as support

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def _reason_codes() -> set[str]:
    """The codes that the code gives to `Reason`, or as the second argument to `Refresh`."""
    found = set()
    for folder in ("python_ivm", "dbt"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                    position = {"Reason": 0, "Refresh": 1}.get(node.func.id)
                    if position is not None and len(node.args) > position:
                        argument = node.args[position]
                        if isinstance(argument, ast.Constant):
                            found.add(str(argument.value))
    return found


def test_every_reason_code_is_documented_and_no_other() -> None:
    codes = _reason_codes()
    documented = set(re.findall(r"^\| `([A-Z_]+)`", (DOCS / "reasons.md").read_text(), re.M))
    assert {"FIRST_BUILD", "UNCHANGED"} <= codes
    assert documented == codes


def test_every_error_code_is_documented() -> None:
    documented = (DOCS / "errors.md").read_text()
    for kind in IvmError.__subclasses__():
        assert f"| `{kind.code}` |" in documented


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.__module__)
def test_every_operator_has_a_page(rule: object) -> None:
    name = rule.__module__.rsplit(".", 1)[-1]
    assert (DOCS / "operators" / f"{name}.md").exists()


@pytest.mark.parametrize("path", sorted(DOCS.rglob("*.md")), ids=lambda path: path.name)
def test_the_examples_of_a_page_are_what_the_planner_emits(path: Path) -> None:
    text = path.read_text()
    assert write_examples.filled(text) == text, "run `make docs`"


def test_the_support_matrix_is_what_the_planner_does() -> None:
    text = support.PAGE.read_text()
    assert support.page(text) == text, "run `make docs`"


def test_links_between_pages_lead_somewhere() -> None:
    for path in [*DOCS.rglob("*.md"), *ROOT.glob("*.md")]:
        for target in re.findall(r"\]\((?!http)([^)#]+)\)", path.read_text()):
            assert (path.parent / target).exists(), f"{path.name}: {target}"


OWN = (
    "benchmarks",
    "dbt",
    "demo",
    "docs",
    "integration_tests",
    "macros",
    "python_ivm",
    "scripts",
    "tests",
)
"""The project's folders: a path that begins with one of them is one of ours."""
PAGES = [*sorted(DOCS.rglob("*.md")), ROOT / "CHANGELOG.md", ROOT / "integration_tests/README.md"]


def _paths(text: str) -> set[str]:
    """What stands in backquotes and looks like a path of this project, or like a Python file."""
    spans = re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.S))
    return {
        span
        for span in spans
        if re.fullmatch(r"[\w.-]+(/[\w.-]+)*/?", span)
        and (("/" in span and span.split("/")[0] in OWN) or span.endswith(".py"))
    }


def _exists(path: str, page: Path) -> bool:
    if "/" not in path:  # a file by its name, whose folder the sentence tells
        return any(next((ROOT / own).rglob(path), None) for own in OWN)
    return (ROOT / path).exists() or (page.parent / path).exists()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_paths_that_a_page_names_exist(page: Path) -> None:
    missing = sorted(path for path in _paths(page.read_text()) if not _exists(path, page))
    assert not missing


def test_a_path_that_does_not_exist_is_found() -> None:
    named = _paths(
        "See `python_ivm/sql/`, `delta/no_such.py`, `no_such.py`, `select 1/2` and `a/b`."
    )
    assert named == {"python_ivm/sql/", "delta/no_such.py", "no_such.py"}
    assert not any(_exists(path, DOCS / "limits.md") for path in named)


PARTS = ["Rule", "Example", "Cost", "Limits", "Source"]


@pytest.mark.parametrize(
    "page", sorted(DOCS.glob("operators/[a-z]*.md")), ids=lambda page: page.stem
)
def test_operators_pages_have_the_same_parts(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.S)
    headings = [heading.split()[0] for heading in re.findall(r"^## (.+)$", text, re.M)]
    assert sorted(set(headings), key=headings.index) == PARTS


def test_the_optimizers_passes_are_listed_in_their_order() -> None:
    listed = re.findall(r"^\| `([a-z_]+)` \|", (DOCS / "how-it-works.md").read_text(), re.M)
    assert listed == [each.name for each in PASSES]
