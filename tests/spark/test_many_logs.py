"""What many logs tell at once is what each table tells by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbt.adapters.sparkivm.bridge.delta_log import DeltaLogs
from dbt.adapters.sparkivm.bridge.warehouse import SparkWarehouse
from dbt.adapters.sparkivm.prefetched.many_logs import ManyLogs, _commits, location
from tests.spark.workbench import Bench


def located(bench: Bench, *names: str) -> dict[tuple[str, str], str]:
    return {
        (bench.schema, name): str(bench.sql(f"describe detail `{name}`")[0].location)
        for name in names
    }


def test_they_tell_what_each_table_tells_by_itself(bench: Bench, tmp_path: Path) -> None:
    bench.table("a", "k int, v string", "(1, 'one')", "(2, 'two')")
    bench.sql("update a set v = 'uno' where k = 1", "delete from a where k = 2", "optimize a")
    bench.view("select k, count(*) as n from a group by k")
    place = tmp_path / "an odd place%"
    bench.sql(
        f"create table b using delta location '{place}' as select 1 as one",
        "alter table b set tblproperties (delta.enableChangeDataFeed = true)",
        *(f"insert into b values ({n})" for n in range(3)),
        "alter table a set tblproperties (delta.enableDeletionVectors = true)",
        "create table timed (k int) using delta "
        "tblproperties (delta.enableInCommitTimestamps = true)",
        "insert into timed values (1)",
    )
    names = ("a", "b", "m1__ivm_state", "timed")
    many = ManyLogs(bench.handle, located(bench, *names))
    told = SparkWarehouse(bench.query, many)
    alone = SparkWarehouse(bench.query)
    for name in names:
        parts = (bench.schema, name)
        for limit in (1, 3, None):
            # Each may tell more commits than it is asked for.
            ours, theirs = told.history(parts, limit), alone.history(parts, limit)
            assert ours is not None and theirs is not None
            assert ours[:limit] == theirs[:limit], (name, limit)
            assert len(theirs) >= min(limit or len(ours), len(ours)), (name, limit)
        one, other = told.detail(parts), alone.detail(parts)
        assert one is not None and other is not None
        assert (one.modified, one.bytes, one.files) == (other.modified, other.bytes, other.files)
        assert one.marks_rows == other.marks_rows == (name == "a")
        assert many.files(parts) == (
            None if name == "timed" else DeltaLogs(bench.handle).files(parts)
        ), name
    assert many.history((bench.schema, "a"), 3) is not None, "it is told by the logs"
    assert many.history((bench.schema, "timed"), 1) is None, "it is left to SQL"
    assert many.history((bench.schema, "c"), 1) is None
    assert many.history(("spark_catalog", bench.schema, "a"), 1) == many.history(
        (bench.schema, "a"), 1
    )


def test_where_one_cannot_be_read_all_are_left_to_sql(bench: Bench, tmp_path: Path) -> None:
    bench.table("a", "k int", "(1)")
    found = located(bench, "a") | {(bench.schema, "gone"): str(tmp_path / "gone")}
    assert ManyLogs(bench.handle, found).history((bench.schema, "a"), 1) is None


def test_a_commit_that_tells_nothing_of_itself_is_left_to_sql(bench: Bench) -> None:
    """The commit before it passed for the newest, so that the model had nothing to do."""
    bench.table("a", "k int", "(1)")
    bench.table("b", "k int", "(1)")
    found = located(bench, "a", "b")
    log = Path(found[bench.schema, "a"].removeprefix("file:")) / "_delta_log"
    newest = max(log.glob("*.json"))
    lines = [line for line in newest.read_text().splitlines() if "commitInfo" not in line]
    (log / f"{int(newest.stem) + 1:020}.json").write_text("\n".join(lines[-1:]) + "\n")
    many = ManyLogs(bench.handle, found)
    assert many.history((bench.schema, "a"), 1) is None
    assert many.history((bench.schema, "b"), 1) is not None


def test_what_is_out_of_the_ordinary_is_left_to_sql() -> None:
    def rows(*versions: tuple[int, int]) -> list[dict[str, object]]:
        return [
            {"path": f"file:///t/_delta_log/{v:020}.json", "modified": time,
             "value": '{"commitInfo":{"operation":"WRITE"}}'}
            for v, time in versions
        ]  # fmt: skip

    folders = {"/t/_delta_log": ("s", "t")}
    told = _commits(rows((3, 30), (2, 20), (0, 5)), folders)["s", "t"]
    assert [c["version"] for c in told.commits] == [3, 2] and not told.odd
    assert _commits(rows((1, 30), (0, 30)), folders)["s", "t"].odd, "one time for two"
    assert location("Type: MANAGED\nLocation: file:/x/y z\nProvider: delta") == "file:/x/y z"
    assert location("Type: VIEW") is None


@pytest.mark.parametrize("parts", [("a",), ("other", "s", "a")])
def test_names_of_other_catalogs_are_not_theirs(parts: tuple[str, ...]) -> None:
    assert ManyLogs(None, {("s", "a"): "/x"}).history(parts, 1) is None  # type: ignore[arg-type]
