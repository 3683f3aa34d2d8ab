"""Tasks that fail: retried ones count no row twice, and files that cannot be read are named."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from dbt_common.exceptions import DbtRuntimeError

from tests.spark.crash.small_disk import own_process
from tests.spark.workbench import Bench, View

pytestmark = [pytest.mark.spark, pytest.mark.thorough]

SUMS = "select k, count(*) as n, sum(v) as s from r group by k"
ROWS = "select k, v + 1 as v from r"


def test_tasks_that_succeed_when_retried(tmp_path: Path) -> None:
    own_process("tests.spark.crash.retried", str(tmp_path))


def truncated(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:100])


def broken(bench: Bench, table: str, breaks: Callable[[Path], None], kept: Path) -> Path:
    """Break a table's newest file of data; a copy of it and of its checksum stays in `kept`."""
    location = bench.query(f"describe detail {table}")[0]["location"]
    files = Path(unquote(urlsplit(location).path)).glob("part-*.parquet")
    file = max(files, key=lambda found: found.stat().st_mtime_ns)
    checksum = file.with_name(f".{file.name}.crc")
    kept.mkdir(exist_ok=True)
    shutil.copy2(file, kept)
    shutil.copy2(checksum, kept)
    breaks(file)
    checksum.unlink()
    return file


def put_back(file: Path, kept: Path) -> None:
    for copy in kept.iterdir():
        shutil.move(copy, file.with_name(copy.name))


@pytest.mark.parametrize("breaks", [Path.unlink, truncated], ids=["gone", "broken"])
@pytest.mark.parametrize("sql", [SUMS, ROWS], ids=["sums", "rows"])
def test_a_file_of_a_source_that_cannot_be_read(
    bench: Bench, tmp_path: Path, sql: str, breaks: Callable[[Path], None]
) -> None:
    bench.table("r", "k int, v int", "(1, 10)", "(2, 20)")
    view = View(bench, "m", sql)
    view.refresh("full")
    for changes in ({}, {"full_refresh": True}):
        bench.sql("insert into r values (1, 5), (1, 5)")
        before, commits = view.rows(), len(bench.history(view.state))
        file = broken(bench, "r", breaks, tmp_path / "kept")
        with pytest.raises(DbtRuntimeError) as failed:
            view.run(**changes)
        told = failed.value.msg
        assert told.startswith(f"m: a file of {bench.schema}.r cannot be read. Nothing was"), told
        assert "bring the file back" in told and file.name in told, told
        assert "\tat " not in told, told
        assert (view.rows(), len(bench.history(view.state))) == (before, commits)
        put_back(file, tmp_path / "kept")
        view.refresh(None)
        view.refresh("noop")
        tables = {row["tableName"] for row in bench.query(f"show tables in {bench.schema}")}
        assert tables == {"r", "m", "m__ivm_state"}


def test_a_file_of_a_state_that_cannot_be_read(bench: Bench, tmp_path: Path) -> None:
    bench.table("r", "k int, v int", "(1, 10)", "(2, 20)")
    view = View(bench, "m", SUMS)
    view.refresh("full")
    bench.sql("insert into r values (1, 5)")
    broken(bench, view.state, truncated, tmp_path / "kept")
    with pytest.raises(DbtRuntimeError, match="m: a file of the state cannot be read") as failed:
        view.run()
    assert "rebuild it by --full-refresh" in failed.value.msg
    view.refresh("full", full_refresh=True)
    view.refresh("noop")
