"""What each test of dbt's suites did when it ran last, kept in `outcomes.json`.

A run by ``make test-conformance`` writes the file; docs/conformance.md is written from it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from dbt.adapters.sparkivm.connection.delta_jar import delta_package
from tests.helpers.outcomes import take

FILE = Path(__file__).with_name("outcomes.json")
PACKAGES = ("dbt-tests-adapter", "dbt-core", "dbt-adapters", "dbt-spark", "pyspark")

Outcomes = dict[str, dict[str, str]]
"""`passed`, `failed` or `skipped` by a class, such as `test_basic.TestEmpty`, and by its test."""


def recorded() -> tuple[dict[str, str], Outcomes]:
    """The versions of the packages that ran, and what the tests did with them."""
    content = json.loads(FILE.read_text()) if FILE.exists() else {}
    return content.get("versions", {}), content.get("outcomes", {})


class Recorder:
    """A plugin of pytest that keeps the outcomes of a run, beside those of tests it did not run."""

    def __init__(self) -> None:
        self._new: Outcomes = {}

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Take the outcome of a phase.

        The file is written after each test, so that a run that is broken off keeps what it did.
        """
        path, *classes, test = report.nodeid.split("::")
        of_class = self._new.setdefault(".".join((Path(path).stem, *classes)), {})
        take(of_class, test, report)
        if report.when == "teardown":
            FILE.write_text(text(merged(recorded(), self._new)))


def merged(
    before: tuple[Mapping[str, str], Mapping[str, Mapping[str, str]]],
    new: Mapping[str, Mapping[str, str]],
) -> tuple[dict[str, str], Outcomes]:
    """The outcomes of a run in place of earlier ones, which other versions make void."""
    versions = {package: version(package) for package in PACKAGES}
    versions["delta"] = delta_package().rpartition(":")[2]
    kept = before[1] if before[0] == versions else {}
    names = kept.keys() | new.keys()
    return versions, {name: {**kept.get(name, {}), **new.get(name, {})} for name in names}


def text(content: tuple[Mapping[str, str], Mapping[str, Mapping[str, str]]]) -> str:
    """The file's content: sorted, so that a run that changes nothing leaves it as it is."""
    versions, outcomes = content
    tree = {"versions": dict(versions), "outcomes": {k: dict(v) for k, v in outcomes.items()}}
    return json.dumps(tree, indent=1, sort_keys=True) + "\n"
