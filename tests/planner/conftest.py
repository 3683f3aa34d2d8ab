"""Fixtures and the number of random cases of the planner's tests. Nothing here needs Spark."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, settings

from tests.planner.lake import Lake
from tests.planner.optimize.checked import check_after_each_pass

DEFAULT_EXAMPLES = 70


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--ivm-examples",
        type=int,
        default=None,
        help="run this many random models instead of the default run's fixed ones",
    )


def pytest_configure(config: pytest.Config) -> None:
    """The default run always has the same cases; with the option they are new ones each time."""
    wanted = config.getoption("ivm_examples", default=None)
    settings.register_profile(
        "ivm",
        max_examples=wanted or DEFAULT_EXAMPLES,
        derandomize=wanted is None,
        # To shrink a failure takes minutes: only where new ones are looked for.
        phases=[Phase.generate] if wanted is None else [Phase.generate, Phase.shrink],
        database=None,
        deadline=None,
        print_blob=wanted is not None,
        suppress_health_check=list(HealthCheck),
    )
    settings.load_profile("ivm")


@pytest.fixture(autouse=True)
def passes_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """After each pass of the optimizer what must be true of a plan is checked."""
    check_after_each_pass(monkeypatch)


@pytest.fixture
def lake() -> Lake:
    """An empty lake."""
    return Lake()
