"""Tables become maintained views (`adopt`), and views are built anew (`rebuild`)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dbt.adapters.sparkivm.bridge.refresher import Refresher
from python_ivm.refresh.statement import StatementKind
from tests.helpers.dbt_project import DbtProject
from tests.spark.test_operations import told
from tests.spark.test_preview import IVM, SOURCES, cli, make

TABLE = "{{ config(materialized='table') }} "
QUERIES = {
    "sums": "select k, sum(v) as total, avg(v) as mean, count(*) as n from {{ source('raw', 'a') }}"
    " group by k",
    "joined": "select a.k, a.v / 2 as half, map('n', b.name) as named from {{ source('raw', 'a') }}"
    " a left join {{ source('raw', 'b') }} b on a.k = b.k",
    "above": "select count(*) as groups, sum(total) as total from {{ ref('sums') }}",
}


def switched(project: DbtProject) -> DbtProject:
    """Three models that were tables, and are to be maintained."""
    make(project)
    for name in ("of_copied", "copied", "of_seen", "seen"):
        (project.root / "models" / f"{name}.sql").unlink()
    project.write({"models/sources.yml": SOURCES.format(schema=project.schema)})
    project.sql("insert into a values (1, 1), (3, null), (1, 7)")
    project.models(**{name: TABLE + sql for name, sql in QUERIES.items()}).run()
    return project.models(**{name: IVM + sql for name, sql in QUERIES.items()})


def rows(project: DbtProject) -> dict[str, list[str]]:
    return {name: sorted(map(str, project.sql(f"select * from {name}"))) for name in QUERIES}


def tables(project: DbtProject) -> set[str]:
    return {row.tableName for row in project.sql("show tables")}


def test_tables_become_maintained_views_without_being_computed(project: DbtProject) -> None:
    before = rows(switched(project))
    outcome = cli(project, "adopt")
    assert outcome.exit_code == 0, outcome.output
    assert "sums: " in outcome.stdout and "computed from the query: " in outcome.stdout
    assert rows(project) == before
    assert [f"{name}__ivm_state" in tables(project) for name in QUERIES] == [True] * 3
    found = told(project, "history")["joined"]["refreshes"]
    assert [(r["strategy"], r["reason"]) for r in found] == [("adopt", "ADOPTED")]
    project.sql("insert into a values (2, 5), (9, 9)")
    project.sql("delete from a where k = 1 and v = 7")
    project.sql("update b set name = 'uno' where k = 1")
    result = project.run()
    assert {result.response(name)["strategy"] for name in QUERIES} == {"incremental"}
    outcome = cli(project, "audit", "--fraction", "1")
    assert outcome.exit_code == 0, outcome.output
    assert {project.run().response(name)["strategy"] for name in QUERIES} == {"noop"}
    again = cli(project, "adopt", "--select", "sums")
    assert again.exit_code == 1 and "has a state already" in again.stdout


@pytest.mark.thorough
def test_a_table_that_does_not_equal_the_query_stays(project: DbtProject) -> None:
    switched(project)
    project.sql("delete from joined where k = 3")
    project.sql("update sums set mean = mean + 0.5 where k = 1")
    before = rows(project)
    outcome = cli(project, "adopt", "--format", "json", "--select", "joined", "sums")
    assert outcome.exit_code == 1, outcome.output
    found = {model["model"]: model for model in json.loads(outcome.stdout)["models"]}
    assert "1 row of table and query differ" in found["joined"]["told"]
    assert "1 row of table and query differ" in found["sums"]["told"]
    assert found["joined"]["differing"][0]["k"] == "3" and not found["joined"]["done"]
    assert rows(project) == before and not any("__ivm_state" in t for t in tables(project))
    operation = ("run-operation", "ivm_adopt", "--args")
    refused = project.dbt(*operation, "{models: [joined]}")
    assert not refused.success and "1 row of table and query differ" in refused.log
    assert project.dbt(*operation, "{models: [joined], trust: true}").success
    assert rows(project) == before, "it was trusted"
    assert not project.dbt(*operation, "{models: []}").success


@pytest.mark.thorough
def test_a_table_of_older_versions_is_followed_from_there(project: DbtProject) -> None:
    switched(project)
    version = project.sql("describe history a limit 1")[0].version
    project.sql("insert into a values (1, 100)")
    assert cli(project, "adopt", "--select", "sums").exit_code == 1
    assert cli(project, "adopt", "--select", "sums", "--at", "a=x").exit_code == 2
    outcome = cli(project, "adopt", "--select", "sums", "--at", f"a={version}")
    assert outcome.exit_code == 0, outcome.output
    assert project.run("--select", "sums").response("sums")["strategy"] == "incremental"
    assert project.sql("select total from sums where k = 1") == [(109,)]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "done", [None, StatementKind.BUILD, StatementKind.DROP_TABLE, StatementKind.CREATE_VIEW]
)
def test_killed(
    project: DbtProject, monkeypatch: pytest.MonkeyPatch, done: StatementKind | None
) -> None:
    """After the last statement that was done; whoever reads the name has its rows but for one."""
    before = rows(switched(project))
    run = Refresher.run

    def killed(self: Refresher, request: Any, statements: Any) -> None:
        kinds = [statement.kind for statement in statements]
        run(self, request, statements[: kinds.index(done) + 1 if done is not None else 0])
        raise KeyboardInterrupt

    monkeypatch.setattr(Refresher, "run", killed)
    assert cli(project, "adopt", "--select", "sums").exit_code != 0
    monkeypatch.undo()
    if done is not StatementKind.DROP_TABLE:
        assert rows(project) == before
    result = project.run("--select", "sums")
    assert rows(project)["sums"] == before["sums"]
    assert result.response("sums")["strategy"] == ("full" if done is None else "noop")
    assert project.run("--select", "sums").response("sums")["strategy"] == "noop"


@pytest.mark.thorough
def test_a_table_that_is_written_meanwhile_is_kept(
    project: DbtProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    switched(project)
    run = Refresher.run

    def interrupted(self: Refresher, request: Any, statements: Any) -> None:
        project.sql("insert into sums values (77, 7, 7.0, 1)")
        run(self, request, statements)

    monkeypatch.setattr(Refresher, "run", interrupted)
    outcome = cli(project, "adopt", "--select", "sums")
    assert outcome.exit_code == 1 and "was written meanwhile" in outcome.stdout, outcome.output
    assert project.sql("select total from sums where k = 77") == [(7,)]
    assert "sums__ivm_state" not in tables(project)


@pytest.mark.thorough
def test_models_are_built_anew_by_name(project: DbtProject) -> None:
    make(project).run()
    dry = cli(project, "rebuild", "--dry-run", "--select", "sums", "copied")
    assert dry.exit_code == 0 and "FULL_REFRESH" in dry.stdout, dry.output
    assert len(told(project, "history", "--select", "sums")["sums"]["refreshes"]) == 1
    outcome = cli(project, "rebuild", "--format", "json", "--select", "sums", "copied", "-q")
    assert outcome.exit_code == 0, outcome.output
    found = json.loads(outcome.stdout)
    assert [model["model"] for model in found["models"]] == ["sums"], (
        "copied is no maintained model"
    )
    assert found["models"][0]["status"] == "success"
    assert found["costs"][0]["rebuild_seconds"] > 0
    reasons = [r["reason"] for r in told(project, "history")["sums"]["refreshes"]]
    assert reasons == ["FULL_REFRESH", "FIRST_BUILD"]
    assert project.dbt("run-operation", "ivm_rebuild", "--args", "{models: sums}").success
    assert len(told(project, "history")["sums"]["refreshes"]) == 3
    project.models(sums=IVM + "select nothing from {{ source('raw', 'a') }}")
    assert cli(project, "rebuild", "--select", "sums").exit_code == 1
    assert not project.dbt("run-operation", "ivm_rebuild", "--args", "{models: sums}").success
