"""Models that feed on themselves, in a dbt project."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tests.helpers.dbt_project import DbtProject
from tests.spark.workbench import FEED

IVM = "{{ config(materialized='incremental_ivm') }}\n"

LIMITS = """
models:
  - name: spent
    columns:
      - {name: account, data_type: int}
      - {name: amount, data_type: 'decimal(18, 2)'}
  - name: allowed
    data_tests: [ivm_consistent]
"""

# An order is allowed while its account has spent less than 10 before this run.
ALLOWED = IVM + (
    "select o.id, o.account, o.amount from {s}.orders o\n"
    "left join {{ ivm_previous('spent') }} p on p.account = o.account\n"
    "where coalesce(p.amount, 0) < 10"
)
SPENT = IVM + (
    "select account, cast(sum(amount) as decimal(18, 2)) as amount\n"
    "from {{ ref('allowed') }} group by account"
)


def circle(project: DbtProject, **more: str) -> DbtProject:
    project.sql(
        f"create table orders (id int, account int, amount decimal(18, 2)) using delta {FEED}"
    )
    project.sql("insert into orders values (1, 1, 4), (2, 2, 12)")
    project.write({"models/limits.yml": LIMITS})
    return project.models(allowed=ALLOWED.replace("{s}", project.schema), spent=SPENT, **more)


def test_models_in_a_circle(project: DbtProject) -> None:
    circle(project, watch=IVM + "select account, amount from {{ ivm_previous('spent') }}")
    build = project.dbt("build")
    assert build.success, build.log
    assert project.sql("select * from allowed order by id") == [
        (1, 1, Decimal(4)), (2, 2, Decimal(12))
    ]  # fmt: skip
    second = project.run("--threads", "4")
    # What account 2 had spent before this run is too much for its order now.
    assert project.sql("select id from allowed order by id") == [(1,)]
    assert project.sql("select * from spent") == [(1, Decimal(4))]
    assert second.response("allowed")["strategy"] == "recompute"
    third = project.run()
    assert third.response("allowed")["strategy"] == "incremental"
    assert project.sql("select id from allowed order by id") == [(1,), (2,)]
    # spent is read as before the run, also by a model that runs after it.
    project.run("--select", "allowed")
    before = project.sql("select * from spent order by account")
    result = project.run("--select", "spent", "watch")
    assert [r["unique_id"].split(".")[-1] for r in result.run_results["results"]] == [
        "spent",
        "watch",
    ]
    assert project.sql("select * from watch order by account") == before
    assert project.sql("select * from spent order by account") != before
    assert project.dbt("test").success


@pytest.mark.thorough
def test_its_own_rows_with_a_contract(project: DbtProject) -> None:
    project.sql(f"create table payments (account int, amount int) using delta {FEED}")
    project.sql("insert into payments values (1, 10), (1, 5), (2, 1)")
    told = "columns:\n      - {name: account, data_type: int}\n"
    told += "      - {name: highest, data_type: int}"
    project.write(
        {
            "models/own.yml": "models:\n  - name: highest\n"
            f"    config: {{contract: {{enforced: true}}}}\n    {told}\n"
            "    data_tests: [ivm_consistent]"
        }
    )
    project.models(
        highest=IVM + "select account, max(amount) as highest from (\n"
        f"select account, amount from {project.schema}.payments union all\n"
        "select account, highest from {{ this }}) group by account"
    )
    first = project.dbt("build")
    assert first.success, first.log
    project.sql("delete from payments where amount = 10")
    project.run()
    assert project.sql("select * from highest order by account") == [(1, 10), (2, 1)]
    third = project.run().response("highest")
    assert third["strategy"] in ("incremental", "noop"), third
    assert project.run().response("highest")["strategy"] == "noop"
    explained = project.dbt("run-operation", "ivm_explain", "--args", "{model: highest}")
    assert explained.success, explained.log
    assert project.dbt("test").success
    empty = project.dbt("run", "--empty")
    assert empty.success, empty.log
    assert project.run("--full-refresh").response("highest")["reason"] == "FULL_REFRESH"
    assert project.sql("select * from highest order by account") == [(1, 5), (2, 1)]


def test_wrong_names(project: DbtProject) -> None:
    circle(
        project,
        a=IVM + "select * from {{ ivm_previous('nobody') }}",
        b=IVM + "select * from {{ ivm_previous('t') }}",
        c=IVM + "select * from {{ ivm_previous('allowed') }}",
        t="{{ config(materialized='table') }} select 1 as x",
    )
    result = project.dbt("run", "--select", "a", "b", "c")
    assert "ivm_previous('nobody'): there is no model of this name" in result.message("a")
    assert "ivm_previous('t'): that model is materialized as 'table'" in result.message("b")
    assert "allowed was not built before this run" in result.message("c")
    assert "line 2, column 15" in result.message("c")
