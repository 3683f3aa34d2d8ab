"""Fixtures of the tests of loops."""

from __future__ import annotations

import pytest

from tests.planner.lake import Lake
from tests.planner.loops.tables import Table


@pytest.fixture
def looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark's answers can be asked."""
    monkeypatch.setattr(Lake, "given", staticmethod(Table))
