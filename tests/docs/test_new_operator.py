"""The worked example of a new operator: what its page says is done to a copy, and works."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "contributing" / "new-operator.md"
FIXTURE = "tests/fixtures/operators/bucket_sample.sql"
_FENCE = re.compile(r"```(python|diff|sql)\n(.*?)```", re.S)
_FILE = re.compile(r"(?:`|\*\*)([\w/]+\.\w+)(?:`|\*\*)")
"""A file by its path; one that is new is bold."""


def blocks() -> list[tuple[str, str, str]]:
    """The page's blocks: the file that was named last before each, the language, and the text."""
    text = PAGE.read_text(encoding="utf-8")
    found = []
    for block in _FENCE.finditer(text):
        file = _FILE.findall(_FENCE.sub("", text[: block.start()]))[-1]
        found.append((file, block[1], block[2]))
    return found


def apply(root: Path, file: str, language: str, text: str) -> None:
    """Add a block to a file, or replace what a diff says, which must stand there once."""
    path = root / file
    if language == "diff":
        lines = text.splitlines(keepends=True)
        old, new = ("".join(line[1:] for line in lines if line[0] in kind) for kind in (" -", " +"))
        before = path.read_text(encoding="utf-8")
        assert before.count(old) == 1, f"not once in {file}:\n{old}"
        path.write_text(before.replace(old, new), encoding="utf-8")
    else:
        before = path.read_text(encoding="utf-8") + "\n\n" if path.exists() else ""
        path.write_text(before + text, encoding="utf-8")


def told(root: Path, *without: str) -> subprocess.CompletedProcess[str]:
    """Tell the page's fixture in a copy of the project to which the page's blocks were applied."""
    for folder in ("python_ivm", "tests/planner", "tests/fixtures"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "tests" / "__init__.py", root / "tests")
    for file, language, text in blocks():
        if file not in without:
            apply(root, file, language, text)
    command = [sys.executable, "-m", "tests.fixtures", FIXTURE]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=300)


def test_the_example_works(tmp_path: Path) -> None:
    done = told(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    number = next(text for file, _, text in blocks() if file == FIXTURE).count("\n-- when")
    assert number >= 4
    assert "5 of 5 stories go as told" in done.stdout


@pytest.mark.parametrize("left_out", ["python_ivm/delta/__init__.py", "python_ivm/bind/binder.py"])
def test_without_a_step_it_does_not(tmp_path: Path, left_out: str) -> None:
    assert told(tmp_path, left_out).returncode != 0
