"""What a user sees of a refresh through dbt: commits, messages, configuration, hooks."""

from __future__ import annotations

import json
import re
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


def history(project: DbtProject, table: str = "m__ivm_state") -> list[Any]:
    return project.sql(f"describe history {table}")


def test_a_change_is_one_commit_and_none_is_none(lake: DbtProject) -> None:
    lake.models(m=sums(lake), other=ivm(f"select v from {lake.schema}.x"))
    built = lake.run()
    assert [c["operation"] for c in history(lake)] == ["CREATE OR REPLACE TABLE AS SELECT"]
    assert built.message("m") == "full (FIRST_BUILD): 2 rows from x@1"
    assert built.response("m")["rows_affected"] == 2

    lake.sql("insert into x values (3, 5), (1, 1)")
    result = lake.run()
    newest, _ = history(lake)
    assert newest["operation"] == "MERGE"
    bookmark = json.loads(newest["userMetadata"])
    version, committed = bookmark["sources"][f"{lake.schema}.x"]
    assert version == history(lake, "x")[0]["version"] == 2
    assert committed.isdigit()
    assert (bookmark["refresh"], bookmark["model"]) == (2, f"{lake.schema}.m")
    assert len(history(lake, "other__ivm_state")) == 2
    response = dict(result.response("m"))
    assert response.pop("seconds") > 0
    assert response == {
        "_message": "incremental: +1 ~1 -0 rows from x@1→2",
        "code": "incremental",
        "rows_affected": 2,
        "strategy": "incremental",
        "reason": "CHANGED",
        "explanation": "sources changed",
        "rows_inserted": 1,
        "rows_updated": 1,
        "rows_deleted": 0,
        "sources": ["x@1→2"],
        "reads": [{"source": f"{lake.schema}.x", "before": 1, "version": 2, "rows": 2}],
        "fallback": False,
    }
    assert "incremental: +1 ~1 -0 rows from x@1→2" in result.log

    assert result.debug_log.count("m: incremental (CHANGED): sources changed") == 1

    again = lake.run()
    assert again.message("m") == "noop: no source changed"
    assert "rows_affected" not in again.response("m")
    assert len(history(lake)) == 2


@pytest.mark.thorough
def test_a_row_of_a_bag_that_changes_is_one_row(lake: DbtProject) -> None:
    """It was told as one that went and one that came."""
    lake.models(m=ivm(f"select i, v from {lake.schema}.x"))
    lake.run()
    lake.sql("update x set v = 11 where i = 1")
    result = lake.run()
    assert result.message("m") == "incremental: +0 ~1 -0 rows from x@1→2"
    assert [result.response("m")[f"rows_{what}"] for what in ("inserted", "deleted")] == [0, 0]
    lake.sql("delete from x where i = 2 and v = 20")
    lake.sql("insert into x values (7, 7), (8, 8)")
    assert lake.run().message("m") == "incremental: +1 ~1 -0 rows from x@2→4"
    assert rows(lake) == [(1, 11), (2, 30), (7, 7), (8, 8)]


def test_full_refresh_and_what_false_forbids(lake: DbtProject) -> None:
    lake.models(m=sums(lake))
    lake.run()
    assert lake.run("--full-refresh").response("m")["reason"] == "FULL_REFRESH"
    lake.models(m=sums(lake, full_refresh=False))
    assert lake.run("--full-refresh").response("m")["strategy"] == "noop"
    lake.models(m=ivm(f"select i, v from {lake.schema}.x", full_refresh=False))
    refused = lake.dbt("run")
    assert "full_refresh: false forbids a rebuild" in refused.message("m")
    assert "take full_refresh: false out of the model's config" in refused.message("m")
    assert rows(lake) == [(1, 10), (2, 50)]


def test_an_empty_run_moves_nothing(lake: DbtProject) -> None:
    tables = [{"name": "lake", "schema": lake.schema, "tables": [{"name": "x"}]}]
    lake.write({"models/sources.yml": json.dumps({"sources": tables})})
    lake.models(m=ivm("select i, sum(v) as s from {{ source('lake', 'x') }} group by i"))
    first = lake.run("--empty")
    assert first.response("m")["reason"] == "PARTIAL"
    assert rows(lake) == []
    assert lake.run().response("m")["reason"] == "FIRST_BUILD"
    assert rows(lake) == [(1, 10), (2, 50)]
    lake.sql("insert into x values (9, 9)")
    assert lake.run("--empty").response("m")["strategy"] == "noop"
    assert rows(lake) == [(1, 10), (2, 50)]
    assert lake.run().response("m")["strategy"] == "incremental"
    assert rows(lake) == [(1, 10), (2, 50), (9, 9)]


@pytest.mark.thorough
def test_an_empty_run_of_a_chain_of_refs(lake: DbtProject) -> None:
    lake.models(
        base="{{ config(materialized='table', tblproperties={'delta.enableChangeDataFeed': 'true'})"
        f" }}}} select * from {lake.schema}.x",
        m=ivm("select i, count(*) as n from {{ ref('base') }} group by i"),
    )
    lake.run("--empty")
    assert rows(lake) == []
    lake.run()
    assert rows(lake) == [(1, 1), (2, 2)]
    # dbt's table materialization replaces the table; no row is another one.
    message = lake.run().response("m")["_message"]
    assert re.search(
        r"recompute \(SOURCE_REPLACED\): \+0 ~0 -0 .*base was replaced as a whole", message
    )
    assert rows(lake) == [(1, 1), (2, 2)]


@pytest.mark.thorough
def test_models_over_a_table_that_dbt_replaces_at_each_run(lake: DbtProject) -> None:
    """Each run rebuilt all of them."""
    lake.models(
        base="{{ config(materialized='table', tblproperties={'delta.enableChangeDataFeed': 'true'})"
        f" }}}} select * from {lake.schema}.x",
        m=ivm("select i, sum(v) as s from {{ ref('base') }} group by i"),
        top=ivm("select count(*) as n, sum(s) as s from {{ ref('m') }}"),
    )
    lake.run()
    lake.sql("insert into x values (1, 1), (3, 5)")
    result = lake.run()
    told = "recompute (SOURCE_REPLACED)"
    assert result.message("m").endswith("base was replaced as a whole")
    assert result.message("m").startswith(f"{told}: +1 ~1 -0 rows from base@0→1; ")
    assert result.message("top") == "incremental: +0 ~1 -0 rows from m__ivm_state@0→1"
    assert rows(lake) == [(1, 11), (2, 50), (3, 5)]
    assert rows(lake, "top") == [(3, 66)]
    result = lake.run()
    assert result.message("m").startswith(f"{told}: +0 ~0 -0 rows from base@1→2; ")
    assert result.response("top")["strategy"] == "noop"


def test_policies(lake: DbtProject) -> None:
    fallback = (
        f"select i, n from (select i, sum(distinct v + 0.5D) as n from {lake.schema}.x group by i)"
    )
    fallback = f"select n, count(*) as c from ({fallback}) group by n"
    lake.models(
        strict=ivm(fallback, ivm_policy="strict"),
        warned=ivm(fallback, ivm_policy="incremental"),
        auto=ivm(fallback),
        full=sums(lake, ivm_policy="full"),
        strict_but_fine=sums(lake, ivm_policy="strict"),
        misspelt=sums(lake, ivm_polcy="strict"),
        unknown=sums(lake, ivm_policy="fast"),
    )
    first = lake.dbt("run")
    assert "ivm_policy is strict" in first.message("strict")
    assert "line 2" in first.message("strict") or "floating" in first.message("strict")
    assert first.log.count("warned: rebuilt in full (NOT_YET_IMPLEMENTED)") == 1
    assert "auto: rebuilt" not in first.log
    assert "PASS=3 WARN=1 ERROR=3" in first.log
    assert (first.statuses["warned"], first.statuses["auto"]) == ("warn", "success")
    assert "Warning in model warned (models/warned.sql)" in first.log
    words = first.response("warned")["explanation"]
    assert first.response("warned")["warning"].endswith(f"(NOT_YET_IMPLEMENTED): {words}")
    assert "warning" not in first.response("auto")
    assert "Unknown config ivm_polcy" in first.message("misspelt")
    assert "Allowed are auto, incremental, strict, full" in first.message("unknown")
    second = lake.dbt("run", "--select", "full", "strict_but_fine")
    assert second.response("full")["reason"] == "POLICY_FULL"
    assert second.response("strict_but_fine")["strategy"] == "noop"


@pytest.mark.thorough
def test_a_warning_that_is_an_error_stops_the_model_before_anything_is_written(
    make_project: MakeProject,
) -> None:
    flags = {"send_anonymous_usage_stats": False}  # and no warn_error_options
    lake = make_project(config={"flags": flags, "models": {}, "seeds": {}})
    lake.sql("create table p using parquet as select 1 as i")
    lake.models(m=ivm(f"select i from {lake.schema}.p"))
    refused = lake.dbt("--warn-error", "run")
    assert refused.statuses == {"m": "error"}
    assert "m: rebuilt in full (SOURCE_NOT_DELTA)" in refused.message("m")
    assert lake.sql("show tables like 'm__ivm_state'") == []
    warned = lake.run()
    assert warned.message("m") == (
        f"full (SOURCE_NOT_DELTA): 1 row; {lake.schema}.p is not a Delta table"
    )
    assert "store it as one" in warned.response("m")["explanation"]
    assert "PASS=0 WARN=1 ERROR=0" in warned.log
    silent = "{silence: [AdapterEventWarning]}"
    assert "rebuilt in full" not in lake.run("--warn-error-options", silent).log


def test_an_edited_query(lake: DbtProject) -> None:
    lake.models(m=sums(lake))
    lake.run()
    edited = f"select i, count(*) as n from {lake.schema}.x group by i"
    lake.models(m=ivm(edited, on_configuration_change="fail"))
    assert "on_configuration_change: apply" in lake.dbt("run").message("m")
    lake.models(m=ivm(edited, on_configuration_change="continue"))
    kept = lake.run()
    assert kept.response("m")["reason"] == "QUERY_CHANGED"
    assert "the view follows the former query" in kept.log
    assert rows(lake) == [(1, 10), (2, 50)]
    lake.models(m=ivm("-- a comment\n" + edited))
    assert lake.run().response("m")["reason"] == "QUERY_CHANGED"
    assert rows(lake) == [(1, 1), (2, 2)]
    lake.models(m=ivm(edited + " -- another comment"))
    assert lake.run().response("m")["strategy"] == "noop"


@pytest.mark.thorough
def test_a_changed_session_setting_rebuilds(lake: DbtProject) -> None:
    lake.models(
        zoned=ivm(f"select hour(timestamp_seconds(v)) as h, count(*) as n from {lake.schema}.x "
                  "group by hour(timestamp_seconds(v))"),
    )  # fmt: skip
    lake.run()
    (before,) = {row[0] for row in rows(lake, "zoned")}
    hook = "set spark.sql.session.timeZone = Asia/Tokyo"
    lake.models(zoned=(lake.root / "models/zoned.sql").read_text().replace(
        "incremental_ivm'", f"incremental_ivm', pre_hook='{hook}'"))  # fmt: skip
    assert lake.run().response("zoned")["reason"] == "QUERY_CHANGED"
    (after,) = {row[0] for row in rows(lake, "zoned")}
    assert (after - before) % 24 == 9 or after == 9


@pytest.mark.thorough
def test_a_model_under_other_materializations_and_back(lake: DbtProject) -> None:
    query = f"select i, v from {lake.schema}.x"

    def as_(kind: str) -> str:
        return f"{{{{ config(materialized='{kind}') }}}} {query}"

    expected = [(1, 10), (2, 20), (2, 30)]
    for kind in ("table", "incremental_ivm", "view", "incremental_ivm", "table"):
        lake.models(m=as_(kind))
        lake.run()
        assert rows(lake) == expected, kind
        if kind != "incremental_ivm":
            lake.sql(f"insert into x values ({len(expected)}, 0)")
            expected = sorted([*expected, (len(expected), 0)], key=repr)
            lake.run()
            assert rows(lake) == expected, kind
    lake.sql("insert into x values (0, 0)")
    lake.models(m=as_("incremental_ivm"))
    lake.run()
    assert rows(lake) == [(0, 0), *expected]


def test_names_hooks_and_properties(lake: DbtProject) -> None:
    query = f"select i, v as `select`, i as `Two Words` from {lake.schema}.x"
    location = (lake.root / "elsewhere").as_uri()
    lake.sql("create table hooked (t string) using delta")
    lake.models(
        m=ivm(
            query,
            alias="Shown",
            ivm_state_suffix="_kept",
            tblproperties={"my.note": "it's"},
            location_root=location,
            pre_hook=f"insert into {lake.schema}.hooked values ('before')",
            post_hook=f"insert into {lake.schema}.hooked select concat('n=', count(*)) "
            "from {{ this }}",
        )
    )
    lake.run()
    assert lake.sql("select * from shown").__len__() == 3
    described = [c["col_name"] for c in lake.sql("describe query select * from shown")]
    assert described == ["i", "select", "Two Words"]
    assert sorted(r[0] for r in lake.sql("select t from hooked")) == ["before", "n=3"]
    properties = {r[0]: r[1] for r in lake.sql("show tblproperties Shown_kept")}
    assert properties["my.note"] == "it's"
    (detail,) = lake.sql("describe detail Shown_kept")
    assert "elsewhere" in detail["location"]
    lake.sql("insert into x values (7, 7)")
    assert lake.run().response("m")["strategy"] == "incremental"
    assert len(lake.sql("select * from shown")) == 4


@pytest.mark.thorough
def test_descriptions_are_kept_as_the_views_comments(lake: DbtProject) -> None:
    def describe(description: str) -> None:
        lake.write({"models/schema.yml": json.dumps({"models": [{
            "name": "m", "description": description,
            "columns": [{"name": "I", "description": "it's the key"}, {"name": "gone"}],
            "config": {"persist_docs": {"relation": True, "columns": True}},
        }]})})  # fmt: skip

    def comments() -> dict[str, str]:
        found = lake.sql("describe table extended m")
        end = next(n for n, row in enumerate(found) if not row["col_name"])
        about = {row["col_name"]: row["comment"] for row in found[:end]}
        told = {row["col_name"]: row["data_type"] for row in found[end:]}
        return {**about, "view": told.get("Comment", "")}

    describe("a view")
    lake.models(m=sums(lake))
    lake.run()
    assert comments() == {"i": "it's the key", "s": None, "view": "a view"}
    said = "in the version as of the last run"  # such words kept it from being a view of a state
    describe(said)
    lake.sql("insert into x values (1, 1)")
    assert lake.run().response("m")["strategy"] == "incremental"
    assert comments() == {"i": "it's the key", "s": None, "view": said}
    before = rows(lake)
    assert lake.run().response("m")["strategy"] == "noop"
    assert rows(lake) == before


def test_settings_do_not_leak_into_the_next_statement_or_model(lake: DbtProject) -> None:
    lake.models(m=sums(lake, post_hook=f"insert into {lake.schema}.log select 1"))
    lake.models(n="{{ config(materialized='table') }} -- depends_on: {{ ref('m') }}\nselect 1 as x")
    lake.sql("create table log (x int) using delta")
    for _ in range(2):
        lake.run()
        lake.sql("insert into x values (1, 1)")
    assert [c["userMetadata"] for c in history(lake, "log")] == [None] * 3
    assert history(lake, "n")[0]["userMetadata"] is None
    assert rows(lake, "log") == [(1,), (1,)]


@pytest.mark.thorough
def test_one_name_in_two_schemas_with_threads(make_project: MakeProject) -> None:
    project = make_project(threads=4)
    project.sql(f"create table x (i int, tag string) using delta {FEED}")
    project.sql("insert into x select id, if(id % 2 = 0, 'a', 'b') from range(100)")
    for tag in "ab":
        for n in "12":
            project.models(
                **{
                    f"{tag}{n}": ivm(
                        f"select tag, count(*) as n from {project.schema}.x where tag = '{tag}' "
                        "group by tag",
                        alias=f"same{n}",
                        schema=tag,
                    )
                }
            )
    project.run()
    project.sql("insert into x select id, if(id % 4 = 0, 'a', 'b') from range(100)")
    result = project.run()
    assert {result.response(m)["strategy"] for m in ("a1", "a2", "b1", "b2")} == {"incremental"}
    for n in "12":
        for tag, count in (("a", 75), ("b", 125)):
            assert rows(project, f"{project.schema}_{tag}.same{n}") == [(tag, count)]
