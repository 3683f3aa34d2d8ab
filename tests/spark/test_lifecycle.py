"""Views and states beside refreshes: dropped, replaced, left behind; and names that are refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import MakeProject
from tests.helpers.dbt_project import DbtProject
from tests.spark.workbench import FEED


def ivm(sql: str, **config: Any) -> str:
    """A maintained model."""
    options = "".join(f", {key}={value!r}" for key, value in config.items())
    return f"{{{{ config(materialized='incremental_ivm'{options}) }}}}\n{sql}"


@pytest.fixture
def lake(make_project: MakeProject) -> Iterator[DbtProject]:
    """A project with a table x, which has a change feed."""
    project = make_project()
    project.sql(f"create table x (i int, v int) using delta {FEED}")
    project.sql("insert into x values (1, 10), (2, 20), (2, 30)")
    yield project


def sums(project: DbtProject, **config: Any) -> str:
    return ivm(f"select i, sum(v) as s from {project.schema}.x group by i", **config)


def rows(project: DbtProject, relation: str = "m") -> list[tuple[Any, ...]]:
    return sorted((tuple(r) for r in project.sql(f"select * from {relation}")), key=repr)


def tables(project: DbtProject) -> set[str]:
    return {row["tableName"] for row in project.sql(f"show tables in {project.schema}")}


def test_views_that_were_dropped_or_replaced_are_made_again(lake: DbtProject) -> None:
    text = f"select i, 'it\\'s \\\\ \"x\"\\n' as `Odd Name`, v -- no\nfrom {lake.schema}.x"
    lake.models(
        m=sums(lake),
        odd=ivm(text, persist_docs={"relation": True}),
        top=ivm("select count(*) as n, sum(s) as s from {{ ref('m') }}"),
    )
    description = "said as of now"
    lake.write({"models/s.yml": f"models: [{{name: odd, description: {description}}}]"})
    lake.run()
    idle = lake.run()
    for name in ("m", "odd", "top"):  # the catalog keeps a view's text as it was written
        assert idle.response(name)["reason"] == "UNCHANGED"

    lake.sql("drop view m")
    lake.sql("drop view odd")
    lake.sql("insert into x values (3, 5)")
    again = lake.run()
    told = "the public view was gone, and is created again"
    assert again.message("m") == f"incremental: +1 ~0 -0 rows from x@1→2; {told}"
    assert again.response("odd")["strategy"] == "incremental"
    assert again.message("top").startswith("incremental: +0 ~1 -0 rows from m__ivm_state")
    assert rows(lake) == [(1, 10), (2, 50), (3, 5)]
    assert rows(lake, "top") == [(3, 65)]
    comment = [r["data_type"] for r in lake.sql("describe table extended odd")
               if r["col_name"] == "Comment"]  # fmt: skip
    assert comment == [description]

    lake.sql("create or replace view m as select * from m__ivm_state where i > 1")
    again = lake.run()
    assert again.response("m")["reason"] == "VIEW_MISSING"
    assert again.response("m")["strategy"] == again.response("top")["strategy"] == "noop"
    assert rows(lake) == [(1, 10), (2, 50), (3, 5)]
    assert lake.run().response("m")["reason"] == "UNCHANGED"


def test_under_continue_the_former_query_is_followed(lake: DbtProject) -> None:
    lake.models(w=f"{{{{ config(materialized='view') }}}} select i, v from {lake.schema}.x")
    former = "select i, sum(v) as s from {{ ref('w') }} group by i"
    lake.models(m=ivm(former))
    lake.run()
    edited = f"select i, count(*) as n from {lake.schema}.x group by i"
    lake.models(m=ivm(edited, on_configuration_change="continue"))
    lake.write({"models/s.yml": "models: [{name: m, data_tests: [ivm_consistent]}]"})
    lake.sql("insert into x values (3, 5)")
    followed = lake.dbt("build")
    assert followed.success, followed.log
    assert followed.response("m")["strategy"] == "incremental"
    assert "m: the query changed; the view follows the former query" in followed.log
    assert rows(lake) == [(1, 10), (2, 50), (3, 5)]
    hook = "set spark.sql.session.timeZone = Asia/Tokyo"
    lake.models(m=ivm(edited, on_configuration_change="continue", pre_hook=hook))
    lake.sql("insert into x values (3, 5)")
    kept = lake.run()
    assert kept.response("m")["strategy"] == "noop"
    assert "a session setting that the former query depends on changed" in kept.log
    assert rows(lake) == [(1, 10), (2, 50), (3, 5)]


def renamed(project: DbtProject, name: str) -> None:
    """Give the dbt project another name."""
    path = project.root / "dbt_project.yml"
    lines = path.read_text().splitlines()
    lines = [f"name: {name}" if line.startswith("name:") else line for line in lines]
    project.write({"dbt_project.yml": "\n".join(lines) + "\n"})


def test_states_that_no_model_keeps_up(
    lake: DbtProject, capsys: pytest.CaptureFixture[str]
) -> None:
    def orphans(*args: str) -> str:
        capsys.readouterr()
        result = lake.dbt("run-operation", "ivm_orphans", *args)
        assert result.success, result.log
        return capsys.readouterr().out

    plain = f"select i, v from {lake.schema}.x"
    lake.models(foreign_one=sums(lake))
    renamed(lake, "bank")
    lake.run()
    (lake.root / "models/foreign_one.sql").unlink()
    renamed(lake, "project")
    others = ("as_table", "as_parquet", "as_incremental", "as_view")
    lake.models(m=sums(lake), gone=sums(lake), **dict.fromkeys(others, sums(lake)))
    lake.run()
    assert {f"{name}__ivm_state" for name in ("m", *others)} < tables(lake)

    lake.models(
        m=sums(lake, ivm_state_suffix="_kept"),
        as_table=f"{{{{ config(materialized='table') }}}} {plain}",
        as_parquet=f"{{{{ config(materialized='table', file_format='parquet') }}}} {plain}",
        as_incremental=f"{{{{ config(materialized='incremental') }}}} {plain}",
        as_view=f"{{{{ config(materialized='view') }}}} {plain}",
    )
    (lake.root / "models/gone.sql").unlink()
    before = orphans()
    assert f"{lake.schema}.m__ivm_state: state of {lake.schema}.m; the model keeps" in before
    assert f"{lake.schema}.m reads it until its next run" in before
    assert "no model of this target has this name" in before
    assert "of the project bank; it is left alone" in before
    assert "1 of 7 can be dropped" in before

    result = lake.run()
    assert f"Dropped {lake.schema}.m__ivm_state, the former state of m" in result.log
    assert result.response("m")["reason"] == "FIRST_BUILD"
    assert rows(lake) == [(1, 10), (2, 50)]
    left = {name for name in tables(lake) if "__ivm_state" in name or "_kept" in name}
    assert left == {"foreign_one__ivm_state", "gone__ivm_state", "m_kept"}

    dropped = orphans("--args", "{drop: true}")
    assert f"dropped {lake.schema}.gone: the view of that state" in dropped
    assert f"kept    {lake.schema}.foreign_one__ivm_state" in dropped
    assert {"gone", "gone__ivm_state"}.isdisjoint(tables(lake))
    assert {"foreign_one", "foreign_one__ivm_state", "m", "m_kept"} < tables(lake)
    assert lake.run().response("m")["strategy"] == "noop"


@pytest.mark.thorough
def test_names_that_the_metastore_refuses(lake: DbtProject) -> None:
    query = f"select i from {lake.schema}.x"
    hook = f"create table {lake.schema}.hooked (i int) using delta"
    lake.models(
        alias=ivm(query, alias="odd name; drop", pre_hook=hook),
        stock="{{ config(materialized='view', alias='odd-name') }} select 1 as i",
        suffix=ivm(query, ivm_state_suffix="; drop table x"),
        long=ivm(query, alias="m" * 250),
        fine=ivm(query, alias="1_select"),
    )
    result = lake.dbt("run")
    for name in ("alias", "stock", "suffix", "long"):
        assert result.statuses[name] == "error"
        assert "IVM_INVALID_MODEL" in result.message(name), result.message(name)
    for name, part in {
        "alias": "The alias 'odd name; drop' has characters",
        "stock": "Allowed are the letters a to z, digits and _. Set another one by",
        "suffix": "Set another ivm_state_suffix",
        "long": "has 261 characters",
    }.items():
        assert part in result.message(name), result.message(name)
    assert result.statuses["fine"] == "success"
    assert tables(lake) == {"x", "1_select", "1_select__ivm_state"}

    lake.models(alias=ivm(query, schema="odd schema; drop"))
    result = lake.dbt("run", "--select", "alias")
    assert not result.success
    told = str(result.exception or result.log)
    assert "odd schema; drop' has characters" in told
    assert "Set another schema in the profile or by the config schema" in told
