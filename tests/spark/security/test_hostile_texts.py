"""What models, sources and configs say stays a name, a value or a comment in every statement."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import MakeProject
from tests.helpers.dbt_project import DbtProject
from tests.spark.workbench import FEED, Bench

pytestmark = pytest.mark.spark

VICTIM = "drop table victim"
HOSTILE = (
    f"'); {VICTIM}; --",
    f"\\'); {VICTIM}; --",
    f"`; {VICTIM}; --",
    f'"; {VICTIM}; --',
    f"*/ {VICTIM} /*",
    "${spark.app.name} ${env:HOME}",
    "line\nbreak\r\ttab",
    "%s %% {{ 7 * 6 }} {% raw %}",
    "\\u0027 \\x27 \\047 \\",
    "' or 1 = 1 or '",
    "ö 漢字 \U0001f600",
)
"""Texts that end a literal, a name or a comment somewhere, or stand for something else."""


def literal(text: str) -> str:
    """A text as Spark SQL writes it, by another way than the product's."""
    return f"decode(X'{text.encode().hex()}', 'UTF-8')"


def named(text: str) -> str:
    return "`" + text.replace("`", "``") + "`"


@pytest.fixture
def guarded(bench: Bench) -> Any:
    """A bench with a table that nothing may touch."""
    bench.sql("create table victim (x int) using delta", "insert into victim values (1)")
    yield bench
    assert bench.sql("select * from victim") == [(1,)]


@pytest.mark.thorough
def test_rows_with_hostile_values_are_followed(guarded: Bench) -> None:
    guarded.table("facts", "k string, v int")
    guarded.table("names", "k string, name string")
    for number, text in enumerate(HOSTILE):
        guarded.sql(
            f"insert into facts select {literal(text)}, {number}",
            f"insert into names select {literal(text)}, {literal(text)}",
        )
    guarded.view("select f.k, name, sum(v) as v from facts f join names n using (k) group by all")
    known = "select name from names"
    guarded.view(f"select k, {literal(HOSTILE[0])} as c from facts where k not in ({known})")
    guarded.view("select k, max(v) as top from facts group by k")
    for number, text in enumerate(HOSTILE):
        guarded.sql(f"insert into facts select {literal(text)}, {number + 100}")
    guarded.refresh(None)
    guarded.sql("delete from facts where v > 103", f"update names set k = {literal(HOSTILE[1])}")
    guarded.refresh(None)


def test_literals_of_a_query_stay_literals(guarded: Bench) -> None:
    guarded.table("r", "k int, s string", "(1, 'a')")
    items = []
    for number, text in enumerate(HOSTILE):
        escaped = text.replace("\\", "\\\\").replace("'", "\\'")
        escaped = escaped.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
        if "${" not in text:  # Spark itself replaces these in a user's statement
            items.append(f"'{escaped}' as c{number}, s = '{escaped}' as same{number}")
    guarded.view(f"select k, {', '.join(items)} from r")
    guarded.sql(*(f"insert into r select 2, {literal(text)}" for text in HOSTILE))
    guarded.sql("delete from r where k = 1")
    guarded.refresh()


def test_names_of_columns_stay_names(guarded: Bench) -> None:
    # Delta itself fails to write to a table of which a column has one of these signs.
    names = [named(text) for text in HOSTILE if not any(sign in text for sign in "\n$`")]
    columns = ", ".join(f"{name} string" for name in names)
    guarded.sql(
        f"create table r (k int, {columns}) using delta tblproperties "
        "(delta.enableChangeDataFeed = true, delta.columnMapping.mode = 'name')",
        f"insert into r select 1, {', '.join(literal(text) for text in HOSTILE[: len(names)])}",
    )
    guarded.view("select * from r")
    grouped = ", ".join(names)
    guarded.view(f"select {grouped}, count(*) as n from r group by {grouped}")
    guarded.sql("insert into r select * from r", f"update r set {names[0]} = 'x' where k = 1")
    guarded.refresh()


YAML = """
models:
  - name: m
    description: {text}
    config: {{persist_docs: {{relation: true, columns: true}}, tblproperties: {{note: {text}}}}}
    columns: [{{name: k, description: {text}}}]
"""


def test_texts_of_a_projects_yaml_stay_texts(make_project: MakeProject) -> None:
    project = make_project()
    project.sql("create table victim (x int) using delta")
    project.sql(f"create table r (k int, s string) using delta {FEED}")
    project.sql("insert into r values (1, 'a')")
    for text in HOSTILE:
        if any(sign in text for sign in ("{{", "\r")):
            continue  # dbt renders the former in YAML
        _run_with(project, text)
    assert not project.sql("select * from victim")


def _run_with(project: DbtProject, text: str) -> None:
    quoted = '"' + text.encode("unicode_escape").decode().replace('"', '\\"') + '"'
    project.write({"models/schema.yml": YAML.format(text=quoted)})
    project.models(
        m="{{ config(materialized='incremental_ivm') }} select k, s = '{{ var('v') }}' as same "
        f"from {project.schema}.r"
    )
    ran = project.run("--full-refresh", "--vars", '{"v": "plain"}')
    assert ran.response("m")["strategy"] == "full"
    told = {row["key"]: row["value"] for row in project.sql("show tblproperties m__ivm_state")}
    assert told["note"] == text
    assert project.run("--vars", '{"v": "plain"}').response("m")["strategy"] == "noop"


@pytest.mark.parametrize("where", ["alias", "schema", "ivm_state_suffix", "ivm_state_schema"])
def test_names_of_relations_are_refused_before_anything_runs(
    make_project: MakeProject, where: str
) -> None:
    project = make_project()
    project.sql("create table if not exists victim (x int) using delta")
    for text in (f"x; {VICTIM}", f"x`; {VICTIM}; --", "x' y", "a/../b", "a.b"):
        given = text.replace("\\", "\\\\").replace('"', '\\"')
        project.models(
            m=f'{{{{ config(materialized="incremental_ivm", {where}="{given}") }}}} select 1 as x'
        )
        result = project.dbt("run")
        assert not result.success
        # A schema is made before any model runs.
        told = result.message("m") if result.results else f"{result.log} {result.exception}"
        assert "Set another" in told, told
    assert not project.sql("select * from victim")
