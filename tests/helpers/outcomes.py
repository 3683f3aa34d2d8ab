"""What tests did, as their reports tell it phase by phase."""

from __future__ import annotations

from typing import Any


def take(outcomes: dict[str, str], test: str, report: Any) -> None:
    """Take the outcome of a phase: a failed set-up or clean-up makes a test fail.

    Args:
        outcomes: `passed`, `failed` or `skipped` by test; changed in place.
        test: The test's name there.
        report: Pytest's.
    """
    tells = report.outcome != "passed" or report.when == "call"
    if tells and outcomes.get(test) != "failed":
        outcomes[test] = report.outcome
