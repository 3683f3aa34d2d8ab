"""A small project: a seed, and copies of it in each materialization."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.adapter.simple_copy.test_copy_uppercase import BaseSimpleCopyUppercase
from dbt.tests.adapter.simple_copy.test_simple_copy import EmptyModelsArentRunBase, SimpleCopyBase
from dbt.tests.util import run_dbt


class TestSimpleCopy(SimpleCopyBase):
    """A maintained view in place of a materialized one, which Spark does not have."""

    def test_simple_copy_with_materialized_views(self, project: Any) -> None:
        (project.project_root / "models").join("maintained.sql").write(
            "{{ config(materialized='incremental_ivm') }} select * from {{ ref('seed') }}"
        )
        run_dbt(["seed"])
        assert len(run_dbt()) == 8
        schema = project.test_schema
        project.run_sql(f"create view {schema}.unrelated as select * from {schema}.maintained")
        assert len(run_dbt(["seed"])) == 1
        assert len(run_dbt()) == 8


class TestSimpleCopyUppercase(BaseSimpleCopyUppercase):
    """This profile's target in place of the suite's of Postgres."""

    @pytest.fixture(scope="class")
    def dbt_profile_target(self, session_target: dict[str, Any]) -> dict[str, Any]:
        return session_target


class TestEmptyModelsArentRun(EmptyModelsArentRunBase):
    """What exists by SHOW TABLES: Spark has no information schema."""

    def test_dbt_doesnt_run_empty_models(self, project: Any) -> None:
        assert len(run_dbt(["seed"])) == 1
        assert len(run_dbt()) == 7
        rows = project.run_sql(f"show tables in {project.test_schema}", fetch="all")
        assert not {"empty", "disabled"} & {row[1] for row in rows}
