"""The shop, of which days go by: `dbt build` each day, and each model equals its full refresh."""

from __future__ import annotations

import pytest
import yaml

from integration_tests.commands import run_dbt
from integration_tests.shop import run
from integration_tests.shop.days import DAYS, Shop
from tests.conftest import MakeProject

pytestmark = pytest.mark.spark


SOME = ("+daily_revenue", "+price_versions", "payment_gaps", "+stg_refunds")
"""Models that are enough for the default run: of each layer, over all that changes in the month."""
WIDER = (*SOME, "+best_sellers", "+dim_products", "+dim_customers")


def days_of(make_project: MakeProject, orders: int, select: tuple[str, ...] = ("*",)) -> run.Days:
    """The project in the Spark of the tests, with few orders."""
    project = make_project()
    profile = yaml.safe_load((run.PROJECT / "profiles.yml").read_text())["shop"]
    folder = run.copied(project.root / "shop")
    for target in profile["outputs"].values():
        target["server_side_parameters"] = project.target["server_side_parameters"]
    (folder / "profiles.yml").write_text(yaml.safe_dump({"shop": profile}))
    for schema in (run.MAINTAINED, run.REBUILT, "shop_history"):
        project.sql(f"drop schema if exists {schema} cascade")
    shop = Shop(project.sql, folder, orders, max(1, orders // 20))
    return run.Days(shop, project.sql, lambda *arguments: run_dbt(folder, arguments), select)


@pytest.mark.thorough
def test_a_build_after_all_kinds_of_changes(make_project: MakeProject) -> None:
    days = days_of(make_project, 60, SOME)
    days.shop.open()
    days.dbt("build", *days.selected)
    happened = [what for number in (7, 9, 12, 25) for what in days.shop.day(number)]
    outcome = days.build(25, happened)
    assert len(set(happened)) == 8
    assert (outcome.full, outcome.noop) == (0, 0)
    assert outcome.tests > 5


@pytest.mark.thorough
def test_builds_after_a_new_column_a_new_table_and_nothing(make_project: MakeProject) -> None:
    days = days_of(make_project, 60, WIDER)
    days.shop.open()
    days.dbt("build", *days.selected)
    column = days.build(10, days.shop.day(10))
    assert column.full == 1  # the one that shows all columns of its source, of which one is new
    assert days.build(20, days.shop.day(20)).full == 0
    nothing = days.build(30, days.shop.day(30))
    assert (nothing.incremental, nothing.recompute, nothing.full) == (0, 0, 0)


@pytest.mark.thorough
def test_thirty_days(make_project: MakeProject) -> None:
    outcomes = list(days_of(make_project, 400).go_by(range(1, DAYS + 1)))
    assert len(outcomes) == DAYS + 1
    holiday = outcomes[15]
    assert (holiday.incremental, holiday.recompute, holiday.full) == (0, 0, 0)


@pytest.mark.thorough
def test_a_model_that_differs_is_noticed(make_project: MakeProject) -> None:
    project = make_project()
    for schema, rows in ((run.MAINTAINED, "(1), (1), (2)"), (run.REBUILT, "(1), (2), (null)")):
        project.sql(f"create schema if not exists {schema}")
        project.sql(f"create or replace table {schema}.m using delta as values {rows}")
    days = run.Days(Shop(project.sql, project.root), project.sql, lambda *arguments: [])
    with pytest.raises(AssertionError, match="day 3, m differs") as raised:
        days.compare("m", 3)
    assert "too_many=-1" in str(raised.value) and "too_many=1" in str(raised.value)
    rows = f"select * from {run.MAINTAINED}.m"
    project.sql(f"create or replace table {run.REBUILT}.m using delta as {rows}")
    days.compare("m", 3)
