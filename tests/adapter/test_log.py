"""What the adapter says while dbt runs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from dbt.adapters.events.types import AdapterEventWarning
from dbt_common.events.event_manager_client import get_event_manager
from dbt_common.exceptions import EventCompilationError

from dbt.adapters.sparkivm import log
from dbt.adapters.sparkivm.bridge.dbt_status import _wrap
from dbt.adapters.sparkivm.bridge.response import RefreshResponse
from dbt.adapters.sparkivm.connection.metastore import place, waiting_message
from dbt.adapters.sparkivm.connection.settings import CATALOG, METASTORE_URIS, METASTORE_URL


def test_a_wait_is_told_once_and_only_if_it_is_long(
    monkeypatch: pytest.MonkeyPatch, said: list[str]
) -> None:
    with log.waiting("Waiting for the bus ..."):
        pass
    monkeypatch.setattr(log, "_PATIENCE", 0.01)
    with log.waiting("Waiting for the train ..."):
        time.sleep(0.2)
    assert said == ["Waiting for the train ..."]


@pytest.fixture
def warnings_are_errors() -> Iterator[None]:
    """As after `dbt --warn-error`."""
    manager = get_event_manager()
    before = manager.warn_error
    manager.warn_error = True
    yield
    manager.warn_error = before


def test_a_warning_is_an_event_of_dbts() -> None:
    caught: list[str] = []
    manager = get_event_manager()
    manager.add_callback(lambda event: caught.append(f"{event.info.name} {event.info.level}"))
    try:
        log.warn("look")
    finally:
        manager.callbacks.pop()
    assert caught == [f"{AdapterEventWarning.__name__} warn"]


@pytest.mark.usefixtures("warnings_are_errors")
def test_a_warning_is_an_error_if_dbt_is_asked_for_that() -> None:
    with pytest.raises(EventCompilationError, match="look"):
        log.warn("look")


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({CATALOG: "in-memory"}, "in memory: tables are gone when Spark ends"),
        ({METASTORE_URIS: "thrift://far:9083"}, "thrift://far:9083"),
        ({METASTORE_URL: "jdbc:derby:;databaseName=/a b/m;create=true"}, "/a b/m"),
        ({METASTORE_URL: "jdbc:mysql://far/hive?user=me&password=hush"}, "jdbc:mysql://far/hive"),
        ({METASTORE_URL: "jdbc:mysql://me:hush@far/hive"}, "jdbc:mysql://far/hive"),
        ({METASTORE_URL: "jdbc:oracle:thin:me/hush@far:1"}, "jdbc:oracle:thin:far:1"),
        ({METASTORE_URL: "jdbc:sqlserver://far;password=hush"}, "jdbc:sqlserver://far"),
        ({}, "where Spark's hive-site.xml says"),
    ],
)
def test_where_a_metastore_is_without_its_password(settings: dict[str, str], told: str) -> None:
    assert place(settings) == told


def test_a_new_metastore_is_made_and_an_old_one_waited_for(tmp_path: Path) -> None:
    settings = {METASTORE_URL: f"jdbc:derby:;databaseName={tmp_path};create=true"}
    assert waiting_message(settings) == f"Making a new metastore in {tmp_path} ..."
    (tmp_path / "service.properties").touch()
    assert waiting_message(settings) == f"Waiting for the metastore ({tmp_path}) ..."


@pytest.mark.parametrize(
    ("counts", "warning", "status"),
    [(True, "look", "warn"), (False, "look", "success"), (True, None, "success")],
)
def test_a_warning_counts_unless_the_profile_says_otherwise(
    counts: bool, warning: str | None, status: str
) -> None:
    """To dagster-dbt a model of the status `warn` is not materialized."""

    class Runner:
        adapter = SimpleNamespace(
            config=SimpleNamespace(credentials=SimpleNamespace(count_warnings=counts))
        )

        def _build_run_model_result(self, model: object, context: object) -> Any:
            return SimpleNamespace(status="success")

    _wrap(Runner)
    response = object.__new__(RefreshResponse)
    object.__setattr__(response, "warning", warning)
    context = {"load_result": lambda name: SimpleNamespace(response=response)}
    result = Runner()._build_run_model_result(None, context)
    assert str(result.status) == status
