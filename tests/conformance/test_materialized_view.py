"""dbt's suites for materialized views, with `incremental_ivm` in their place."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.adapters.base.relation import BaseRelation
from dbt.tests.adapter.materialized_view import files
from dbt.tests.adapter.materialized_view.basic import MaterializedViewBasic
from dbt.tests.adapter.materialized_view.changes import (
    MaterializedViewChanges,
    MaterializedViewChangesApplyMixin,
    MaterializedViewChangesContinueMixin,
    MaterializedViewChangesFailMixin,
)
from dbt.tests.util import get_model_file, run_dbt, run_dbt_and_capture, set_model_file

OURS = "materialized='incremental_ivm'"
MODEL = files.MY_MATERIALIZED_VIEW.replace("materialized='materialized_view'", OURS)


def relation_type(project: Any, relation: BaseRelation) -> str:
    """What a relation is: a table, a view, or a view that is maintained, which reads its state."""
    rows = project.run_sql(f"describe extended {relation}", fetch="all")
    told = {row[0]: row[1] for row in rows}
    if told["Type"] != "VIEW":
        return "table"
    return "materialized_view" if "__ivm_state" in told["View Text"] else "view"


def strategy(results: Any) -> str:
    """How the one model of a run was refreshed."""
    return str(results[0].adapter_response["strategy"])


def materialize(project: Any, relation: BaseRelation, old: str, new: str) -> None:
    """Give a model another materialization."""
    sql = get_model_file(project, relation)
    assert old in sql
    set_model_file(project, relation, sql.replace(old, new))


class TestMaterializedViewBasic(MaterializedViewBasic):
    """`incremental_ivm` in place of `materialized_view`; a full refresh is told as its strategy."""

    @pytest.fixture(scope="class", autouse=True)
    def models(self) -> dict[str, str]:
        return {
            "my_table.sql": files.MY_TABLE,
            "my_view.sql": files.MY_VIEW,
            "my_materialized_view.sql": MODEL,
        }

    @staticmethod
    def insert_record(project: Any, table: BaseRelation, record: tuple[int, int]) -> None:
        project.run_sql(f"insert into {table} values {record}")

    @staticmethod
    def refresh_materialized_view(project: Any, materialized_view: BaseRelation) -> None:
        results = run_dbt(["run", "--models", materialized_view.identifier])
        assert strategy(results) == "incremental"

    @staticmethod
    def query_row_count(project: Any, relation: BaseRelation) -> int:
        return int(project.run_sql(f"select count(*) from {relation}", fetch="one")[0])

    query_relation_type = staticmethod(relation_type)

    @staticmethod
    def swap_table_to_materialized_view(project: Any, table: BaseRelation) -> None:
        materialize(project, table, "materialized='table'", OURS)

    @staticmethod
    def swap_view_to_materialized_view(project: Any, view: BaseRelation) -> None:
        materialize(project, view, "materialized='view'", OURS)

    @staticmethod
    def swap_materialized_view_to_table(project: Any, materialized_view: BaseRelation) -> None:
        materialize(project, materialized_view, OURS, "materialized='table'")

    @staticmethod
    def swap_materialized_view_to_view(project: Any, materialized_view: BaseRelation) -> None:
        materialize(project, materialized_view, OURS, "materialized='view'")

    def test_materialized_view_full_refresh(
        self, project: Any, my_materialized_view: BaseRelation
    ) -> None:
        results = run_dbt(["run", "--models", my_materialized_view.identifier, "--full-refresh"])
        assert strategy(results) == "full"
        assert self.query_relation_type(project, my_materialized_view) == "materialized_view"


class Changes(MaterializedViewChanges):
    """Changes of a maintained view: its query. Nothing can be altered in place."""

    @pytest.fixture(scope="class", autouse=True)
    def models(self) -> dict[str, str]:
        return {"my_materialized_view.sql": MODEL}

    query_relation_type = staticmethod(relation_type)

    @staticmethod
    def values(project: Any, view: BaseRelation) -> list[int]:
        rows = project.run_sql(f"select value from {view} order by value", fetch="all")
        return [int(row[0]) for row in rows]

    def check_start_state(self, project: Any, materialized_view: BaseRelation) -> None:
        assert self.values(project, materialized_view) == [100, 200, 300]

    @staticmethod
    def change_config_via_replace(project: Any, materialized_view: BaseRelation) -> None:
        sql = get_model_file(project, materialized_view)
        set_model_file(project, materialized_view, f"{sql.rstrip()} where value > 100\n")

    def check_state_replace_change_is_applied(
        self, project: Any, materialized_view: BaseRelation
    ) -> None:
        assert self.values(project, materialized_view) == [200, 300]

    def test_full_refresh_occurs_with_changes(
        self, project: Any, my_materialized_view: BaseRelation
    ) -> None:
        self.change_config_via_replace(project, my_materialized_view)
        results = run_dbt(["run", "--models", my_materialized_view.identifier, "--full-refresh"])
        assert strategy(results) == "full"
        self.check_state_replace_change_is_applied(project, my_materialized_view)

    test_change_is_applied_via_alter = None
    test_change_is_not_applied_via_alter = None


class TestMaterializedViewChangesApply(Changes, MaterializedViewChangesApplyMixin):
    """A changed query for a changed configuration; a maintained view has nothing to alter."""

    def test_change_is_applied_via_replace(
        self, project: Any, my_materialized_view: BaseRelation
    ) -> None:
        self.check_start_state(project, my_materialized_view)
        self.change_config_via_replace(project, my_materialized_view)
        results = run_dbt(["run", "--models", my_materialized_view.name])
        assert strategy(results) == "full"
        self.check_state_replace_change_is_applied(project, my_materialized_view)


class TestMaterializedViewChangesContinue(Changes, MaterializedViewChangesContinueMixin):
    """A changed query for a changed configuration; a maintained view has nothing to alter."""

    def test_change_is_not_applied_via_replace(
        self, project: Any, my_materialized_view: BaseRelation
    ) -> None:
        self.check_start_state(project, my_materialized_view)
        self.change_config_via_replace(project, my_materialized_view)
        _, logs = run_dbt_and_capture(["run", "--models", my_materialized_view.name])
        assert "on_configuration_change: continue" in logs
        self.check_start_state(project, my_materialized_view)


class TestMaterializedViewChangesFail(Changes, MaterializedViewChangesFailMixin):
    """A changed query for a changed configuration; a maintained view has nothing to alter."""

    def test_change_is_not_applied_via_replace(
        self, project: Any, my_materialized_view: BaseRelation
    ) -> None:
        self.check_start_state(project, my_materialized_view)
        self.change_config_via_replace(project, my_materialized_view)
        command = ["run", "--models", my_materialized_view.name]
        _, logs = run_dbt_and_capture(command, expect_pass=False)
        assert "on_configuration_change: fail forbids a rebuild" in logs
        self.check_start_state(project, my_materialized_view)
