"""Maintained models through dbt itself, on a real Spark and Delta."""

from __future__ import annotations

import pytest

from tests.conftest import MakeProject
from tests.helpers.dbt_project import DbtProject

FEED = "tblproperties (delta.enableChangeDataFeed = true)"
IVM = "{{ config(materialized='incremental_ivm') }}\n"


@pytest.fixture
def lake(make_project: MakeProject) -> DbtProject:
    """A project with tables x and y, which have change feeds."""
    project = make_project()
    project.sql(f"create table x (i int, v int) using delta {FEED}")
    project.sql(f"create table y (i int, w string) using delta {FEED}")
    project.sql("insert into x values (3, 3), (3, 1)")
    project.sql("insert into y values (3, 'a'), (5, 'b'), (null, 'c')")
    return project


def rows(project: DbtProject, relation: str) -> list[tuple]:  # type: ignore[type-arg]
    return sorted((tuple(r) for r in project.sql(f"select * from {relation}")), key=repr)


def test_a_self_join_whose_old_image_equals_another_rows_new_image(lake: DbtProject) -> None:
    schema = lake.schema
    lake.models(
        m=IVM + f"select a.v, count(*) as n from {schema}.x a "
        f"join {schema}.x b on a.i = b.i group by a.v"
    )
    first = lake.run()
    assert first.response("m")["strategy"] == "full"
    assert first.response("m")["reason"] == "FIRST_BUILD"
    assert rows(lake, "m") == [(1, 2), (3, 2)]

    lake.sql("update x set v = 3 where v = 1")
    second = lake.run()
    assert rows(lake, "m") == [(3, 4)]
    assert second.response("m")["strategy"] == "incremental"
    assert second.message("m") == "incremental: +0 ~1 -1 rows from x@1→2"

    third = lake.run()
    assert third.message("m") == "noop: no source changed"
