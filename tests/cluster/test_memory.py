"""A row for which no executor has the memory."""

from __future__ import annotations

import pytest
from dbt_common.exceptions import DbtRuntimeError

from tests.spark.conftest import bench as bench
from tests.spark.workbench import FEED, Bench

TOO_LONG = 1_500_000_000  # bytes: an executor has 800 MB


def test_a_row_too_large_fails_the_refresh_until_it_is_mended(bench: Bench) -> None:
    bench.sql(
        f"create table r using delta {FEED} as select id % 10 as k, id, 3 as n from range(1000)"
    )
    view = bench.view("select k, count(*) as c, sum(length(repeat('x', n))) as s from r group by k")
    before, commits = view.rows(), bench.history(view.state)

    bench.sql(f"update r set n = case id when 7 then {TOO_LONG} else 4 end where k = 7")
    with pytest.raises(DbtRuntimeError, match=r"OutOfMemoryError|exited with code 52") as failed:
        view.run()
    assert "at org.apache" not in str(failed.value)
    assert view.rows() == before
    assert bench.history(view.state) == commits

    bench.sql("update r set n = 5 where id = 7")
    # The change feed shows what the row was meanwhile.
    assert view.refresh(None).refresh.reason == "OUT_OF_MEMORY"
    bench.sql("delete from r where id = 17")
    view.refresh("incremental")
    view.refresh("noop")
