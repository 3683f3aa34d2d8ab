"""The documentation names everything that the code has."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from docs import examples, support
from python_ivm.delta import RULES
from python_ivm.errors import IvmError

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
    assert examples.filled(text) == text, "run `make docs`"


def test_the_support_matrix_is_what_the_planner_does() -> None:
    assert support.PAGE.read_text() == support.page(), "run `make docs`"


def test_links_between_pages_lead_somewhere() -> None:
    for path in [*DOCS.rglob("*.md"), *ROOT.glob("*.md")]:
        for target in re.findall(r"\]\((?!http)([^)#]+)\)", path.read_text()):
            assert (path.parent / target).exists(), f"{path.name}: {target}"
