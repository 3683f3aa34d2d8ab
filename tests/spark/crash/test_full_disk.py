"""A full disk: the run says so, readers see old rows, and with room a plain run is right."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spark.crash.small_disk import with_small_disk

pytestmark = [pytest.mark.spark, pytest.mark.thorough]


@pytest.mark.parametrize("what", ["warehouse", "temporary", "metastore"])
def test_a_full_disk(tmp_path: Path, what: str) -> None:
    with_small_disk("tests.spark.crash.full_disk", str(tmp_path), what)
