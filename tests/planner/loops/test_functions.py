"""The models of integration_tests/recursion: the paper's templates, and Ackermann's function."""

from __future__ import annotations

from pathlib import Path

import pytest
from jinja2 import Environment

from tests.planner.lake import Lake

ROOT = Path(__file__).parents[3]


def compiled(model: str) -> str:
    """A model's SQL, with the package's macros."""
    macros = "".join((ROOT / f"macros/loops/{name}.sql").read_text() for name in
                     ("delay", "templates"))  # fmt: skip
    text = (ROOT / f"integration_tests/recursion/models/{model}.sql").read_text()
    return Environment().from_string(macros + text).render().strip()


@pytest.mark.parametrize(
    ("model", "rows"),
    [
        ("arithmetic", {(3, 4, 12), (7, 0, 0), (0, 5, 0), (6, 7, 42)}),
        ("square_root", {(0, 0), (1, 1), (8, 2), (9, 3), (99, 9), (10000, 100)}),
        ("squares", {(0, 2), (1, 6), (5, 42)}),
        ("ackermann", {(8189, 20481, 24584, 4103)}),
    ],
)
def test_models(lake: Lake, model: str, rows: set[tuple[int, ...]]) -> None:
    lake.run("m", compiled(model))
    assert lake.view("m") == dict.fromkeys(rows, 1)
    if model == "ackermann":
        assert lake.looped.rounds + 1 == 40_962
