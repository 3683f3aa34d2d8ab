"""What `dbt-sparkivm preview` says beforehand is what `dbt run` does, and it writes nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from click.testing import CliRunner

from dbt.adapters.sparkivm.cli import main
from tests.helpers.dbt_project import DbtProject

FEED = "delta.enableChangeDataFeed"
IVM = "{{ config(materialized='incremental_ivm') }} "
STRICT = "{{ config(materialized='incremental_ivm', ivm_policy='strict') }} "
SOURCES = """
version: 2
sources:
  - name: raw
    schema: {schema}
    tables: [{{name: a}}, {{name: b}}]
"""
MODELS = {
    "sums": IVM + "select k, sum(v) as total from {{ source('raw', 'a') }} group by k",
    "joined": IVM + "select a.k, a.v, b.name from {{ source('raw', 'a') }} a "
    "join {{ source('raw', 'b') }} b on a.k = b.k",
    "above": IVM + "select count(*) as n, max(total) as top from {{ ref('sums') }}",
    "copied": "{{ config(materialized='table') }} select k, name from {{ source('raw', 'b') }}",
    "of_copied": IVM + "select name, count(*) as n from {{ ref('copied') }} group by name",
    "seen": "{{ config(materialized='view') }} select k from {{ source('raw', 'b') }}",
    "of_seen": IVM + "select distinct k from {{ ref('seen') }}",
}
CHANGES = {
    "of all kinds": {
        "nothing": [],
        "insert": ["insert into a values (1, 5), (9, 9)"],
        "update, and a table that is replaced": [
            "update a set v = v + 1 where k = 1",
            f"create or replace table b using delta tblproperties ({FEED} = true) "
            "as select 1 as k, 'one' as name",
        ],
        "a feed went off, and a view was dropped": [
            f"alter table a set tblproperties ({FEED} = false)",
            "insert into a values (4, 4)",
            "drop view of_seen",
        ],
    },
    "of rows": {
        "delete": ["delete from b where k = 2"],
        "merge": [
            "merge into b using (select 2 as k, 'two' as name) s on b.k = s.k "
            "when matched then update set * when not matched then insert *"
        ],
        "several commits": ["insert into a values (3, 1)", "delete from a where k = 9"],
        "optimize": ["optimize a"],
        "a comment": ["comment on table a is 'rows'"],
        "a new column": ["alter table a add columns (w int)"],
    },
    "of tables": {
        "overwritten": ["insert overwrite b values (1, 'uno'), (3, 'tres')"],
        "truncated": ["truncate table b"],
        "made anew": [
            "drop table b",
            f"create table b (k int, name string) using delta tblproperties ({FEED} = true)",
            "insert into b values (1, 'one'), (2, 'two')",
        ],
    },
    "of feeds": {
        "off": [
            f"alter table a set tblproperties ({FEED} = false)",
            "insert into a (k, v) values (4, 4)",
        ],
        "on after a change": [
            "insert into a (k, v) values (5, 5)",
            f"alter table a set tblproperties ({FEED} = true)",
        ],
        "on": ["insert into a (k, v) values (6, 6)"],
    },
    "of views and states": {
        "a view was dropped, and rows changed": [
            "drop view joined",
            "insert into a (k, v) values (7, 7)",
        ],
        "a state was written by hand": ["delete from sums__ivm_state where true"],
        "a state was dropped": ["drop table joined__ivm_state"],
    },
}
EXPECTED = {
    "of all kinds": {
        ("noop", "UNCHANGED"), ("incremental", "CHANGED"), ("recompute", "SOURCE_REPLACED"),
        ("recompute", "CHANGE_FEED_OFF"), ("noop", "VIEW_MISSING"),
    },
    "of rows": {("noop", "UNCHANGED"), ("incremental", "CHANGED")},
    "of tables": {("recompute", "SOURCE_RECREATED")},
    "of feeds": {("recompute", "CHANGE_FEED_OFF"), ("recompute", "CHANGE_FEED_GAP")},
    "of views and states": {("full", "STATE_MODIFIED"), ("full", "FIRST_BUILD")},
}  # fmt: skip


def cli(project: DbtProject, *arguments: str) -> Any:
    """Run a command of `dbt-sparkivm` in a project."""
    return CliRunner().invoke(main, [*arguments, *project._paths()])


def previewed(project: DbtProject, *arguments: str) -> dict[str, dict[str, Any]]:
    """What `dbt-sparkivm preview` says, by model."""
    told = cli(project, "preview", "--format", "json", *arguments)
    assert told.exception is None or isinstance(told.exception, SystemExit), told.output
    return {model["model"]: model for model in json.loads(told.stdout)["models"]}


def versions(project: DbtProject) -> Mapping[str, Any]:
    """The newest commit of each Delta table, and the texts of the views."""
    found = {}
    for row in project.sql("show tables"):
        name = row.tableName
        try:
            found[name] = project.sql(f"describe history {name} limit 1")[0].version
        except Exception:
            found[name] = str(project.sql(f"show create table {name}"))
    return found


def make(project: DbtProject) -> DbtProject:
    project.sql(f"create table a (k int, v int) using delta tblproperties ({FEED} = true)")
    project.sql(f"create table b (k int, name string) using delta tblproperties ({FEED} = true)")
    project.sql("insert into a values (1, 1), (2, 2)")
    project.sql("insert into b values (1, 'one'), (2, 'two')")
    project.write({"models/sources.yml": SOURCES.format(schema=project.schema)})
    return project.models(**MODELS)


def compare(project: DbtProject, what: str) -> dict[str, dict[str, Any]]:
    """Preview, run, and compare; a note says what may turn out otherwise."""
    before = versions(project)
    told = previewed(project)
    assert versions(project) == before, f"{what}: the preview wrote"
    result = project.dbt("run")
    for name, preview in told.items():
        run = result.response(name)
        done = (run.get("strategy"), run.get("reason"))
        said = (preview["strategy"], preview["reason"])
        if preview["strategy"] == "error":
            assert result.statuses[name] == "error", what
        elif not (preview["notes"] and done[0] == "noop"):
            assert said == done, f"{what}: {name}: {preview}"
    return told


@pytest.mark.thorough
@pytest.mark.parametrize("kind", [*CHANGES])
def test_the_preview_says_what_the_run_does(project: DbtProject, kind: str) -> None:
    make(project).run()
    seen = set()
    for what, statements in CHANGES[kind].items():
        for statement in statements:
            project.sql(statement)
        told = compare(project, what)
        seen |= {(p["strategy"], p["reason"]) for p in told.values()}
    assert EXPECTED[kind] <= seen


@pytest.mark.thorough
def test_the_first_build_and_another_query(project: DbtProject) -> None:
    told = compare(make(project), "first build")
    assert {p["reason"] for p in told.values()} == {"FIRST_BUILD"}
    project.models(sums=MODELS["sums"].replace("sum(v)", "sum(v + 1)"))
    assert compare(project, "another query")["sums"]["reason"] == "QUERY_CHANGED"
    project.models(sums=MODELS["sums"].replace("sum(v)", "summe(v)"))
    assert compare(project, "a wrong query")["sums"]["strategy"] == "error"


def test_what_is_pending_is_told_by_source(project: DbtProject) -> None:
    make(project).run()
    project.sql("insert into a values (3, 1), (4, 1)")
    project.sql("update a set v = 2 where k = 3")
    project.sql("optimize a")
    told = previewed(project)
    (a,) = told["sums"]["sources"]
    counts = {key: a[key] for key in ("inserted", "updated", "deleted", "commits", "change")}
    assert counts == {
        "inserted": 2, "updated": 1, "deleted": 0, "commits": 2, "change": "general"
    }  # fmt: skip
    assert a["version"] == a["bookmark"] + 3 and a["bytes"] > 0 and a["since"].endswith("Z")
    assert told["sums"]["rebuild_seconds"] > 0 and told["sums"]["reads"]["rows"] > 0
    assert told["sums"]["seconds"] is None, "nothing was refreshed incrementally yet"
    (state,) = told["above"]["sources"]
    assert state["by"] == "sums"
    project.run()
    project.sql("insert into a values (3, 1)")
    assert previewed(project)["sums"]["seconds"] > 0
    text = cli(project, "preview", "--select", "sums")
    assert "a@" in text.stdout and "+1" in text.stdout, text.output
    assert "above reads it, and is not part of this run" in text.stdout


@pytest.mark.thorough
def test_a_preview_can_fail_a_build_and_goes_on_after_errors(project: DbtProject) -> None:
    make(project)
    assert cli(project, "preview", "--fail-on", "full").exit_code == 1
    assert cli(project, "preview", "--fail-on", "recompute").exit_code == 0
    project.run()
    assert cli(project, "preview", "--fail-on", "full").exit_code == 0
    rebuilt = previewed(project, "--full-refresh")
    assert {p["reason"] for p in rebuilt.values()} == {"FULL_REFRESH"}
    project.models(
        broken=IVM + "select {{ exceptions.raise_compiler_error('no') if execute }} 1",
        sampled=IVM + "select rand() as r",
    )
    result = cli(project, "preview", "--format", "json")
    assert result.exit_code == 1
    told = {model["model"]: model for model in json.loads(result.stdout)["models"]}
    assert told["broken"]["strategy"] == told["sampled"]["strategy"] == "error"
    assert "rand" in told["sampled"]["explanation"]
    assert told["sums"]["strategy"] == "noop"


@pytest.mark.thorough
@pytest.mark.parametrize("selection", [["nowhere"], ["nowhere", "sums"]])
def test_an_unknown_model_is_named(project: DbtProject, selection: list[str]) -> None:
    make(project)
    told = cli(project, "preview", "--select", *selection)
    assert "nowhere" in told.stderr
    assert told.exit_code == (1 if len(selection) == 1 else 0)


@pytest.mark.thorough
def test_the_operation_says_the_same(
    project: DbtProject, capsys: pytest.CaptureFixture[str]
) -> None:
    make(project).run()
    project.sql("insert into a values (3, 1)")
    assert project.dbt("run-operation", "ivm_preview").success
    told = capsys.readouterr().out
    assert "sums" in told and "incremental" in told and "5 models" in told
    asked = project.dbt("run-operation", "ivm_preview", "--args", "{models: [nowhere]}")
    assert not asked.success and "no model named nowhere" in asked.log
