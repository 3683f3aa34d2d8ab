"""The pure parts of the benchmarks: what they measure is asserted nowhere."""

from __future__ import annotations

import json

from benchmarks.catalog import QUERIES, sections
from benchmarks.figures import (
    Sample,
    beside,
    figure,
    figure_of,
    markdown,
    of_the_same_run,
    ratio,
)
from benchmarks.report import as_json, dag_page, scales_page
from benchmarks.status import number
from benchmarks.trace import Statement


def _samples(*seconds: float, way: str = "refresh") -> list[Sample]:
    return [
        {
            "query": "q01",
            "change": "lineitem 1",
            "way": way,
            "seconds": value,
            "work": {"cpu_seconds": 2 * value},
        }
        for value in seconds
    ]


def test_a_figure_is_the_median_with_the_spread() -> None:
    assert str(figure([3.0, 1.0, 9.0])) == "3.00 (1.00-9.00)"


def test_a_ratio_is_that_of_the_medians_or_none() -> None:
    samples = _samples(1.0, 2.0, 5.0) + _samples(8.0, way="table")
    full, refresh = (figure_of(samples, way=way) for way in ("table", "refresh"))
    assert ratio(full, refresh) == 4
    assert ratio(full, figure_of(samples, way="floor")) is None


def test_a_rebuild_is_compared_with_refreshes_of_its_own_run() -> None:
    """On another day all of it would take longer."""
    fast = [{**s, "run": "fast"} for s in _samples(1.0) + _samples(4.0, way="table")]
    slow = [{**s, "run": "slow"} for s in _samples(2.0) + _samples(8.0, way="table")]
    nation = [{**s, "change": "nation 1"} for s in slow]
    orders = [{**s, "run": "slow", "change": "orders 1"} for s in _samples(3.0)]
    every = fast + nation + orders
    found = of_the_same_run(every, "q01", "lineitem 1", "table")
    assert [s["seconds"] for s in found] == [4.0]
    found = of_the_same_run(every, "q01", "orders 1", "table")
    assert [s["seconds"] for s in found] == [8.0]


def test_earlier_samples_stand_beside_those_of_other_queries_and_changes() -> None:
    earlier = _samples(1.0, 2.0) + [{**s, "query": "q03"} for s in _samples(5.0)]
    order = [("q03", "lineitem 1"), ("q01", "lineitem 1")]
    both = beside(earlier, _samples(7.0), order)
    assert [(s["query"], s["seconds"]) for s in both] == [("q03", 5.0), ("q01", 7.0)]


def test_a_table_shows_ratios_shortly_and_gaps_as_such() -> None:
    rows = [["q01", 1.234, None], ["q03", 123.4, 5]]
    assert markdown(["query", "a", "b"], rows) == (
        "| query | a | b |\n|---|--:|--:|\n| q01 | 1.23 | - |\n| q03 | 123 | 5 |\n"
    )


def test_scales_are_compared_with_the_smallest() -> None:
    page = scales_page({10.0: _samples(3.0), 1.0: _samples(2.0)})
    assert "| SF 10 ÷ SF 1 | CPU |" in page
    assert "| q01, lineitem 1 | 1.50 | 1.50 |" in page


def test_what_one_scale_lacks_is_not_compared() -> None:
    other = [{**sample, "query": "q03"} for sample in _samples(2.0)]
    page = scales_page({10.0: _samples(3.0), 1.0: _samples(2.0) + other})
    assert "q01" in page and "q03" not in page


def test_a_dag_is_told_without_the_ways_that_were_not_measured() -> None:
    samples = [s | {"models": {"lines": 0.5}} for s in _samples(2.0) + _samples(8.0, way="table")]
    page = dag_page(samples)
    assert "| 2.00 (2.00-2.00) | 8.00 (8.00-8.00) | - | - | 4.00 | - | 4.00 | - |" in page
    assert "| lines | 0.50 | 0.50 | - | - |" in page


def test_a_dag_is_told_beside_a_merge_of_one_row_into_each_state_that_was_written() -> None:
    ways = [*_samples(2.0), *_samples(8.0, way="table"), *_samples(1.5, way="one row")]
    samples = [
        {**sample, "models": {"lines": 0.5} | ({} if sample["way"] == "one row" else {"same": 0.1})}
        for sample in ways
    ]
    page = dag_page(samples)
    assert "| 2.00 (2.00-2.00) | 8.00 (8.00-8.00) | - | 1.50 (1.50-1.50) | 4.00 |" in page
    assert "| lines | 0.50 | 0.50 | - | 0.50 |" in page
    assert "| same | 0.10 | 0.10 | - | - |" in page


def test_a_floor_is_cut_at_its_titles() -> None:
    text = "-- create\nselect 1\n\n-- nation: a remark\nmerge\n"
    assert sections(text) == {"create": "select 1", "nation": "merge"}


def test_every_floor_can_be_built_and_checked_and_belongs_to_a_change() -> None:
    for query in QUERIES:
        if query.floor:
            tables = {change.table for change in query.changes}
            assert {"check"} <= query.floor.keys() <= {"create", "check"} | tables


def test_statements_are_told_apart_behind_the_remark_that_dbt_adds() -> None:
    kinds = {
        '/* {"app": "dbt"} */\nMERGE INTO t': "write",
        "create or replace table t as select 1": "write",
        "RESET spark.x": "setting",
        "DESCRIBE HISTORY t": "metadata",
    }
    assert {sql: Statement(sql, 0).kind for sql in kinds} == kinds


def test_a_number_of_spark_is_read_with_its_unit_and_without_its_spread() -> None:
    assert number("1,234") == 1234
    assert number("4.5 KiB") == 4608
    assert number("total (min, med, max (stageId: taskId))\n12 (1, 2, 9 (stage 3.0: task 4))") == 12


def test_the_json_has_a_sample_a_line_and_no_false_precision() -> None:
    text = as_json({"scale": 1.0, "samples": _samples(1.23456)})
    assert json.loads(text)["samples"][0]["work"] == {"cpu_seconds": 2.469}
    assert len(text.splitlines()) == 5
