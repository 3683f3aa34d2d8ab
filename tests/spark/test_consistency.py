"""The test `ivm_consistent` finds what differs, and only that."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.conftest import MakeProject
from tests.helpers.dbt_project import DbtProject
from tests.spark.workbench import FEED

IVM = "{{ config(materialized='incremental_ivm') }}\n"
MODELS = {
    "bag": "select i, f from {s}.x",
    "sums": "select i, sum(f) as s, count(*) as n from {s}.x group by i",
    "top": "select i, count(*) as n from {s}.x group by i order by n desc, i limit 1",
    "only_floats": "select f from {s}.x",
    # Spark shows properties with such words as redacted: the test could not read the query
    "hourly": "select i, max(f) as url, 'token' as password from {s}.x group by i",
}
MORE_MODELS = {
    "whole": "select sum(f) as s, count(*) as n from {s}.x",
    "rebuilt": "select n, count(*) as c from (select i, sum(distinct f) as n from {s}.x "
    "group by i) group by n",
}
SPOILED = {
    "bag": "update bag__ivm_state set __ivm_count__ = 1 where i = 1",  # one too few
    # more than a rounding error
    "sums": "update sums__ivm_state set s = s + 0.001 where i = 1",
    "top": "update top__ivm_state set __ivm_count__ = 9 where i = 2",
    "hourly": "update hourly__ivm_state set url = 7 where i = 1",
    # one too many
    "only_floats": "update only_floats__ivm_state set __ivm_count__ = 3 where f = 0.1",
    "whole": "update whole__ivm_state set s = 1",
    "rebuilt": "delete from rebuilt__ivm_state where __ivm_col_2__ > 0",
}


@pytest.fixture
def models(pytestconfig: pytest.Config) -> dict[str, str]:
    return MODELS | (MORE_MODELS if pytestconfig.getoption("ivm_all_on_spark") else {})


@pytest.fixture
def lake(make_project: MakeProject, models: dict[str, str]) -> DbtProject:
    project = make_project()
    s = project.schema
    project.sql(f"create table x (i int, f double) using delta {FEED}")
    project.sql("insert into x values (1, 0.1), (1, 0.1), (2, 1e16), (2, 1), (null, null)")
    tests: list[Any] = ["ivm_consistent"]
    project.models(**{name: IVM + sql.format(s=s) for name, sql in models.items()})
    nodes = [{"name": name, "data_tests": tests} for name in models]
    project.write({"models/schema.yml": json.dumps({"models": nodes})})
    return project


def verdicts(project: DbtProject, *args: str) -> dict[str, str]:
    result = project.dbt("test", *args)
    return {
        name.removeprefix("ivm_consistent_").strip("_"): status
        for name, status in result.statuses.items()
    }


def test_it_fails_on_every_kind_of_difference(lake: DbtProject, models: dict[str, str]) -> None:
    unbuilt = lake.dbt("test", "--select", "bag")
    (told,) = [unbuilt.message(name) for name in unbuilt.statuses]
    assert "Run the model before its tests" in told, told
    lake.run()
    # Changes that no run has applied yet are no difference.
    lake.sql("insert into x values (7, 7.0)")
    assert set(verdicts(lake).values()) == {"pass"}

    for name in models:
        lake.sql(SPOILED[name])
    result = lake.dbt("test", "--store-failures")
    assert set(result.statuses.values()) == {"fail"}, result.statuses
    assert "(i=1, " in result.log and "expected" in result.log
    stored = lake.sql(f"show tables in {lake.schema}_dbt_test__audit")
    assert len(stored) == len(models)


def test_it_is_an_error_on_what_is_not_maintained(lake: DbtProject) -> None:
    lake.models(bag=f"select i, f from {lake.schema}.x")
    lake.run("--select", "bag")
    result = lake.dbt("test", "--select", "bag")
    (told,) = [result.message(name) for name in result.statuses]
    assert "Set materialized='incremental_ivm' on the model" in told, told
