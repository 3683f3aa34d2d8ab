"""Maintained models on an object store, and what a refresh asks of it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.sparkivm.bridge.conf import StatementConf
from dbt.adapters.sparkivm.bridge.refresher import Refresher
from dbt.adapters.sparkivm.bridge.warehouse import SparkWarehouse
from tests.conftest import MakeProject
from tests.helpers.dbt_project import DbtProject
from tests.s3 import counted
from tests.spark.conftest import bench as bench
from tests.spark.workbench import FEED, Bench, failing

if TYPE_CHECKING:
    from integration_tests.servers.s3 import Requests

IVM = "{{ config(materialized='incremental_ivm') }}\n"


def shop(project: DbtProject, sources: int) -> None:
    """A model over so many tables of two rows."""
    for number in range(sources):
        project.sql(f"create table t{number} (k int, v int) using delta {FEED}")
        time.sleep(1)  # of two commits in one second Delta is asked, by more requests
        project.sql(f"insert into t{number} values (1, 1), (2, 2)")
    joins = "".join(f" join {project.schema}.t{n} using (k)" for n in range(1, sources))
    total = " + ".join(f"t{n}.v" for n in range(sources))
    sql = f"select k, sum({total}) as s from {project.schema}.t0{joins} group by k"
    project.models(m=IVM + sql)


@pytest.mark.parametrize("sources", [1, 10])
def test_what_a_refresh_asks_of_the_store(
    make_project: MakeProject, requests: Requests, sources: int
) -> None:
    project = make_project()
    shop(project, sources)
    requests.taken()
    project.run()
    asked = {"first build": requests.taken()}
    for name in ("a row", "another row"):
        project.sql("insert into t0 values (1, 5)")
        requests.taken()
        assert project.run().response("m")["strategy"] == "incremental"
        asked[name] = requests.taken()
    assert project.run().response("m")["strategy"] == "noop"
    asked["nothing"] = requests.taken()
    counted.record(sources, {name: found.kinds for name, found in asked.items()})
    for name, found in asked.items():
        print(f"{sources} sources, {name}: {dict(found.kinds)}")
        for (kind, path), number in found.paths.most_common(25):
            print(f"    {number:3} {kind:6} {path.rpartition('/warehouse/')[2][-110:]}")
    assert project.sql("select * from m order by k")[0]["s"] == sum((11,) + (3,) * (sources - 1))
    assert project.dbt("test").success


def test_a_run_that_dies_is_made_up_for(bench: Bench) -> None:
    bench.table("r", "k int, v int", "(1, 10)", "(2, 5)")
    view = bench.view("select k, sum(v) as s from r group by k")
    for where in ({"before": "MERGE"}, {"after": "MERGE"}):
        bench.sql("insert into r values (2, 1), (3, 3)", "delete from r where v = 10")
        query = failing(bench.query, **where)
        dying = Refresher(query, StatementConf(query), SparkWarehouse(query), lambda: None)
        with pytest.raises(DbtRuntimeError, match="killed"):
            dying.refresh(view.request())
        view.refresh("incremental" if "before" in where else "noop")
