"""`dbt debug`."""

from __future__ import annotations

from typing import Any

import pytest
from dbt.tests.adapter.basic.test_validate_connection import BaseValidateConnection
from dbt.tests.adapter.dbt_debug.test_dbt_debug import (
    BaseDebugInvalidProjectPostgres,
    BaseDebugPostgres,
    BaseDebugProfileVariable,
)
from dbt.tests.util import run_dbt


class TestDebug(BaseDebugPostgres):
    """A wrong target for a wrong user, whom a session does not have."""

    @pytest.fixture(scope="class")
    def dbt_profile_data(
        self, unique_schema: str, dbt_profile_target: dict[str, Any]
    ) -> dict[str, Any]:
        right = {**dbt_profile_target, "schema": unique_schema}
        wrong = {**right, "method": "telegraph"}
        targets = {"default": right, "nopass": wrong, "wronguser": wrong, "none_target": None}
        return {"test": {"outputs": targets, "target": "default"}}


@pytest.mark.quick
class TestDebugProfileVariable(BaseDebugProfileVariable):
    """A test: the suite has none for it."""

    def test_ok(self, project: Any) -> None:
        run_dbt(["debug"])
        assert "ERROR" not in self.capsys.readouterr().out


class TestDebugInvalidProject(BaseDebugInvalidProjectPostgres):
    pass


class TestValidateConnection(BaseValidateConnection):
    pass
