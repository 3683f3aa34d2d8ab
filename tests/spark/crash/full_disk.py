"""dbt on a disk that is full; run as a process of its own by `test_full_disk.py`.

python -m tests.spark.crash.full_disk FOLDER CASE
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.conftest import QUICK, QUICK_JVM
from tests.helpers.dbt_project import DbtProject, DbtResult
from tests.spark.crash.small_disk import SmallDisk
from tests.spark.workbench import FEED

KINDS = ("refresh", "first build", "rebuild")
QUERY = "select k % 5000 as k, count(*) as n, sum(v) as s from {schema}.r group by 1"
RIDDLES = re.compile(r"\bat \S+\(\S+:\d+\)|Exception|Caused by|Suppressed|o\d+\.sql")


def project(folder: Path, **settings: str) -> DbtProject:
    """A project with a source, and a view of it."""
    root = folder / "project"
    root.mkdir(parents=True, exist_ok=True)
    options = {"spark.master": "local[2]", "spark.driver.extraJavaOptions": QUICK_JVM, **QUICK}
    made = DbtProject(root, "full", {**options, **settings})
    query = QUERY.format(schema=made.schema)
    return made.models(m="{{ config(materialized='incremental_ivm') }} " + query)


def fill(lake: DbtProject) -> None:
    """The source, and the view's first build."""
    lake.sql(f"create table r (k int, v int) using delta {FEED}")
    lake.sql("insert into r select id, id from range(20000)")
    lake.run()


def rows(lake: DbtProject) -> Counter[tuple[object, ...]] | None:
    """What a reader sees; None without a view."""
    if not lake.session.catalog.tableExists(f"{lake.schema}.m"):
        return None
    return Counter(map(tuple, lake.sql("select * from m")))


def clear(told: str) -> None:
    """Fail unless a person understands what dbt says of a full disk."""
    assert "The disk is full" in told and "make room" in told.lower(), told
    assert not RIDDLES.search(told), told


def mended(lake: DbtProject, told: str) -> None:
    """Fail unless a plain run makes all right, and leaves nothing behind."""
    lake.run()
    assert rows(lake) == Counter(map(tuple, lake.sql(QUERY.format(schema=lake.schema)))), told
    assert lake.run().response("m")["strategy"] == "noop", told
    found = lake.session.sql(f"show tables in {lake.schema}").collect()
    names = {row["tableName"] for row in found}
    assert names == {"r", "m", "m__ivm_state"}, told


def run(lake: DbtProject, kind: str) -> DbtResult:
    """A run of one kind."""
    return lake.dbt("run", *(["--full-refresh"] if kind == "rebuild" else []))


def trials(lake: DbtProject, disk: SmallDisk, amounts: tuple[int, ...]) -> None:
    """Runs of each kind with so many kilobytes left, of which some may do."""
    for kind in KINDS:
        for kilobytes in amounts:
            lake.sql("insert into r select id, 1 from range(5000)")
            if kind == "first build":
                lake.sql("drop view m")
                lake.sql("drop table m__ivm_state")
            before = rows(lake)
            disk.leave(kilobytes)
            result = run(lake, kind)
            told = f"{kind}, {kilobytes} KB left: {result.log}"
            assert kilobytes or not result.success, told
            if not result.success:
                clear(result.message("m"))
                assert "m: nothing is half-written" in result.message("m"), told
                assert rows(lake) == before, told
            disk.free()
            mended(lake, told)


def warehouse(folder: Path) -> None:
    """The tables are on the full disk."""
    disk = SmallDisk(folder / "disk").mount(32)
    where = (disk.folder / "warehouse").as_uri()
    lake = project(folder, **{"spark.sql.warehouse.dir": where})
    fill(lake)
    trials(lake, disk, (0, 16, 64))


def temporary(folder: Path) -> None:
    """Spark's temporary files are, such as what a shuffle writes; its start copies JARs there."""
    disk = SmallDisk(folder / "disk").mount(192)
    settings = {"spark.local.dir": str(disk.folder), "spark.sql.shuffle.partitions": "2"}
    lake = project(folder, **settings)
    fill(lake)
    trials(lake, disk, (0, 64))


def metastore(folder: Path) -> None:
    """All is that Spark keeps for a project, and each run a process of its own, as a user's."""
    disk = SmallDisk(local(folder)).mount(64)
    for step in ("build", "fail", "mend"):
        if step == "fail":
            disk.leave(64)
        command = [sys.executable, "-m", __spec__.name, str(folder), step]
        subprocess.run(command, check=True)
        disk.free()


def local(folder: Path) -> Path:
    """Where Spark keeps its tables, its metastore and its log unless the profile says otherwise."""
    return folder / "project" / ".sparkivm"


def build(folder: Path) -> None:
    """The first process: its disk runs full, and has room again."""
    lake = project(folder)
    fill(lake)
    trials(lake, SmallDisk(local(folder)), (0, 64))
    lake.sql("insert into r select id, 1 from range(5000)")


def fail(folder: Path) -> None:
    """The second one, on a full disk."""
    result = project(folder).dbt("run")
    assert not result.success, result.log
    clear(f"{result.exception} {result.log}")


def mend(folder: Path) -> None:
    """The third one, with room again."""
    mended(project(folder), "after the metastore's disk was full")


CASES: dict[str, Callable[[Path], None]] = {
    case.__name__: case for case in (warehouse, temporary, metastore, build, fail, mend)
}

if __name__ == "__main__":
    CASES[sys.argv[2]](Path(sys.argv[1]))
