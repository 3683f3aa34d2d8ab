"""Ephemeral models, which become common table expressions of those that read them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from dbt.tests.adapter.ephemeral.test_ephemeral import (
    BaseEphemeralErrorHandling,
    BaseEphemeralMulti,
    BaseEphemeralNested,
)
from dbt.tests.util import check_relations_equal, run_dbt


def statement(project: Any, model: str) -> str:
    """What was run for a model, in lower case, without comments, quotes and blanks."""
    text = Path(project.project_root, "target", "run", "test", "models", f"{model}.sql").read_text()
    return re.sub(r"--.*|\s+|`", "", text).lower()


class TestEphemeralMulti(BaseEphemeralMulti):
    """Spark's statement for a view."""

    def test_ephemeral_multi(self, project: Any) -> None:
        run_dbt(["seed"])
        assert len(run_dbt(["run"])) == 3
        for model in ("dependent", "double_dependent", "super_dependent"):
            check_relations_equal(project.adapter, ["seed", model])
        schema = project.test_schema
        assert statement(project, "double_dependent") == (
            f"createorreplaceview{schema}.double_dependentas"
            f"with__dbt__cte__baseas(select*from{schema}.seed),"
            "__dbt__cte__base_copyas(select*from__dbt__cte__base)"
            "select*from__dbt__cte__basewheregender='male'unionall"
            "select*from__dbt__cte__base_copywheregender='female'"
        )


class TestEphemeralNested(BaseEphemeralNested):
    """Spark's statement for a view."""

    def test_ephemeral_nested(self, project: Any) -> None:
        assert len(run_dbt(["run"])) == 2
        schema = project.test_schema
        assert statement(project, "root_view") == (
            f"createorreplaceview{schema}.root_viewas"
            f"with__dbt__cte__ephemeral_level_twoas(select*from{schema}.source_table),"
            "__dbt__cte__ephemeralas(select*from__dbt__cte__ephemeral_level_two)"
            "select*from__dbt__cte__ephemeral"
        )


class TestEphemeralErrorHandling(BaseEphemeralErrorHandling):
    pass
