"""The TPC-H project's models on DuckDB, through rounds of changes of rows that aim at them."""

from __future__ import annotations

import random
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from integration_tests.tpcds.texts import spark_type
from integration_tests.tpch import load
from python_ivm.refresh.plan import Strategy
from tests.planner.lake import Lake
from tests.tpcds.data import Shooter, aims
from tests.tpcds.test_on_duckdb import compare

ROUNDS = 5
SOURCE = re.compile(r"\{\{\s*source\('tpch', '(\w+)'\)\s*\}\}")
MODELS = {file.stem: file for file in sorted((load.PROJECT / "models").glob("*/*.sql"))}
MANY = {"lineitem": 150, "orders": 40, "partsupp": 20}
"""Rows of the tables that others' rows are joined to; of the others there are seven."""

SELDOM = ("q12", "q15", "q21", "q22")
"""Models whose many conditions let few of so few rows pass; on Spark they have the real ones."""


class Business(Shooter):
    """Makes rows of TPC-H: keys of which some meet none, and days before those that are named."""

    def _pool(self, name: str, kind: str) -> list[Any]:
        pool = super()._pool(name, kind)
        if name.endswith("key"):
            return list(range(1, 8))
        if kind == "date":
            return [*pool, *(day - timedelta(days=n) for day in pool for n in (5, 20))]
        return pool


@pytest.fixture(scope="module")
def columns(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, str]]:
    """Columns and types of TPC-H's tables, as the generator writes them."""
    folder: Path = tmp_path_factory.mktemp("tpch")
    load.generate(0.001, folder)
    found = {}
    for table in load.TABLES:
        described = duckdb.sql(f"describe from '{folder / table}.parquet'").fetchall()
        found[table] = {name: spark_type(kind) for name, kind, *_ in described}
    return found


@pytest.mark.parametrize("model", MODELS)
def test_models_follow_rounds_of_changes(model: str, columns: dict[str, dict[str, str]]) -> None:
    sql = SOURCE.sub(r"s.\1", MODELS[model].read_text())
    read = {name: columns[name] for name in sorted(set(re.findall(r"\bs\.(\w+)", sql)))}
    shooter = Business(read, aims(sql), random.Random(model))
    lake = Lake()
    for name in read:
        rows = [shooter.row(name) for _ in range(MANY.get(name, 7))]
        lake.create(name, read[name], rows)
    assert lake.run("m", sql).reason == "FIRST_BUILD"
    moved = 0
    for _ in range(ROUNDS):
        shown = lake.view("m")
        for name in read:
            gone, came = shooter.change(name, lake.rows[name][-1])
            lake.change(name, delete=gone, insert=came)
        refresh = lake.run("m", sql)
        assert refresh.strategy is not Strategy.FULL, refresh.explanation
        compare(lake, sql)
        moved += lake.view("m") != shown
    assert moved >= 2 or model in SELDOM
