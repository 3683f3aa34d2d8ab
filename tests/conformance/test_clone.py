"""`dbt clone`."""

from __future__ import annotations

from typing import Any

from dbt.tests.adapter.dbt_clone.test_dbt_clone import (
    BaseClonePossible,
    BaseCloneSameSourceAndTarget,
    BaseCloneSameTargetAndState,
)
from dbt.tests.util import run_dbt_and_capture


class TestClonePossible(BaseClonePossible):
    pass


class TestCloneSameSourceAndTarget(BaseCloneSameSourceAndTarget):
    pass


class TestCloneSameTargetAndState(BaseCloneSameTargetAndState):
    """A snapshot that was never built is told of in the log, and not an error."""

    def test_clone_same_target_and_state(
        self, project: Any, unique_schema: str, other_schema: str
    ) -> None:
        project.create_test_schema(other_schema)
        self.run_and_save_state(project.project_root)
        results, output = run_dbt_and_capture(["clone", "--defer", "--state", "target"])
        assert "The state and target directories are the same: 'target'" in output
        assert {result.message for result in results} == {"No-op"}
