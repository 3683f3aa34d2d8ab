"""Which profiles are complete, and what becomes of their settings."""

from __future__ import annotations

from typing import Any

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.sparkivm import SparkIvmCredentials


def credentials(**profile: Any) -> SparkIvmCredentials:
    """What dbt does with a target of a profile."""
    SparkIvmCredentials.validate(profile)
    return SparkIvmCredentials.from_dict(profile)


def test_a_schema_is_enough() -> None:
    made = credentials(schema="x")
    assert (made.type, made.method, made.schema) == ("sparkivm", "session", "x")
    assert made.master == "local[*]"
    assert made.host is None


def test_a_schema_is_needed() -> None:
    with pytest.raises(DbtRuntimeError, match="schema"):
        credentials(method="session")


def test_a_cluster_is_the_master() -> None:
    assert credentials(schema="x", master="spark://host:7077").master == "spark://host:7077"


def test_sparks_own_name_for_the_master_works_too() -> None:
    made = credentials(schema="x", server_side_parameters={"spark.master": "local[3]"})
    assert made.master == "local[3]"


@pytest.mark.parametrize("method", ["thrift", "http", "odbc"])
def test_other_methods_still_need_a_host(method: str) -> None:
    with pytest.raises(DbtRuntimeError, match="Must specify `host`"):
        credentials(schema="x", method=method)


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(Exception, match="carrier pigeon"):
        credentials(schema="x", method="carrier pigeon")


def test_ansi_is_off_as_in_dbt_spark_if_the_user_says_nothing() -> None:
    assert credentials(schema="x").server_side_parameters["spark.sql.ansi.enabled"] == "false"


@pytest.mark.parametrize(("given", "text"), [(True, "true"), ("true", "true"), (False, "false")])
def test_the_users_ansi_is_respected(given: Any, text: str) -> None:
    made = credentials(schema="x", server_side_parameters={"spark.sql.ansi.enabled": given})
    assert made.server_side_parameters["spark.sql.ansi.enabled"] == text


def test_values_of_yaml_become_texts() -> None:
    made = credentials(schema="x", server_side_parameters={"spark.a": 8, "spark.b": True})
    assert made.server_side_parameters["spark.a"] == "8"
    assert made.server_side_parameters["spark.b"] == "true"


def test_dbt_debug_shows_what_identifies_a_session() -> None:
    secret = {"spark.hadoop.fs.s3a.secret.key": "hush"}
    made = credentials(schema="x", master="local[2]", server_side_parameters=secret)
    shown = dict(made.connection_info())
    assert shown == {"method": "session", "master": "local[2]", "schema": "x"}


def test_connect_without_a_host_is_the_projects_resident_spark() -> None:
    made = credentials(schema="x", method="connect")
    assert (made.is_connect, made.is_session, made.host) == (True, False, None)
    assert made.server_side_parameters["spark.sql.ansi.enabled"] == "false"


def test_connect_to_a_server_by_its_url() -> None:
    assert credentials(schema="x", method="connect", host="sc://far:15002").host == "sc://far:15002"


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:15002", "http://localhost:1", "sc://", "sc://h:x"]
)
def test_connect_needs_a_url_of_spark_connect(host: str) -> None:
    with pytest.raises(DbtRuntimeError, match="sc://localhost:15002"):
        credentials(schema="x", method="connect", host=host)


def test_dbt_debug_does_not_show_the_token_in_a_url() -> None:
    made = credentials(schema="x", method="connect", host="sc://far:1/;token=hush", token="hush")
    shown = dict(made.connection_info())
    assert shown == {"method": "connect", "host": "sc://far:1", "schema": "x"}


@pytest.mark.parametrize("key", ["database", "catalog"])
def test_a_catalog_is_sparks_default_one(key: str) -> None:
    made = credentials(schema="x", **{key: "lake"})
    assert made.catalog == "lake"
    assert made.server_side_parameters["spark.sql.defaultCatalog"] == "lake"
    assert made.database is None


def test_sparks_own_name_for_the_catalog_works_too() -> None:
    made = credentials(schema="x", server_side_parameters={"spark.sql.defaultCatalog": "lake"})
    assert made.catalog == "lake"


@pytest.mark.parametrize("database", [None, "x"])
def test_a_database_that_is_the_schema_names_no_catalog(database: str | None) -> None:
    made = credentials(schema="x", database=database)
    assert made.catalog is None and made.database is None
    assert "spark.sql.defaultCatalog" not in made.server_side_parameters


@pytest.mark.parametrize(
    "others",
    [{"catalog": "mart"}, {"server_side_parameters": {"spark.sql.defaultCatalog": "mart"}}],
)
def test_two_catalogs_are_refused(others: dict[str, Any]) -> None:
    with pytest.raises(DbtRuntimeError, match=r"database is lake and .* is mart.*set one of them"):
        credentials(schema="x", database="lake", **others)
