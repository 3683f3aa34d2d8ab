"""Models that run at once, or one after the other, do not see each other's session."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.conftest import QUICK
from tests.helpers.dbt_project import DbtProject

MakeProject = Callable[..., DbtProject]

SETTING = "spark.sql.shuffle.partitions"

SHOW = f"""
{{% macro shown() %}}
  {{% if execute %}}{{{{ return(run_query('set {SETTING}').rows[0][1]) }}}}{{% endif %}}
{{% endmacro %}}
"""


def incremental(schema: str, tag: str) -> str:
    """A stock incremental model, whose merge reads from a temporary view named after its alias."""
    return f"""
        {{{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id',
                    alias='same', schema='{schema}') }}}}
        select id, '{tag}' as tag from range(20000)
    """


@pytest.mark.thorough
def test_one_alias_in_many_schemas_at_once(make_project: MakeProject) -> None:
    project = make_project(threads=4)
    names = ["a", "b", "c", "d"]
    project.models(**{f"model_{name}": incremental(name, f"tag {name}") for name in names})
    for _ in range(2):
        project.run()
        for name in names:
            rows = project.sql(
                f"select tag, count(*) from {project.schema}_{name}.same group by tag"
            )
            assert rows == [(f"tag {name}", 20000)]


def test_a_models_settings_end_with_it(project: DbtProject) -> None:
    project.write({"macros/shown.sql": SHOW})
    project.models(
        first=f"{{{{ config(pre_hook='set {SETTING}=99') }}}} select '{{{{ shown() }}}}' as value",
        second="-- {{ ref('first') }}\nselect '{{ shown() }}' as value",
    )
    project.run()
    assert project.sql("select value from second") == [(QUICK[SETTING],)]


@pytest.mark.parametrize("value", [5, pytest.param(6, marks=pytest.mark.thorough)])
def test_a_profiles_settings_are_its_own(make_project: MakeProject, value: int) -> None:
    changed, plain = make_project(settings={SETTING: value}), make_project()
    for project in (changed, plain):
        project.write({"macros/shown.sql": SHOW})
        project.models(m="{{ config(materialized='table') }} select '{{ shown() }}' as value")
        result = project.run()
        assert "Without effect" not in result.log
    assert changed.sql("select value from m") == [(str(value),)]
    assert plain.sql("select value from m") == [(QUICK[SETTING],)]


def test_ansi_is_the_users_choice(make_project: MakeProject) -> None:
    model = "{{ config(materialized='table') }} select 1 / id as x from range(1)"
    lax = make_project().models(m=model)
    lax.run()
    assert lax.sql("select x from m") == [(None,)]

    strict = make_project(settings={"spark.sql.ansi.enabled": True}).models(m=model)
    result = strict.dbt("run")
    assert not result.success
    assert "[DIVIDE_BY_ZERO]" in result.message("m")


def test_a_setting_of_the_process_cannot_change_and_this_is_said_once(
    make_project: MakeProject,
) -> None:
    make_project().models(m="select 1 as x").run()
    project = make_project(settings={"spark.executor.cores": 3}).models(m="select 1 as x")
    result = project.run()
    assert result.log.count("Without effect: spark.executor.cores=3 (it is not set)") == 1
    assert "Without effect" not in project.run().log
