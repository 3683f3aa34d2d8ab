"""States that cannot be read, and views that are gone: each command says so, and goes on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.dbt_project import DbtProject
from tests.spark.test_preview import IVM, cli, make

COMMANDS = ("status", "history", "preview", "audit", "maintain", "check")


def folder(project: DbtProject, table: str) -> Path:
    """Where a table's log lies."""
    (row,) = project.sql(f"describe detail {table}")
    return Path(str(row.location).removeprefix("file:")) / "_delta_log"


def broken(project: DbtProject) -> DbtProject:
    """A project in which one model of each kind of trouble stands beside a sound one."""
    names = ("missing", "torn", "newer", "viewless", "unbuilt")
    model = IVM + "select k, sum(v) as total from {{ source('raw', 'a') }} group by k"
    make(project)
    for path in (project.root / "models").glob("*.sql"):
        path.unlink()
    project.models(sound=model, **dict.fromkeys(names, model))
    project.run("--exclude", "unbuilt")
    for value in (5, 6):
        project.sql(f"insert into a values ({value}, 1)")
        project.run("--exclude", "unbuilt")
    project.sql("drop view viewless")
    metadata = "spark.databricks.delta.commitInfo.userMetadata"
    project.session.conf.set(metadata, json.dumps({"ivm": 999}).replace(" ", ""))
    project.sql("update newer__ivm_state set total = total")
    project.session.conf.unset(metadata)
    logs = {name: folder(project, f"{name}__ivm_state") for name in ("missing", "torn")}
    for log in logs.values():
        for sums in log.glob(".*.crc"):
            sums.unlink()
        for sums in log.glob("*.crc"):
            sums.unlink()
    (logs["missing"] / f"{1:020}.json").unlink()
    (logs["torn"] / f"{2:020}.json").write_text('{"commitInfo":{"timesta')
    project.session._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
    return project


def told(project: DbtProject, *arguments: str) -> tuple[int, dict[str, dict[str, Any]]]:
    outcome = cli(project, arguments[0], "--format", "json", *arguments[1:])
    assert outcome.exception is None or isinstance(outcome.exception, SystemExit), outcome.exception
    assert outcome.stdout.startswith("{"), outcome.output
    listed = json.loads(outcome.stdout)["models"]
    return outcome.exit_code, {model["model"]: model for model in listed}


@pytest.mark.thorough
def test_each_command_says_so_and_goes_on_with_the_rest(project: DbtProject) -> None:
    broken(project)
    field = {"status": "trouble", "history": "trouble", "audit": "told", "maintain": "told"}
    for command in COMMANDS:
        code, models = told(project, command)
        assert set(models) == {"sound", "missing", "torn", "newer", "viewless", "unbuilt"}, command
        assert code == (1 if command in ("preview", "audit") else 0), command
        if command not in field:
            continue
        said = {name: str(model[field[command]]) for name, model in models.items()}
        assert "not contiguous" in said["missing"], command
        assert "torn__ivm_state/_delta_log" in said["torn"], command
        assert "newer version of dbt-sparkivm" in said["newer"], command
        assert "not built yet" in said["unbuilt"].lower(), command
        assert not any(f"{sign}_" in said["sound"] for sign in ("DELTA", "IVM", "FAILED")), command
    found = told(project, "status")[1]
    assert "view is gone" in found["viewless"]["trouble"][0]
    assert found["sound"]["last"]["refresh"] == 3
    assert "is no view" in told(project, "audit")[1]["viewless"]["told"]
    coming = {name: (p["strategy"], p["reason"]) for name, p in told(project, "preview")[1].items()}
    assert coming["sound"] == ("noop", "UNCHANGED") and coming["viewless"] == (
        "noop", "VIEW_MISSING"
    )  # fmt: skip
    assert coming["newer"] == ("full", "STATE_NEWER") and coming["unbuilt"][1] == "FIRST_BUILD"
    assert coming["missing"][0] == coming["torn"][0] == "error"
    assert {c["verdict"] for c in told(project, "check")[1].values()} == {"followed"}
    assert "not contiguous" in cli(project, "why", "missing").stdout
    page = project.root / "page.html"
    assert cli(project, "report", "--output", str(page)).exit_code == 0
    assert "not contiguous" in page.read_text()
    nowhere = cli(project, "status", "--select", "nowhere")
    assert nowhere.exit_code == 1 and "No model is selected" in nowhere.stderr
    assert cli(project, "status", "--selector", "nowhere").exit_code == 1
    result = project.dbt("run")
    assert result.statuses == {
        "sound": "success", "missing": "error", "torn": "error", "newer": "warn",
        "viewless": "success", "unbuilt": "success",
    }  # fmt: skip
    assert "STATE_NEWER" in result.log


@pytest.mark.thorough
def test_a_state_whose_log_is_damaged_can_be_dropped_and_built_anew(project: DbtProject) -> None:
    broken(project).sql("drop view torn")
    code, models = told(project, "drop", "--yes", "--select", "missing", "torn", "newer")
    said = {name: str(model["told"]) for name, model in models.items()}
    assert code == 0 and said["missing"].startswith("dropped ")
    assert "no view shows it; kept" in said["torn"] and "kept" in said["newer"]
    project.sql("drop table torn__ivm_state")
    result = project.run("--select", "missing", "torn")
    assert {result.response(name)["reason"] for name in ("missing", "torn")} == {"FIRST_BUILD"}
