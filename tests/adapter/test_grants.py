"""The config `grants`: applied where the engine has privileges, else one warning a run."""

from __future__ import annotations

from typing import Any

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.sparkivm.bridge.grants import GrantsMixin, has_grants
from tests.helpers.dbt_project import DbtProject

OPEN_SPARK = "[PARSE_SYNTAX_ERROR] Syntax error at or near 'ON': missing 'FUNCTIONS'."
OLD_SPARK = "Operation not allowed: SHOW GRANT(line 1, pos 0)"
NO_ACLS = "but Table Access Control is not enabled on this cluster."
FORBIDDEN = "[INSUFFICIENT_PERMISSIONS] User does not have permission."
MISSING = "[SCHEMA_NOT_FOUND] The schema cannot be found."
WARNING = "The config `grants` has no effect"


@pytest.mark.parametrize(
    ("answers", "known"),
    [
        ({}, True),
        ({"SHOW GRANTS": OPEN_SPARK, "SHOW GRANT ": OPEN_SPARK}, False),
        ({"SHOW GRANTS": OLD_SPARK, "SHOW GRANT ": OLD_SPARK}, False),
        ({"SHOW GRANTS": NO_ACLS, "SHOW GRANT ": OPEN_SPARK}, False),
        ({"SHOW GRANTS": FORBIDDEN}, True),
        ({"SHOW GRANTS": MISSING}, True),
        ({"SHOW GRANTS": OLD_SPARK}, True),  # Hive's
    ],
)
def test_which_engines_have_grants(answers: dict[str, str], known: bool) -> None:
    def query(sql: str) -> list[dict[str, Any]]:
        for start, message in answers.items():
            if sql.startswith(start):
                raise DbtRuntimeError(message)
        return []

    assert has_grants(query, "shop") is known


GRANTS = "grants={'select': ['reporter']}"
QUERIES = {
    "table": "select 1 as i",
    "view": "select 1 as i",
    "incremental": "select 1 as i",
    "incremental_ivm": "select i from {{ ref('model_table') }}",
}
MODELS = {
    f"model_{kind}": f"{{{{ config(materialized='{kind}', {GRANTS}) }}}} {sql}"
    for kind, sql in QUERIES.items()
}


def test_open_spark_has_none_and_dbt_warns_once_and_goes_on(project: DbtProject) -> None:
    """Each model failed with a syntax error, after it was built."""
    project.models(**MODELS)
    project.write(
        {
            "seeds/s.csv": "i\n1\n",
            "seeds/s.yml": "seeds: [{name: s, config: {grants: {select: [reporter]}}}]",
        }
    )
    result = project.dbt("build")
    assert result.success, result.log
    assert result.log.count(WARNING) == 1
    assert project.dbt("build").log.count(WARNING) == 1


def test_where_warnings_are_errors_nothing_is_built(project: DbtProject) -> None:
    project.models(t=MODELS["model_table"])
    project.sql("select 1")  # makes the schema
    refused = project.dbt("run", "--warn-error-options", "{error: [AdapterEventWarning]}")
    assert WARNING in refused.message("t")
    assert project.sql("show tables") == []


def test_where_the_engine_has_grants_they_are_applied_as_dbt_does(
    project: DbtProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(GrantsMixin, "ivm_has_grants", lambda self: True)
    project.models(t=MODELS["model_table"])
    result = project.dbt("run")
    assert WARNING not in result.log
    assert f"grant select on {project.schema}.t to `reporter`" in result.debug_log
