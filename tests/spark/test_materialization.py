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


MANY = {
    "bag": "select x.v, y.w from {s}.x join {s}.y using (i)",
    "grouped": "select y.w, count(*) as n, sum(x.v) as total, avg(x.v) as mean, min(x.v) as lo "
    "from {s}.x, {s}.y where x.i = y.i group by y.w having count(*) > 0",
    "top": "select v, count(*) as n from {s}.x group by v order by n desc, v limit 2",
    "one_row": "select count(*) as n, max(v) as hi, sum(v) as total from {s}.x",
    "distinct_rows": "select distinct v from {s}.x",
    "fallback": "select n, count(*) as c from (select i, sum(distinct v / 2D) as n from {s}.x "
    "group by i) group by n",
}


@pytest.mark.thorough
def test_every_kind_of_view_stays_equal_to_its_query(lake: DbtProject) -> None:
    lake.models(**{name: IVM + sql.format(s=lake.schema) for name, sql in MANY.items()})
    lake.write(
        {
            "models/schema.yml": "models:\n"
            + "".join(f"  - name: {name}\n    data_tests: [ivm_consistent]\n" for name in MANY)
        }
    )
    result = lake.dbt("build")
    assert result.success, result.log
    for changes in (
        ("insert into x values (5, 7), (null, 1), (3, 3)", "delete from y where i = 3"),
        ("update x set v = null where v = 3", "delete from y", "insert into y values (5, 'd')"),
    ):
        for change in changes:
            lake.sql(change)
        result = lake.dbt("build")
        assert result.success, result.log
        strategies = {n: result.response(n)["strategy"] for n in MANY}
        assert strategies.pop("fallback") == "full"
        assert set(strategies.values()) <= {"incremental", "noop"}, changes


@pytest.mark.thorough
def test_a_view_that_differs_is_found_and_its_rows_are_named(lake: DbtProject) -> None:
    lake.models(m=IVM + f"select i, v from {lake.schema}.x")
    lake.write({"models/schema.yml": "models: [{name: m, data_tests: [ivm_consistent]}]"})
    assert lake.dbt("build").success
    lake.sql("update m__ivm_state set __ivm_count__ = 2 where v = 3")
    result = lake.dbt("test")
    assert not result.success
    assert "(i=3, v=3) expected 1 times, found 2" in result.log
    again = lake.run()
    assert again.response("m")["reason"] == "STATE_MODIFIED"
    assert lake.dbt("test").success


def test_a_view_that_is_not_built_yet_has_nothing_to_compare(lake: DbtProject) -> None:
    lake.models(m=IVM + f"select i, v from {lake.schema}.x;\n-- the end;")
    schema = "models: [{name: m, data_tests: [ivm_consistent]}]"
    lake.write({"models/schema.yml": schema})
    assert lake.dbt("compile").success
    empty = lake.dbt("build", "--empty")
    assert empty.success, empty.log
    result = lake.dbt("test")
    assert not result.success
    assert "built by --empty or --sample" in result.log
    assert lake.dbt("build").success
    lake.write({"models/schema.yml": schema.replace("ent]", "ent: {config: {where: i > 1}}]")})
    result = lake.dbt("test")
    assert not result.success
    assert "takes no config 'where'" in result.log


def test_a_contract_is_kept(lake: DbtProject) -> None:
    lake.models(m=IVM + f"select i, v from {lake.schema}.x")
    column = "- {name: i, data_type: int}\n      - {name: v, data_type: %s}"
    schema = "models:\n  - name: m\n    config: {contract: {enforced: true}}\n    columns:\n      "
    lake.write({"models/schema.yml": schema + column % "string"})
    result = lake.dbt("run")
    assert not result.success
    assert "contract" in result.message("m")
    lake.write({"models/schema.yml": schema + column % "int"})
    lake.run()
    assert rows(lake, "m") == [(3, 1), (3, 3)]


@pytest.mark.thorough
def test_explain_shows_plan_state_and_sql(
    lake: DbtProject, capsys: pytest.CaptureFixture[str]
) -> None:
    """The text is what a run compiles: with vars of the package, ephemeral and private models."""
    lake.models(
        below="{{ config(materialized='ephemeral', group='g', access='private') }} "
        f"select i, v from {lake.schema}.x",
        m="{{ config(materialized='incremental_ivm', group='g') }} "
        "select w, min(v) as lo, {{ var('one', 2) }} as one "
        f"from {{{{ ref('below') }}}} x join {lake.schema}.y using (i) group by w",
    )
    lake.write({"models/groups.yml": "groups: [{name: g, owner: {name: us}}]"})
    path = lake.root / "dbt_project.yml"
    path.write_text(f"{path.read_text()}\nvars: {{project: {{one: 1}}}}\n")
    result = lake.dbt("run-operation", "ivm_explain", "--args", "{model: m}")
    assert result.success, result.log
    shown = capsys.readouterr().out
    assert "1 AS one" in shown
    assert "Aggregate lo = MIN(" in shown
    assert "⋈" in shown and "MERGE INTO" in shown


def test_models_of_a_run_ask_about_a_source_once_and_see_one_version(
    make_project: MakeProject, rounds: int
) -> None:
    project = make_project(threads=2)
    schema = project.schema
    for name in ("x", "y"):
        project.sql(f"create table {name} (i int, v int) using delta {FEED}")
        project.sql(f"insert into {name} values (1, 1), (2, 2)")
    sources = f"sources: [{{name: lake, schema: {schema}, tables: [{{name: x}}, {{name: y}}]}}]"
    project.write({"models/sources.yml": sources})
    x, y = "{{ source('lake', 'x') }}", "{{ source('lake', 'y') }}"
    # The first model's hook writes to a source while the run goes on.
    late = f"insert into {schema}.x values (3, 3)"
    project.models(
        a="{{ config(materialized='incremental_ivm', post_hook=\"" + late + '") }}\n'
        f"select i, sum(v) as total from {x} group by i",
        b=IVM
        + f"-- depends_on: {{{{ ref('a') }}}}\nselect x.i, y.v from {x} x join {y} y using (i)",
        stage=f"{{{{ config(materialized='view') }}}} select * from {x}",
        c=IVM + "-- depends_on: {{ ref('a') }}\nselect count(*) as n from {{ ref('stage') }}",
        d=IVM + "select count(*) as n from {{ ref('a') }}",
    )
    project.run()
    assert rows(project, "a") == rows(project, "b") == [(1, 1), (2, 2)]
    for _ in range(rounds):
        project.sql("insert into y values (3, 4), (4, 5), (5, 6), (6, 7)")
        result = project.run()
        for name in ("x", "y"):
            question = f"History of {schema}.{name}, from its log"
            assert result.debug_log.lower().count(question.lower()) == 1, name
    ranges = {m: result.response(m)["sources"] for m in "abc"}
    read = {m: r for m, found in ranges.items() for r in found if r.startswith("x@")}
    assert set(read.values()) == {read["a"]}, read
    assert result.response("d")["strategy"] == "incremental"
    assert project.run("--select", "b").response("b")["strategy"] == "incremental"
    assert rows(project, "b")[-1] == (3, 4)
