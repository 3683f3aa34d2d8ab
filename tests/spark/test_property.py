"""The planner's random models and changes on a real Spark.

Not part of the default run: ``pytest tests/spark --ivm-spark-examples=50``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, note, reject, settings
from pyspark.errors import AnalysisException
from pyspark.sql import Row

from tests.planner.cases import MODEL, Case, Step, cases
from tests.planner.test_property import limit
from tests.spark.workbench import Bench, View


def test_random_views_equal_their_queries(bench: Bench, pytestconfig: pytest.Config) -> None:
    examples = pytestconfig.getoption("ivm_spark_examples", 0)
    if not examples:
        pytest.skip("asked for by --ivm-spark-examples")

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.generate],  # to shrink on Spark takes hours; the planner's own test does
        suppress_health_check=list(HealthCheck),
    )
    @given(cases())
    def run(case: Case) -> None:
        try:
            _check(bench, case)
        except Refused as error:
            refused.append(str(error))
            reject()

    refused: list[str] = []
    run()
    assert len(refused) <= examples / 4, refused


class Refused(Exception):
    """Spark has no plan for a query: one with a correlated subquery in ON, for instance."""


def _asked(bench: Bench, sql: str) -> str:
    """A query that Spark takes as it stands; some it refuses when it optimizes them.

    Raises:
        Refused: If it does not.
    """
    try:
        bench.handle.session.sql(sql)._jdf.queryExecution().optimizedPlan()
    except AnalysisException as error:
        raise Refused(f"{sql}: {error}") from error
    return sql


def _check(bench: Bench, case: Case) -> None:
    """Build a random view, and refresh it after each round of changes; the clock is Spark's own."""
    number = len(bench.views) + 1
    bench.views = bench.views[:number]
    note(case.told())

    def here(sql: str) -> str:
        names = {below.name: f"{below.name}_{number}" for below in case.below}
        found = re.sub(r"\bs\.([mv]\d)\b", lambda m: f"{bench.schema}.{names[m[1]]}", sql)
        return re.sub(r"\bs\.(t\d)\b", rf"{bench.schema}.\1", found)

    for table, (columns, rows) in enumerate(case.tables, 1):
        shape = ", ".join(f"{column} {kind}" for column, kind in columns.items())
        bench.sql(f"drop table if exists t{table}")
        bench.table(f"t{table}", shape, *(_row(row, columns) for row in rows))
    models, first = [], []
    for below in case.below:
        if below.kind == MODEL:
            models.append(View(bench, f"{below.name}_{number}", _asked(bench, here(below.sql))))
            first.append(models[-1].refresh("full").refresh)
        else:
            text = _asked(bench, here(below.sql))
            bench.sql(f"create or replace view {below.name}_{number} as {text}")
    view = View(bench, f"m{number}", _asked(bench, here(case.sql)))
    bench.views.append(view)
    first.append(view.refresh("full").refresh)
    rebuilt = any(limit(refresh) for refresh in first)
    for round_ in case.rounds:
        for step in round_.steps:
            note(str(step))
            _apply(bench, step, case.tables[step.table][0])
        for model in [] if round_.stale else models:
            model.refresh(None)
        outcome = view.refresh(None)
        note("\n".join(s.sql for s in outcome.refresh.statements))
        if not rebuilt:
            assert outcome.refresh.strategy.value != "full", outcome.refresh.explanation
    if not rebuilt:
        view.refresh("noop")


def _apply(bench: Bench, step: Step, columns: dict[str, str]) -> None:
    """Commit one step; rows that are equal go or change together."""
    table = f"t{step.table + 1}"
    present = [tuple(row) for row in bench.sql(f"select * from {table}")]
    present = [tuple(v.asDict() if isinstance(v, Row) else v for v in row) for row in present]
    chosen = [present[index % len(present)] for index in step.chosen] if present else []
    where = " or ".join(f"({_same(row, columns)})" for row in chosen) or "false"
    new = ", ".join(_row(row, columns) for row in step.rows)
    match step.kind:
        case "insert":
            if new:
                bench.sql(f"insert into {table} values {new}")
        case "delete":
            bench.sql(f"delete from {table} where {where}")
        case "update":
            if step.rows:
                values = zip(columns.items(), step.rows[0], strict=True)
                items = ", ".join(f"{name} = {_literal(v, kind)}" for (name, kind), v in values)
                bench.sql(f"update {table} set {items} where {where}")
        case "same":
            items = ", ".join(f"{name} = {name}" for name in columns)
            bench.sql(f"update {table} set {items} where {where}")
        case "again":
            again = ", ".join(_row(row, columns) for row in _distinct(chosen))
            bench.sql(f"delete from {table} where {where}")
            if again:
                bench.sql(f"insert into {table} values {again}")
        case "all":
            bench.sql(f"delete from {table}")
        case "optimize":
            bench.sql(f"optimize {table}")


def _same(row: tuple[Any, ...], columns: dict[str, str]) -> str:
    values = zip(columns.items(), row, strict=True)
    return " and ".join(f"{name} <=> {_literal(value, kind)}" for (name, kind), value in values)


def _row(row: tuple[Any, ...], columns: dict[str, str]) -> str:
    values = zip(row, columns.values(), strict=True)
    return "(" + ", ".join(_literal(value, kind) for value, kind in values) + ")"


def _literal(value: Any, kind: str) -> str:
    """A value as Spark SQL, in a column's type."""
    if value is None:
        return f"cast(null as {kind})"
    if isinstance(value, (float, date, str)):
        return f"cast('{value}' as {kind})"
    if isinstance(value, Decimal):
        return f"cast({value:f} as {kind})"
    if isinstance(value, list):
        items = ", ".join("null" if item is None else str(item) for item in value)
        return f"cast(array({items}) as {kind})"
    if isinstance(value, Mapping):
        return f"cast(named_struct({', '.join(_fields(value))}) as {kind})"
    return str(value)


def _fields(value: Mapping[str, Any]) -> list[str]:
    """The arguments of ``named_struct``."""
    shown = {
        name: "null" if v is None else f"'{v}'" if isinstance(v, str) else str(v)
        for name, v in value.items()
    }
    return [f"'{name}', {text}" for name, text in shown.items()]


def _distinct(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Each row once; values of nested types cannot be hashed."""
    return list({repr(row): row for row in rows}.values())
