"""The project integration_tests/recursion through dbt: templates, and Ackermann's function."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.dbt_project import DbtProject

pytestmark = pytest.mark.spark

MODELS = Path(__file__).parents[2] / "integration_tests/recursion/models"


@pytest.mark.thorough
def test_what_the_paper_shows(project: DbtProject) -> None:
    own = "{{ config(materialized='incremental_ivm') }}\n"
    project.models(**{path.stem: own + path.read_text() for path in MODELS.glob("*.sql")})
    result = project.run()
    assert set(result.statuses.values()) == {"success"}, result.statuses
    shown = {
        name: sorted(tuple(row) for row in project.sql(f"select * from {project.schema}.{name}"))
        for name in ("arithmetic", "square_root", "squares", "ackermann")
    }
    assert shown["arithmetic"] == [(0, 5, 0), (3, 4, 12), (6, 7, 42), (7, 0, 0)]
    assert shown["square_root"] == [(0, 0), (1, 1), (8, 2), (9, 3), (99, 9), (10000, 100)]
    assert shown["squares"] == [(0, 2), (1, 6), (5, 42)]
    assert shown["ackermann"] == [(8189, 20481, 24584, 4103)]
    assert "40,962 rounds" in result.message("ackermann")
