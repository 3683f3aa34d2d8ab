"""Writes `docs/versions.md` from what the matrix's tests did on each Spark (`make docs`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.matrix import outcomes
from tests.matrix.suite import SUITE

PAGE = Path(__file__).with_name("versions.md")

TITLE = """# Spark's versions

This page shows which tests pass on which Spark.

`make test-matrix` makes an environment for each release of Spark that has a Delta, and runs the
same tests in each, by `method: session`. Each run keeps what each test did
(`tests/matrix/outcomes.json`); `make docs` writes the tables from it. The short form (`--quick`)
leaves some modules out, and takes every ninetieth of the operators' queries through one round; the
long one takes every twelfth through three. `.ci/run` runs the short form on Spark 3.5, 4.0 and
4.1 where its other tests leave time, and the workflow on GitHub on each.

A model that needs what an engine lacks gets Spark's own error when it is built.
"""

LACKING = """## What an engine lacks

Where a statement that needs it failed, by Spark or by its Delta: on Spark 4.0 Delta takes no text
with a collation into a table, and a `WITH RECURSIVE` over a table ended with an error of Spark's
own planner.
"""


def page() -> str:
    """The page's text."""
    found = outcomes.recorded()
    releases = sorted(found)
    lines = [TITLE, _row("tests", *(f"Spark {release}" for release in releases))]
    lines.append("|---" * (len(releases) + 1) + "|")
    for package in ("spark", "delta"):
        versions = (found[release]["versions"][package] for release in releases)
        lines.append(_row({"spark": "PySpark", "delta": "Delta"}[package], *versions))
    for module, about in SUITE.items():
        told = (_told(found[release]["outcomes"].get(module, {})) for release in releases)
        lines.append(_row(f"{about} (`{module}`)", *told))
    failed = [(release, test) for release in releases for test in _failed(found[release])]
    if failed:
        lines += ["", "## What fails", ""]
        lines += [f"- Spark {release}: `{test}`" for release, test in failed]
    lines += ["", LACKING, "| | lacking on |", "|---|---|"]
    for ability in sorted({a for release in releases for a in found[release]["abilities"]}):
        without = [r for r in releases if not found[r]["abilities"].get(ability, True)]
        lines.append(_row(ability, ", ".join(without) or "none of these"))
    return "\n".join(lines) + "\n"


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _told(of_module: Mapping[str, str]) -> str:
    """What a module's tests did; skipped ones are those of the longer run."""
    counts = Counter(of_module.values())
    if not counts:
        return "not run"
    passed, failed = counts["passed"], counts["failed"]
    return f"{passed} pass, {failed} fail" if failed else f"{passed} pass"


def _failed(of_release: Mapping[str, Any]) -> list[str]:
    return [
        f"{module}::{test}"
        for module, tests in sorted(of_release["outcomes"].items())
        for test, outcome in sorted(tests.items())
        if outcome == "failed"
    ]


if __name__ == "__main__":
    PAGE.write_text(page())
