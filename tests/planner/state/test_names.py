"""Output columns that are named like those of a change feed, or like Delta's own in a MERGE."""

from __future__ import annotations

import re

import pytest

from python_ivm.refresh.options import Options
from python_ivm.refresh.plan import Strategy
from python_ivm.refresh.statement import StatementKind
from tests.planner.lake import Lake, bag
from tests.planner.stories import View

FEED = ("_change_type", "_commit_version", "_commit_timestamp")
QUERIES = {
    "rows": "select k as _change_type, v as _commit_version from s.x",
    "any_case": "select k as _Change_Type, v as `_COMMIT_VERSION` from s.x",
    "distinct": "select distinct v as _commit_timestamp from s.x",
    "groups": "select k as _commit_version, count(*) as n from s.x group by k",
    "group_and_aggregates": "select k as _change_type, sum(v) as _commit_version, "
    "max(v) as _commit_timestamp from s.x group by k",
    "average": "select k, avg(v) as _commit_version, count(v) as _change_type from s.x group by k",
    "any_aggregate": "select k, count(distinct v) as _change_type from s.x group by k",
    "one_row": "select sum(v) as _change_type from s.x",
    "above_groups": "select k, sum(v) + 1 as _change_type from s.x group by k",
    "ordered": "select k as _change_type, v from s.x order by v desc, k limit 3",
    "ordered_by_hidden": "select k as _change_type from s.x order by v + 1, k limit 3",
    "window": "select k, row_number() over (partition by k order by v) as _commit_version from s.x",
    "inside": "select q._change_type + 1 as n, count(*) as c from (select k as _change_type, "
    "max(v) as _commit_version from s.x group by k) q where q._commit_version > 1 group by 1",
    "left_join": "select a.k as _change_type, b.k as _commit_version from s.x a left join s.x b "
    "on a.k = b.v",
    "deltas_own": "select k as __is_cdc, v as _file_name_, k + v as _source_row_present_ from s.x",
}


@pytest.fixture
def x(lake: Lake) -> Lake:
    lake.create("x", {"k": "int", "v": "int"}, [(1, 2), (1, 2), (2, 5), (3, None)])
    return lake


def change(lake: Lake) -> None:
    lake.change("x", delete=[(1, 2), (2, 5)], insert=[(1, 7), (4, 1), (5, 3), (5, 3)])


@pytest.mark.parametrize("name", QUERIES)
def test_they_are_stored_under_another_name(x: Lake, name: str) -> None:
    view = View(x, QUERIES[name])
    wanted = re.findall(r"as `?(_\w+)", view.sql.split(" from ")[0])
    shown = [column for column, _ in x.describe("select * from s.m")]
    assert [column for column in shown if column.startswith("_")] == wanted
    stored = {column.lower() for column in x.types["m__ivm_state"]}
    assert not stored & {*FEED, "__is_cdc", "_file_name_", "_source_row_present_"}
    for _ in range(2):
        change(x)
        view.refresh()


def test_a_model_above_reads_the_column_by_its_name(x: Lake) -> None:
    below = QUERIES["group_and_aggregates"]
    x.run("b", below)
    view = View(x, "select _Commit_Version as t, _change_type from s.b where _commit_timestamp > 1")
    change(x)
    x.run("b", below)
    assert view.refresh().reason == "CHANGED"
    view.shows((9, 1), (6, 5))


def test_a_table_that_can_have_no_feed_is_recomputed(x: Lake) -> None:
    x.size_of = lambda table: 1000
    x.create("y", {"k": "int", "_Commit_Version": "int"}, [(1, 2)])
    allowed = Options(enable_change_feed=True)
    sql = "select k, _commit_version as version from s.y"
    first = x.run("m", sql, options=allowed)
    assert first.warning is not None
    assert "s.y has a column named _Commit_Version" in first.warning
    x.change("y", insert=[(2, 3)])
    refresh = x.run("m", sql, options=allowed)
    assert (refresh.strategy, refresh.reason) == (Strategy.RECOMPUTE, "CHANGE_FEED_OFF")
    assert "rename the column" in refresh.explanation
    (merge,) = (s for s in refresh.statements if s.kind is StatementKind.MERGE)
    assert "TABLE_CHANGES" not in merge.sql
    assert x.view("m") == bag([(1, 2), (2, 3)])
