"""Which settings a session gets in a Spark that was started with others."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dbt.adapters.sparkivm.connection import session_settings
from dbt.adapters.sparkivm.connection.session_settings import Started, apply


class Conf:
    """Settings of a session, of which static ones are refused as Spark does."""

    def __init__(self) -> None:
        self.changes: dict[str, str | None] = {}

    def set(self, key: str, value: str) -> None:
        if "warehouse" in key:
            raise RuntimeError("[CANNOT_MODIFY_STATIC_CONFIG]")
        self.changes[key] = value

    def unset(self, key: str) -> None:
        self.changes[key] = None


@pytest.fixture
def warnings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    said: list[str] = []
    monkeypatch.setattr(session_settings.logger, "warning", said.append)
    return said


def applied(started: Started, wanted: dict[str, str], *user: str) -> dict[str, str | None]:
    session: Any = SimpleNamespace(conf=Conf())
    apply(session, started, wanted, user, "Restart.")
    changes: dict[str, str | None] = session.conf.changes
    return changes


def test_only_what_differs_is_set(warnings: list[str]) -> None:
    started = Started({"spark.sql.a": "1", "spark.sql.b": "1"})
    assert applied(started, {"spark.sql.a": "1", "spark.sql.b": "2"}) == {"spark.sql.b": "2"}
    assert not warnings


def test_what_the_starting_profile_asked_for_is_taken_back(warnings: list[str]) -> None:
    requested = frozenset({"spark.sql.a", "spark.driver.memory"})
    started = Started({"spark.sql.a": "1", "spark.driver.memory": "4g"}, requested)
    assert applied(started, {}) == {"spark.sql.a": None}
    assert not warnings


def test_what_cannot_change_is_said_once_without_secrets(warnings: list[str]) -> None:
    started = Started({"spark.driver.memory": "1g"})
    secrets = {
        "spark.x.secret": "hush",
        "spark.hadoop.fs.azure.account.key.shop.dfs.core.windows.net": "hush",
        "spark.hadoop.x.url": "jdbc:postgresql://host/db?user=me&password=hush",
    }
    wanted = {"spark.driver.memory": "2g", "spark.ui.enabled": "false", **secrets}
    for _ in range(2):
        assert applied(started, wanted, "spark.driver.memory", *secrets) == {}
    assert warnings == [
        f"Restart. Without effect: spark.driver.memory=2g (it is 1g), {', '.join(secrets)}"
    ]


def test_a_place_that_differs_is_said_even_if_it_is_our_default(warnings: list[str]) -> None:
    started = Started({"spark.sql.warehouse.dir": "file:/a"})
    assert applied(started, {"spark.sql.warehouse.dir": "file:///b"}) == {}
    assert warnings == [
        "Restart. Without effect: spark.sql.warehouse.dir=file:///b (it is file:/a)"
    ]


def test_a_uri_of_a_folder_is_the_same_with_one_slash_and_three(warnings: list[str]) -> None:
    started = Started({"spark.sql.warehouse.dir": "file:/a"})
    assert applied(started, {"spark.sql.warehouse.dir": "file:///a"}) == {}
    assert not warnings


def test_options_of_a_jvm_are_the_same_behind_those_of_spark(warnings: list[str]) -> None:
    key = "spark.driver.extraJavaOptions"
    started = Started({key: "-Dspark.own=true -Xms3g"})
    assert applied(started, {key: "-Xms3g"}, key) == {}
    assert not warnings
    applied(started, {key: "-Xms4g"}, key)
    assert warnings == [f"Restart. Without effect: {key}=-Xms4g (it is -Dspark.own=true -Xms3g)"]
