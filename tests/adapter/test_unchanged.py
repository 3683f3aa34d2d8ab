"""Runs of many models over Spark Connect: those to which nothing happened ask nothing."""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import Any

import pytest
from click.testing import CliRunner

from dbt.adapters.sparkivm.cli import main
from dbt.adapters.sparkivm.prefetched import reading
from dbt.adapters.sparkivm.prefetched.many_logs import ManyLogs
from dbt.adapters.sparkivm.prefetched.unchanged import Listed, PrefetchedMetadata
from tests.conftest import QUICK, QUICK_JVM
from tests.helpers.dbt_project import DbtProject, DbtResult

pytestmark = pytest.mark.spark

FEED = "using delta tblproperties (delta.enableChangeDataFeed = true)"
SHOWN = "{{ config(materialized='%s') }}\n%s"
MODELS = {
    "bag": ("incremental_ivm", "select k, v from {{ source('raw', 'a') }} where v > 0"),
    "sums": ("incremental_ivm", "select k, sum(v) as v from {{ source('raw', 'a') }} group by k"),
    "other": ("incremental_ivm", "select k, w from {{ source('raw', 'b') }}"),
    "staged": ("view", "select k, v + 1 as v from {{ source('raw', 'a') }}"),
    "copied": ("table", "select k, w from {{ source('raw', 'b') }}"),
    "above": ("incremental_ivm", "select s.k, s.v, b.v as one from {{ ref('sums') }} s "
              "left join {{ ref('bag') }} b on s.k = b.k"),
    "top": ("incremental_ivm", "select max(v) as v, count(one) as n from {{ ref('above') }}"),
    "of_staged": ("incremental_ivm", "select k, max(v) as v from {{ ref('staged') }} group by k"),
    "of_copied": ("incremental_ivm", "select max(w) as w from {{ ref('copied') }}"),
}  # fmt: skip
MAINTAINED = {name for name, (kind, _) in MODELS.items() if kind == "incremental_ivm"}
SOURCES = """
version: 2
sources: [{name: raw, schema: unchanged, tables: [{name: a}, {name: b}]}]
models:
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Generator[DbtProject]:
    root = tmp_path_factory.mktemp("unchanged")
    settings = {"spark.master": "local[2]", "spark.driver.extraJavaOptions": QUICK_JVM, **QUICK}
    made = DbtProject(root, "unchanged", settings, threads=2, target={"method": "connect"})

    def server(*arguments: str) -> Any:
        return CliRunner().invoke(main, ["server", *arguments, "--project-dir", str(root)])

    started = server("start", "--profiles-dir", str(root))
    try:
        assert started.exit_code == 0, started.output
        made.sql(f"create table a {FEED} as values (1, 1), (1, 2), (2, 3) as t(k, v)")
        made.sql(f"create table b {FEED} as values (1, 'x'), (3, 'y') as t(k, w)")
        made.models(**{name: SHOWN % model for name, model in MODELS.items()})
        tested = "".join(f"  - {{name: {n}, data_tests: [ivm_consistent]}}\n" for n in MAINTAINED)
        made.write({"models/schema.yml": SOURCES + tested})
        made.run()
        yield made
    finally:
        made.close()
        server("stop")


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "FEW", 2)


def strategies(project: DbtProject) -> tuple[dict[str, str], DbtResult]:
    """What a run did to each maintained model."""
    result = project.run()
    return {name: str(result.response(name)["strategy"]) for name in MAINTAINED}, result


def consistent(project: DbtProject) -> None:
    """Each view equals its query."""
    tested = project.dbt("test")
    assert set(tested.statuses.values()) == {"pass"}, tested.log


def asked(result: DbtResult, name: str) -> list[str]:
    """The statements of a model, but for what a run asks once."""
    found = re.findall(rf"On model\.project\.{name}: (/\*.*\n.*)", result.debug_log)
    return [sql for sql in found if "SHOW CURRENT NAMESPACE" not in sql]


def test_models_to_which_nothing_happened_ask_nothing(project: DbtProject) -> None:
    found, result = strategies(project)
    noops = dict.fromkeys(MAINTAINED, "noop")
    assert found == {**noops, "of_copied": "recompute"}, "dbt replaced its table"
    for name in ("bag", "sums", "other", "above", "top"):
        assert asked(result, name) == [], name
    assert asked(result, "of_copied")


def test_what_stands_above_a_changed_model_is_not_taken_for_unchanged(project: DbtProject) -> None:
    project.sql("insert into a values (2, 5)")
    found, result = strategies(project)
    assert {name for name, strategy in found.items() if strategy == "noop"} == {"other"}
    assert not asked(result, "other") and asked(result, "top")
    assert project.sql("select * from top") == [(8, 4)]
    consistent(project)


@pytest.mark.thorough
def test_what_somebody_did_to_views_and_states_is_seen(project: DbtProject) -> None:
    project.sql("drop view top")
    project.sql("update sums__ivm_state set v = v + 1")
    project.sql("create or replace view other as select 1 as mine")
    result = project.run()
    reasons = {name: result.response(name)["reason"] for name in ("top", "sums", "other", "bag")}
    assert reasons == {
        "top": "VIEW_MISSING", "sums": "STATE_MODIFIED", "other": "VIEW_MISSING",
        "bag": "UNCHANGED",
    }  # fmt: skip
    consistent(project)


@pytest.mark.thorough
def test_another_query_is_seen(project: DbtProject) -> None:
    project.models(
        other=SHOWN % ("incremental_ivm", "select k, w, 1 as one from {{ source('raw', 'b') }}")
    )
    assert project.run().response("other")["reason"] == "QUERY_CHANGED"
    project.models(staged=SHOWN % ("view", "select k, v + 2 as v from {{ source('raw', 'a') }}"))
    found, _ = strategies(project)
    assert found["of_staged"] == "full" and found["other"] == "noop"
    assert project.sql("select max(v) from of_staged") == [(7,)]


def test_a_hook_may_load_a_source(project: DbtProject) -> None:
    insert = "insert into unchanged.a values (9, 9)"
    hook = f"{{{{ config(materialized='incremental_ivm', pre_hook='{insert}') }}}}\n"
    project.models(bag=hook + MODELS["bag"][1])
    result = project.run()
    assert result.response("bag")["strategy"] == "incremental"
    assert project.sql("select v from bag where k = 9") == [(9,)]
    project.models(bag=SHOWN % MODELS["bag"])
    assert strategies(project)[0]["bag"] in ("noop", "full")


TREE = "Schema: root\n |-- {}: {} (nullable = true)\n\n"
VIEW = (
    "Type: VIEW\nView Text: select k\nfrom s.t\nView Original Text: select k\nfrom s.t\n"
    "View Catalog and Namespace: spark_catalog.`my s`\nView Query Output Columns: [`a``b`, `c`]\n"
)


def test_a_listing_tells_of_a_view() -> None:
    tree = (
        "Schema: root\n |-- k: long (nullable = true)\n"
        " |-- an odd: name: decimal(10,2) (nullable = false)\n"
    )
    view = Listed(True, VIEW + tree).view()
    assert view is not None
    assert (view.text, view.namespace) == ("select k\nfrom s.t", ("spark_catalog", "my s"))
    assert view.columns == {"k": "bigint", "an odd: name": "decimal(10,2)"}
    assert view.shown == ("a`b", "c") and view.settings is None


def test_names_of_other_catalogs_and_of_temporary_views_are_not_known() -> None:
    listed = {("s", "m"): Listed(True, VIEW + TREE.format("k", "long"))}
    look = PrefetchedMetadata(ManyLogs(None, {}), listed, ("spark_catalog", "default"), {})  # type: ignore[arg-type]
    for known in (("s", "m"), ("S", "M"), ("spark_catalog", "s", "m")):
        assert look.view(known) is not None
    for unknown in (("m",), ("other", "s", "m"), ("a", "b", "s", "m"), ("s", "n")):
        assert look.listed(unknown) is None and look.view(unknown) is None
        assert look.stored(unknown) is None


@pytest.mark.parametrize("kind", ["array", "struct", "interval day to second", "variant"])
def test_a_type_that_it_does_not_tell_in_full_is_asked_for(kind: str) -> None:
    assert Listed(True, VIEW + TREE.format("k", kind)).view() is None
    assert Listed(True, VIEW).view() is None and Listed(True, "Type: VIEW").view() is None


@pytest.mark.parametrize(
    ("more", "writes"),
    [
        ({}, False),
        ({"config": {"pre-hook": [{"sql": "insert into a values (1)"}]}}, True),
        ({"config": {"post-hook": [{"sql": "optimize a"}]}}, True),
        ({"config": {"sql_header": "set x = 1"}}, True),
        ({"raw_code": "{% do run_query('insert into a values (1)') %} select 1"}, True),
        ({"raw_code": "{% call statement('x') %} truncate table a {% endcall %} select 1"}, True),
        ({"raw_code": "select prerun_query from a"}, False),
    ],
)
def test_models_with_statements_of_their_own_are_told_from_others(
    more: dict[str, Any], writes: bool
) -> None:
    assert reading._may_write({"config": {}, "raw_code": "select 1", **more}) is writes
