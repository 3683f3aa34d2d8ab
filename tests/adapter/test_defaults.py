"""The file format and the properties of tables that dbt creates, where the user is silent."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from dbt.adapters.base.column import Column
from dbt.artifacts.resources import NodeConfig, SeedConfig
from dbt.context.providers import RuntimeConfigObject

from dbt.adapters.sparkivm.impl import SparkIvmAdapter
from dbt.adapters.sparkivm.tables.defaults import give_file_format, properties

FEED = {"delta.enableChangeDataFeed": "true"}


def config(kind: Any = NodeConfig, **given: Any) -> RuntimeConfigObject:
    """What a materialization asks for its config."""
    # Of a kind whose names nobody checks: it has none.
    node = SimpleNamespace(config=kind.from_dict(given), resource_type="analysis")
    return RuntimeConfigObject(node)


@pytest.mark.parametrize("kind", [NodeConfig, SeedConfig])
def test_a_node_without_a_format_gets_the_default(kind: Any) -> None:
    asked = config(kind)
    node = asked.model
    give_file_format(asked, "delta")
    assert asked.get("file_format") == "delta"
    assert asked.get("file_format", default="parquet") == "delta"
    assert asked.require("file_format") == "delta"
    assert node.config.get("file_format") is None  # what artifacts are written from


def test_the_users_format_wins() -> None:
    asked = config(file_format="parquet")
    give_file_format(asked, "delta")
    assert asked.get("file_format") == "parquet"


def test_a_table_in_buckets_is_none_of_deltas() -> None:
    asked = config(clustered_by=["id"], buckets=4)
    give_file_format(asked, "delta")
    assert asked.get("file_format") is None
    asked = config(clustered_by=["id"])
    give_file_format(asked, "delta")
    assert asked.get("file_format") == "delta"


@pytest.mark.parametrize(
    ("parameters", "file_format"), [({}, "delta"), ({"spark.sql.sources.default": "orc"}, "orc")]
)
def test_the_adapters_hook_takes_the_default_from_the_profile(
    parameters: dict[str, str], file_format: str
) -> None:
    adapter = SparkIvmAdapter.__new__(SparkIvmAdapter)
    credentials = SimpleNamespace(server_side_parameters=parameters)
    adapter.config = SimpleNamespace(credentials=credentials)  # type: ignore[assignment]
    asked = config()
    adapter.pre_model_hook(asked)  # type: ignore[arg-type]
    assert asked.get("file_format") == file_format


def test_a_change_feed_only_where_it_is_read() -> None:
    assert properties("delta", {}, [], is_read=True) == FEED
    assert properties("delta", {}, [], is_read=False) == {}
    assert properties("parquet", {"a": 1}, [], is_read=True) == {"a": "1"}


def test_the_users_properties_win_whatever_their_case() -> None:
    given = {"DELTA.enablechangedatafeed": False, "note": "x"}
    told = properties("delta", given, [], is_read=True)
    assert told == {"DELTA.enablechangedatafeed": "false", "note": "x"}


def test_columns_of_a_change_feed_leave_no_room_for_one() -> None:
    columns = [Column("id", "int"), Column("_Change_Type", "string")]
    assert properties("delta", {}, columns, is_read=True) == {}


@pytest.mark.parametrize(
    ("name", "dtype", "odd"),
    [
        ("first name", "string", True),
        ("a=b", "string", True),
        ("n(1)", "string", True),
        ("Zürich.x-`y`", "decimal(10,2)", False),
        ("s", "struct<two words:int>", True),
        ("s", "array<struct<a:decimal(10,2),b:map<string,int>>>", False),
        ("s", "interval year to month", False),
    ],
)
def test_odd_names_get_a_column_mapping(name: str, dtype: str, odd: bool) -> None:
    mapping = {"delta.columnMapping.mode": "name"} if odd else {}
    columns = [Column(name, dtype)]
    assert properties("delta", {}, columns, is_read=True) == {**FEED, **mapping}
    # Delta refuses both in a statement that takes the rows from a query.
    told = properties("delta", {}, columns, is_read=True, from_query=True)
    assert told == (mapping or FEED)
