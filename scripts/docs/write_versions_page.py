"""Writes the tables of `docs/versions.md` from what the tests did on each Spark (`make docs`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from scripts.docs import DOCS
from scripts.docs.marked_blocks import filled
from tests.matrix import outcomes
from tests.matrix.suite import SUITE

PAGE = DOCS / "versions.md"


def page(text: str) -> str:
    """The page's text with what the tests did."""
    return filled(text, {"tests": tests(), "lacking": lacking()}.__getitem__)


def tests() -> str:
    """How many tests of each module passed on each release, and which failed."""
    found = outcomes.recorded()
    releases = sorted(found)
    lines = [_row("tests", *(f"Spark {release}" for release in releases))]
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
    return "\n".join(lines)


def lacking() -> str:
    """Which releases lack an ability that some test needs."""
    found = outcomes.recorded()
    releases = sorted(found)
    lines = ["| | lacking on |", "|---|---|"]
    for ability in sorted({a for release in releases for a in found[release]["abilities"]}):
        without = [r for r in releases if not found[r]["abilities"].get(ability, True)]
        lines.append(_row(ability, ", ".join(without) or "none of these"))
    return "\n".join(lines)


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
    PAGE.write_text(page(PAGE.read_text()))
