"""What `dbt-sparkivm check`, `status`, `history` and `why` tell of a project."""

from __future__ import annotations

import json
from typing import Any

import pytest

from python_ivm.operate import maintenance
from tests.helpers.dbt_project import DbtProject
from tests.spark.test_preview import FEED, IVM, MODELS, cli, make, previewed

PARTLY = "select k, count(distinct v) as n from {{ source('raw', 'a') }} group by k"
FULL = (
    "select k,\n  nth_value(v, 2) over (partition by k order by v range between 1 preceding and "
    "current row) as n\nfrom {{ source('raw', 'a') }}"
)


def told(project: DbtProject, *arguments: str) -> dict[str, dict[str, Any]]:
    """What a command says, by model."""
    outcome = cli(project, arguments[0], "--format", "json", *arguments[1:])
    assert isinstance(outcome.exception, SystemExit | None), outcome.output
    return {model["model"]: model for model in json.loads(outcome.stdout)["models"]}


def test_check_says_how_models_can_be_maintained_before_any_is_built(project: DbtProject) -> None:
    make(project)
    project.sql(f"alter table b set tblproperties ({FEED} = false)")
    project.models(
        partly=IVM + PARTLY,
        unruled=IVM + FULL,
        sampled=IVM + "select rand() as r from {{ source('raw', 'a') }}",
        over_partly=IVM + "select sum(n) as n from {{ ref('partly') }}",
        nowhere=IVM + "select * from nowhere",
    )
    outcome = cli(project, "check", "--format", "json")
    assert outcome.exit_code == 1, "some are refused"
    found = {model["model"]: model for model in json.loads(outcome.stdout)["models"]}
    verdicts = {name: check["verdict"] for name, check in found.items()}
    assert verdicts == {
        "sums": "followed", "joined": "followed", "above": "partly", "of_copied": "followed",
        "of_seen": "followed", "partly": "partly", "unruled": "full", "over_partly": "followed",
        "sampled": "refused", "nowhere": "refused",
    }  # fmt: skip
    assert found["unruled"]["reason"] == "NOT_YET_IMPLEMENTED"
    assert "nth_value" in found["unruled"]["text"] and found["unruled"]["line"] == 2
    assert "has no change feed" in found["joined"]["advice"][0]
    assert "copied is materialized as table" in " ".join(found["of_copied"]["advice"])
    assert not project.sql("show views"), "nothing was made but in the command's own session"
    text = cli(project, "check", "--select", "unruled")
    assert "nth_value(v, 2)" in text.stdout and "1 full" in text.stdout
    project.run("--exclude", "sampled", "nowhere")
    assert told(project, "check", "--select", "partly")["partly"]["verdict"] == "partly"


def test_status_history_and_why_tell_what_happened(project: DbtProject) -> None:
    make(project)
    before = told(project, "status")
    assert before["sums"]["last"] is None and before["sums"]["trouble"] == ["it is not built yet"]
    project.run()
    project.sql("insert into a values (3, 1), (4, 1)")
    project.run()
    project.sql("insert into a values (3, 2)")
    found = told(project, "status")
    sums = found["sums"]
    last = sums["last"]
    assert (last["strategy"], last["reason"], last["refresh"]) == ("incremental", "CHANGED", 2)
    assert (last["inserted"], last["updated"], last["deleted"]) == (2, 0, 0)
    assert 0 < last["seconds"] < 300 and last["at"].endswith("Z")
    assert sums["rows"] == 4 and sums["bytes"] > 0 and sums["files"] >= 1 and not sums["trouble"]
    assert [s["inserted"] for s in sums["sources"]] == [1]

    project.sql(f"alter table a set tblproperties ({FEED} = false)")
    project.run()
    project.sql("drop view joined")
    troubled = told(project, "status")
    assert "view is gone" in troubled["joined"]["trouble"][0]
    past = told(project, "history", "--select", "sums")["sums"]["refreshes"]
    assert [(r["strategy"], r["reason"]) for r in past] == [
        ("recompute", "CHANGE_FEED_OFF"), ("incremental", "CHANGED"), ("full", "FIRST_BUILD")
    ]  # fmt: skip
    assert len(told(project, "history", "--limit", "1")["sums"]["refreshes"]) == 1
    why = cli(project, "why", "sums").stdout
    assert "was recompute (CHANGE_FEED_OFF)" in why and "Next: noop (UNCHANGED)" in why
    assert (
        "no refresh that its state remembers was a fallback"
        in cli(project, "why", "of_seen").stdout
    )
    for command in ("status", "history"):
        assert "sums" in cli(project, command).stdout
    assert cli(project, "why", "nowhere").exit_code == 1


@pytest.mark.thorough
def test_a_broken_state_is_told_of_and_the_rest_goes_on(project: DbtProject) -> None:
    make(project).run()
    newer = json.dumps({"ivm": 999}).replace(" ", "")
    with_metadata = "spark.databricks.delta.commitInfo.userMetadata"
    project.session.conf.set(with_metadata, newer)
    project.sql("create or replace table joined__ivm_state using delta as select 1 as one")
    project.session.conf.unset(with_metadata)
    project.sql("create or replace table above__ivm_state using delta as select 1 as one")
    found = told(project, "status")
    assert "newer version" in found["joined"]["trouble"][0]
    assert "written by something else" in found["above"]["trouble"][0]
    assert found["sums"]["last"]["reason"] == "FIRST_BUILD"
    assert previewed(project)["sums"]["strategy"] == "noop"


@pytest.mark.thorough
def test_the_history_is_a_model_that_holds_each_refresh_once(project: DbtProject) -> None:
    make(project)
    history = "{{ config(materialized='incremental', incremental_strategy='append') }} "
    project.models(refreshes=history + "{{ ivm_history() }}")
    project.run("--exclude", "refreshes")
    project.run("--select", "refreshes")
    count = "select count(*) from refreshes where model like '%.sums'"
    assert project.sql(count) == [(1,)]
    project.run("--select", "refreshes")
    assert project.sql(count) == [(1,)]
    project.sql("insert into a values (3, 1), (4, 1)")
    project.run("--exclude", "refreshes")
    project.run("--select", "refreshes")
    rows = project.sql(
        "select refresh, strategy, reason, rows_inserted, seconds > 0, fallback, map_keys(sources) "
        "from refreshes where model like '%.sums' order by refresh"
    )
    source = [f"{project.schema}.a"]
    assert rows == [
        (1, "full", "FIRST_BUILD", 2, True, False, source),
        (2, "incremental", "CHANGED", 2, True, False, source),
    ]


@pytest.mark.thorough
@pytest.mark.parametrize("operation", ["ivm_check", "ivm_status"])
def test_the_operations_say_the_same(
    project: DbtProject, operation: str, capsys: pytest.CaptureFixture[str]
) -> None:
    make(project).run()
    capsys.readouterr()
    assert project.dbt("run-operation", operation, "--args", "{models: sums}").success
    shown = capsys.readouterr().out
    assert "sums" in shown and "joined" not in shown


@pytest.mark.thorough
def test_maintenance_leaves_few_files_and_the_bookmark(project: DbtProject) -> None:
    make(project).run("--select", "sums")
    for value in range(3):
        project.sql(f"insert into a values ({10 + value}, 1)")
        project.run("--select", "sums")
    before = told(project, "status")["sums"]
    assert before["files"] > 1
    assert "nothing is needed" in cli(project, "maintain", "--select", "sums").stdout
    done = cli(project, "maintain", "--select", "sums", "--force").stdout
    assert "OPTIMIZE" in done and "VACUUM" in done, done
    after = told(project, "status")["sums"]
    assert after["files"] == 1 and after["rows"] == before["rows"]
    assert after["last"]["reason"] == "MAINTAINED"
    result = project.run("--select", "sums")
    assert result.response("sums")["strategy"] == "noop"
    project.sql("insert into a values (1, 100)")
    result = project.run("--select", "sums")
    assert result.response("sums")["strategy"] == "incremental"
    assert project.sql("select total from sums where k = 1") == [(101,)]
    assert project.dbt("run-operation", "ivm_maintain").success


@pytest.mark.thorough
def test_a_model_can_have_its_state_maintained_by_each_run(
    project: DbtProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(maintenance, "_REFRESHES", 3)
    monkeypatch.setattr(maintenance, "_SOME_FILES", 2)
    make(project)
    config = "{{ config(materialized='incremental_ivm', ivm_auto_maintain=true) }} "
    project.models(sums=config + MODELS["sums"].removeprefix(IVM)).run("--select", "sums")
    for value in range(3):
        project.sql(f"insert into a values ({10 + value}, 1)")
        project.run("--select", "sums")
    operations = {row.operation for row in project.sql("describe history sums__ivm_state")}
    assert "OPTIMIZE" in operations
    assert told(project, "status")["sums"]["files"] == 1


@pytest.mark.thorough
def test_a_model_is_dropped_with_its_state(project: DbtProject) -> None:
    make(project).run()
    project.sql("create table of_seen__other using delta as select 1 as one")
    assert cli(project, "drop", "--select", "sums").exit_code == 1, "nobody said yes"
    done = cli(project, "drop", "--select", "sums", "joined", "--yes")
    assert done.exit_code == 0 and "dropped" in done.stdout, done.output
    left = {row.tableName for row in project.sql("show tables")}
    assert not left & {"sums", "sums__ivm_state", "joined", "joined__ivm_state"}
    assert {"above", "above__ivm_state", "a", "b"} <= left
    assert "it is not built" in cli(project, "drop", "--select", "sums", "--yes").stdout


@pytest.mark.thorough
def test_a_state_in_a_schema_that_no_model_has_any_more_is_found(project: DbtProject) -> None:
    config = "{{ config(materialized='incremental_ivm', ivm_state_schema='states') }} "
    make(project).models(away=config + "select k from {{ source('raw', 'a') }}")
    project.run("--select", "away", "sums")
    (project.root / "models" / "away.sql").unlink()
    project.sql("drop view away")
    states = f"{project.schema}_states"
    for arguments, left in (("{drop: true}", 1), (f"{{drop: true, schemas: [{states}]}}", 0)):
        assert project.dbt("run-operation", "ivm_orphans", "--args", arguments).success
        assert len(project.sql(f"show tables in {states}")) == left


@pytest.mark.thorough
def test_an_audit_recomputes_a_sample_and_finds_a_wrong_group(project: DbtProject) -> None:
    make(project)
    project.sql("insert into a select id, id from range(200)")
    project.run()
    outcome = cli(project, "audit", "--fraction", "0.25", "--seed", "3", "--format", "json")
    assert outcome.exit_code == 0, outcome.output
    found = {model["model"]: model for model in json.loads(outcome.stdout)["models"]}
    assert all(model["equal"] for model in found.values())
    assert 20 < found["sums"]["sampled"] < 80 and found["sums"]["whole"] == 200
    assert "with 95% confidence" in found["sums"]["told"]
    project.sql("update sums__ivm_state set total = total + 1 where k = 7")
    codes = [
        cli(project, "audit", "--fraction", "0.25", "--seed", str(n), "--select", "sums").exit_code
        for n in range(4)
    ]
    assert sorted(codes) == [0, 0, 0, 1]
    operation = ("run-operation", "ivm_audit", "--args")
    assert not project.dbt(*operation, "{models: sums, fraction: 1.0}").success
    assert project.dbt(*operation, "{models: joined, fraction: 1.0}").success


@pytest.mark.thorough
def test_a_renamed_model_goes_on_where_it_was(project: DbtProject) -> None:
    make(project).run("--select", "sums")
    (project.root / "models" / "sums.sql").rename(project.root / "models" / "totals.sql")
    (project.root / "models" / "above.sql").unlink()
    outcome = cli(project, "rename", "sums", "totals")
    assert outcome.exit_code == 0, outcome.output
    project.sql("insert into a values (1, 9)")
    response = project.run("--select", "totals").response("totals")
    assert response["strategy"] == "incremental"
    assert sorted(project.sql("select * from totals")) == [(1, 10), (2, 2)]
    left = {row.tableName for row in project.sql("show tables")}
    assert left == {"a", "b", "totals", "totals__ivm_state"}
