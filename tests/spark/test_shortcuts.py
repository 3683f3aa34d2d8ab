"""What a session tells of tables without a statement is what Spark's statements tell."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from dbt.adapters.sparkivm.bridge.shortcuts import SessionShortcuts
from dbt.adapters.sparkivm.bridge.warehouse import SparkWarehouse
from tests.spark.workbench import Bench

MANY = ", ".join(f"f{n}: int" for n in range(30))
TABLES = {
    "many": (f"k int, s struct<{MANY}>, m map<string, array<struct<z: date>>>", ""),
    "times": (
        "t timestamp, u timestamp_ntz, d date, n decimal(9, 2), b binary, f float, y tinyint",
        "",
    ),
    "parted": ("k int, p string", "partitioned by (p)"),
}


def by_statements(bench: Bench, name: str) -> Mapping[str, str] | None:
    return SparkWarehouse(bench.query).columns((bench.schema, name))


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("format_", ["delta", pytest.param("parquet", marks=pytest.mark.thorough)])
def test_columns_of_tables_and_views(bench: Bench, name: str, format_: str) -> None:
    columns, partitions = TABLES[name]
    bench.sql(f"create table {name} ({columns}) using {format_} {partitions}")
    bench.sql(f"create view over as select *, interval '1' day as i, null as v from {name}")
    for relation in (name, "over"):
        told = SessionShortcuts(bench.handle).columns((bench.schema, relation))
        assert told == by_statements(bench, relation)
        assert told


def test_what_only_a_statement_can_tell(bench: Bench) -> None:
    """The type that Spark shows as string, and a view that cannot be read."""
    bench.sql(
        "create table chars (k int, c char(3), w varchar(2)) using parquet",
        "create table gone (k int) using delta",
        "create view broken as select k from gone",
        "drop table gone",
    )
    shortcuts = SessionShortcuts(bench.handle)
    for name in ("chars", "broken", "missing"):
        assert shortcuts.columns((bench.schema, name)) is None
    assert by_statements(bench, "chars") == {"k": "int", "c": "char(3)", "w": "varchar(2)"}
    assert by_statements(bench, "broken") == {"k": "int"}
    assert by_statements(bench, "missing") is None
