"""What dbt's configs of a maintained model mean to it."""

from __future__ import annotations

from typing import Any

import pytest

from dbt.adapters.sparkivm.configs.header import setting_of
from dbt.adapters.sparkivm.configs.maintained import storage_of, without_meaning, without_meaning_in
from python_ivm.errors import InvalidModel
from python_ivm.parse.parser import split_statements


def model(*constraints: dict[str, Any], enforced: bool = True, **columns: Any) -> dict[str, Any]:
    """A node with constraints of its own, and of its columns."""
    return {
        "config": {"contract": {"enforced": enforced}, "liquid_clustered_by": "k"},
        "constraints": list(constraints),
        "columns": {name: {"name": name, "constraints": told} for name, told in columns.items()},
    }


def test_constraints_of_a_row_are_checks() -> None:
    storage = storage_of(
        model(
            {"type": "check", "expression": "v > k"},
            {"type": "check", "name": "Low V", "expression": "v < 9"},
            {"type": "not_null", "columns": ["k", "v"]},
            k=[{"type": "not_null"}],
            v=[{"type": "check", "expression": "v > 0"}, {"type": "check", "expression": "v < 8"}],
        )
    )
    assert storage.cluster_by == ("k",)
    assert storage.checks == {
        "not_null_k": "`k` IS NOT NULL",
        "check_v": "v > 0",
        "check_v_2": "v < 8",
        "check": "v > k",
        "low_v": "v < 9",
        "not_null_k_v": "`k` IS NOT NULL AND `v` IS NOT NULL",
    }
    assert storage.unchecked == {}


def test_other_constraints_are_told_unless_dbt_is_not_to_warn() -> None:
    storage = storage_of(
        model(
            {"type": "primary_key", "columns": ["k"]},
            {"type": "foreign_key", "columns": ["v"], "warn_unenforced": False},
            k=[{"type": "unique"}],
        )
    )
    assert storage.checks == {}
    assert set(storage.unchecked) == {"primary_key_k", "unique_k"}


def test_a_contract_that_is_not_enforced_checks_nothing() -> None:
    assert not storage_of(model(enforced=False, k=[{"type": "not_null"}])).checks


def test_names_of_the_states_own_constraints_are_reserved() -> None:
    with pytest.raises(InvalidModel, match="A constraint is named ivm_count"):
        storage_of(model({"type": "check", "name": "IVM_count", "expression": "k > 0"}))


@pytest.mark.parametrize(
    ("config", "names"),
    [
        ({"unique_key": "k", "on_schema_change": "ignore", "file_format": "delta"}, ["unique_key"]),
        (
            {"on_schema_change": "fail", "file_format": "parquet"},
            ["file_format", "on_schema_change"],
        ),
        ({"merge_update_columns": ["a"], "merge_exclude_columns": None}, ["merge_update_columns"]),
        ({"incremental_strategy": "merge", "incremental_predicates": []}, ["incremental_strategy"]),
        ({"clustered_by": "k"}, ["clustered_by"]),
        ({"clustered_by": "k", "buckets": 3, "partition_by": "k", "sql_header": "x"}, []),
    ],
)
def test_configs_that_say_nothing_to_a_maintained_model(
    config: dict[str, Any], names: list[str]
) -> None:
    assert without_meaning(config) == names


def test_the_warning_names_configs_and_some_of_their_models() -> None:
    def node(name: str, materialized: str = "incremental_ivm", **config: Any) -> dict[str, Any]:
        config["materialized"] = materialized
        return {"resource_type": "model", "name": name, "config": config}

    nodes = [node(name, unique_key="k") for name in "abcd"]
    nodes += [node("e", options={"a": "b"}), node("f", "incremental", unique_key="k"), node("g")]
    told = without_meaning_in({"nodes": dict(enumerate(nodes))})
    assert told is not None
    assert "options of e; unique_key of a, b, c and 1 more. Remove them." in told
    assert without_meaning_in({"nodes": {"g": node("g")}}) is None


def test_a_header_is_several_statements() -> None:
    text = "set a.b = ';'; -- one; two\n create temporary function f as 'x' ;\n"
    assert split_statements(text) == [
        "set a.b = ';'",
        "-- one; two\n create temporary function f as 'x'",
    ]
    assert split_statements("select 1") == ["select 1"]
    assert split_statements(" ; ") == []


@pytest.mark.parametrize(
    ("statement", "key"),
    [
        ("set spark.sql.ansi.enabled = true", "spark.sql.ansi.enabled"),
        ("SET `a.b`=1", "a.b"),
        (" set time zone 'UTC'", "spark.sql.session.timeZone"),
        ("set spark.sql.ansi.enabled", None),
        ("settle x = 1", None),
    ],
)
def test_what_a_statement_sets(statement: str, key: str | None) -> None:
    assert setting_of(statement) == key
