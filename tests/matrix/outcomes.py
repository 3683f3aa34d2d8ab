"""What each test of the matrix did on each Spark when it ran last, kept in `outcomes.json`.

A run by ``make test-matrix`` writes the file; docs/versions.md is written from it.
"""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from dbt.adapters.sparkivm.connection.delta_jar import delta_package
from tests.helpers.outcomes import take

FILE = Path(__file__).with_name("outcomes.json")

Outcomes = dict[str, dict[str, str]]
"""`passed`, `failed` or `skipped` by a module's path and by its test."""


def recorded() -> dict[str, dict[str, Any]]:
    """By Spark's release: `versions` of Spark and Delta, `abilities`, `outcomes` of the tests."""
    return json.loads(FILE.read_text()) if FILE.exists() else {}


class Recorder:
    """A plugin of pytest that keeps the outcomes of a run; other versions void earlier ones."""

    def __init__(self) -> None:
        self._new: Outcomes = {}
        self._abilities: dict[str, bool] = {}

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Take the outcome of a phase, and what it found of the engine's abilities."""
        path, _, test = report.nodeid.partition("::")
        take(self._new.setdefault(path, {}), test, report)
        self._abilities |= dict(report.user_properties)

    def pytest_sessionfinish(self) -> None:
        """Write the file: tests that ran in place of what they did before."""
        spark = version("pyspark")
        versions = {"spark": spark, "delta": delta_package().rpartition(":")[2]}
        everything = recorded()
        release = ".".join(spark.split(".")[:2])
        before = everything.get(release, {})
        kept = before.get("outcomes", {}) if before.get("versions") == versions else {}
        ran = {path: {**kept.get(path, {}), **of} for path, of in self._new.items() if of}
        known = {**before.get("abilities", {}), **self._abilities}
        everything[release] = {
            "versions": versions,
            "abilities": known,
            "outcomes": {**kept, **ran},
        }
        FILE.write_text(json.dumps(everything, indent=1, sort_keys=True) + "\n")


def pytest_configure(config: pytest.Config) -> None:
    """Record; called where this module is loaded as a plugin."""
    config.pluginmanager.register(Recorder())
