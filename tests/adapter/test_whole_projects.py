"""Projects as dbt's users have them, with one line changed: `+materialized: incremental_ivm`."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from dbt.include.starter_project import PACKAGE_PATH

from tests.conftest import MakeProject
from tests.helpers.dbt_project import DbtProject, DbtResult

SHOP = Path(__file__).parent / "shop"


def build(project: DbtProject, *args: str) -> DbtResult:
    result = project.dbt("build", *args)
    assert result.success, result.log or result.exception
    return result


def refreshes(result: DbtResult) -> dict[str, tuple[str, str]]:
    """Strategy and reason of each maintained model; none may be a fallback or warned of."""
    found = {}
    for name, entry in result.results.items():
        response: dict[str, Any] = entry["adapter_response"]
        if "strategy" in response:
            assert not response.get("warning"), (name, response)
            found[name] = (response["strategy"], response["reason"])
    return found


def test_the_starter_project_of_dbt_init(make_project: MakeProject) -> None:
    config = {"models": {"project": {"example": {"+materialized": "incremental_ivm"}}}}
    project = make_project(config=config)
    shutil.copytree(Path(PACKAGE_PATH) / "models", project.root / "models")
    # It comes with a test that fails; a comment in the model says how to mend it.
    model = project.root / "models/example/my_first_dbt_model.sql"
    model.write_text(model.read_text().replace("-- where id is not null", "where id is not null"))
    first = build(project)
    assert refreshes(first) == {"my_second_dbt_model": ("full", "FIRST_BUILD")}
    second = build(project)
    # It reads a `table` model, which dbt replaces.
    assert refreshes(second) == {"my_second_dbt_model": ("recompute", "SOURCE_REPLACED")}
    assert second.response("my_second_dbt_model")["rows_inserted"] == 0
    assert project.sql("select * from my_second_dbt_model") == [(1,)]


@pytest.mark.thorough
def test_a_shop(make_project: MakeProject) -> None:
    """Seeds, staging views, marts, and models that stay as they were among them."""
    project = make_project(
        threads=2,
        config={
            "models": {
                "project": {
                    "staging": {"+materialized": "view"},
                    "marts": {"+materialized": "incremental_ivm"},
                }
            }
        },
    )
    shutil.copytree(SHOP, project.root, dirs_exist_ok=True)
    first = refreshes(build(project))
    assert set(first.values()) == {("full", "FIRST_BUILD")} and len(first) == 8

    second = build(project)
    recomputed = {"market_value": ("recompute", "SOURCE_REPLACED")}  # it reads a `table` model
    unchanged = dict.fromkeys(first, ("noop", "UNCHANGED"))
    assert refreshes(second) == {**unchanged, **recomputed}
    assert second.response("market_value")["rows_updated"] == 0
    assert {second.message(name) for name in second.results if name.startswith("raw_")} == {
        "no row differs"
    }

    prices = project.root / "seeds/raw_products.csv"
    prices.write_text(prices.read_text().replace("2.25", "2.50"))
    payments = project.root / "seeds/raw_payments.csv"
    payments.write_text(payments.read_text() + "6,104,card,20.00\n")
    third = build(project)
    assert third.message("raw_products") == "+1 -1 rows"
    assert third.message("raw_payments") == "+1 -0 rows"
    changed = refreshes(third)
    assert changed.pop("market_value")[0] == "recompute"
    # Of tables as small as these it may be cheaper to compute all rows.
    followed = {how for how, reason in changed.values() if reason not in ("CHEAPER", "FASTER")}
    assert followed <= {"noop", "incremental"}
    assert "noop" not in (changed["price_changes"][0], changed["methods_used"][0])
    assert project.sql("select prices, lowest, highest from price_changes where sku = 'P3'") == [
        (2, 2.25, 2.5)
    ]
    assert project.sql("select lifetime_value from customers where customer_id = 3") == [(2.5,)]


def test_a_source_that_a_seed_loads_is_followed(project: DbtProject) -> None:
    """Example data as public projects have it: loaded by `dbt seed`, read by `source()`."""
    source = "{name: shop, schema: '{{ target.schema }}', tables: [{name: raw_orders}]}"
    project.write({"models/sources.yml": f"sources:\n  - {source}\n"})
    project.write({"seeds/raw_orders.csv": "id,amount\n1,10\n2,5\n"})
    project.models(m=IVM + "select sum(amount) as total from {{ source('shop', 'raw_orders') }}")
    assert project.dbt("seed").success
    assert "warning" not in project.run().response("m")
    project.write({"seeds/raw_orders.csv": "id,amount\n1,10\n2,6\n"})
    assert project.dbt("seed").success
    assert project.run().response("m")["strategy"] == "incremental"
    assert project.sql("select * from m") == [(16,)]


def provider(project: DbtProject, table: str) -> str:
    rows = project.sql(f"describe extended {table}")
    return next(row[1] for row in rows if row[0] == "Provider")


TABLE = "{{ config(materialized='table') }} "
INCREMENTAL = "{{ config(materialized='incremental') }} "
IVM = "{{ config(materialized='incremental_ivm') }} "


@pytest.mark.thorough
def test_what_delta_stores_only_if_it_is_told(project: DbtProject) -> None:
    """Names that dbt-spark's Parquet tables could have, and Delta's by default cannot."""
    project.models(
        odd=TABLE + "select 1 as `two words`, named_struct('a b', 2) as s",
        feed=TABLE + "select 'insert' as _change_type, 1 as k;\n-- the end",
        log=INCREMENTAL + "select 1 as `two words`, 'x' as w",
        m=IVM + "select o.`two words`, o.s.`a b`, f.k from {{ ref('odd') }} o "
        "join {{ ref('feed') }} f on o.`two words` = f.k join {{ ref('log') }} using (`two words`)",
        n=IVM + "select `two words`, count(*) as n from {{ ref('log') }} group by 1",
    )
    first = build(project)
    assert "can have no feed" in first.response("m")["warning"]
    assert "warning" not in first.response("n")
    build(project)
    third = build(project)
    assert third.response("m")["strategy"] == "recompute"
    assert third.response("n")["reason"] == "CHANGED"
    assert project.sql("select * from m") == [(1, 2, 1)] * 3
    assert project.sql("select * from n") == [(1, 3)]
    build(project, "--full-refresh")
    assert project.sql("select * from n") == [(1, 1)]
    project.models(odd=TABLE + "select 1 as two_words", m=IVM + "select * from {{ ref('odd') }}")
    build(project)
    assert {provider(project, name) for name in ("odd", "feed", "log")} == {"delta"}


def test_buckets_and_a_format_of_the_users_are_kept(make_project: MakeProject) -> None:
    project = make_project(config={"models": {"project": {"old": {"+file_format": "parquet"}}}})
    project.write({"models/old/a.sql": TABLE + "select 1 as k"})
    project.write({"models/old/b.sql": INCREMENTAL + "select 1 as k"})
    project.models(
        c="{{ config(materialized='table', clustered_by='k', buckets=2) }} select 1 as k",
        d="{{ config(materialized='table', file_format='orc') }} select 1 as k",
        e=INCREMENTAL + "select 1 as k",
    )
    for _ in range(2):
        build(project)
    found = {name: provider(project, name) for name in "abcde"}
    assert found == {**dict.fromkeys("abc", "parquet"), "d": "orc", "e": "delta"}
    project.write(
        {
            "models/old/a.sql": TABLE.replace("'table'", "'table', file_format='delta'")
            + "select 1 as k"
        }
    )
    build(project)
    assert provider(project, "a") == "delta"


def test_a_column_that_a_merge_would_not_find_is_named(project: DbtProject) -> None:
    def model(key: str, query: str) -> None:
        config = f"materialized='incremental', unique_key={key}"
        project.models(m=f"{{{{ config({config}) }}}} {query}")

    model("'k'", "select 1 as k, 2 as v")
    build(project)
    for key, query, told in (
        ("'K'", "select 1 as k", "query does not have the column 'v' any more"),
        ("['k', 'j']", "select 1 as k, 2 as v", "the column 'j', which the model's query does not"),
        ("'`j`'", "select 1 as k, 2 as v, 3 as j", "'j', which the table "),
    ):
        model(key, query)
        failed = project.dbt("run")
        assert not failed.success and told in failed.message("m"), failed.message("m")
    # An expression is left to Spark.
    model("'k + 0'", "select 1 as k, 3 as v")
    build(project)
    assert project.sql("select * from m") == [(1, 3)]
