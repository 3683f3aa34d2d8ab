"""The 99 queries on a real Spark: tables, changes, refreshes and the comparison are Spark's."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
import sqlglot
from sqlglot import exp

from integration_tests.tpcds.texts import benchmark, tables_of
from tests.spark.conftest import bench as bench
from tests.spark.workbench import Bench, View, bag
from tests.tpcds.data import Row, Shooter, aims
from tests.tpcds.report import Run, record
from tests.tpcds.test_on_duckdb import LIMIT, ROUNDS

ID = "row_id"
"""A column of the tables that no query reads: the changes find their rows by it."""
FACTS = 150
"""First rows of a table of facts."""
GONE, UPDATED, INSERTED = 4, 10, 8
"""Rows that a change of a table deletes, updates and inserts."""


class Tables:
    """The tables of one query, and the rows that they should have."""

    def __init__(self, bench: Bench, sql: str, rng: random.Random) -> None:
        self.bench = bench
        self.columns = tables_of(sql)
        self.shooter = Shooter(self.columns, aims(sql), rng, FACTS)
        self.rows: dict[str, dict[int, Row]] = {}
        self.next = 0
        for name, columns in self.columns.items():
            listed = ", ".join(f"{c} {kind}" for c, kind in {**columns, ID: "int"}.items())
            bench.table(name, listed)
            self.rows[name] = {}
            self.insert(name, self.shooter.rows(name))

    def insert(self, table: str, rows: Sequence[Row]) -> None:
        """Add rows."""
        numbered = {self.next + n: row for n, row in enumerate(rows)}
        self.next += len(rows)
        self.rows[table] |= numbered
        if numbered:
            self.bench.sql(f"insert into {table} {self._values(table, numbered)}")

    def change(self, table: str) -> None:
        """Rows go, values change, are lost and found, and rows come, in one commit."""
        present, rng = self.rows[table], self.shooter.rng
        gone = rng.sample(list(present), min(len(present), GONE))
        left = [number for number in present if number not in gone]
        changed = {
            number: self.shooter.updated(table, present[number], rng.random() < 0.3)
            for number in rng.sample(left, min(len(left), UPDATED))
        }
        changed |= {self.next + n: self.shooter.row(table) for n in range(INSERTED)}
        self.next += INSERTED
        rows = changed | {number: present.pop(number) for number in gone}
        present |= changed
        columns = list(self.columns[table])
        self.bench.sql(
            f"merge into {table} t using ({self._values(table, rows)}) n on t.{ID} = n.{ID} "
            f"when matched and n.{ID} in ({', '.join(map(str, gone)) or 'null'}) then delete "
            f"when matched then update set {', '.join(f't.{c} = n.{c}' for c in columns)} "
            f"when not matched then insert *"
        )

    def _values(self, table: str, rows: dict[int, Row]) -> str:
        columns = {**self.columns[table], ID: "int"}
        tuples = ", ".join(
            "(" + ", ".join(_literal(v) for v in (*row, number)) + ")"
            for number, row in rows.items()
        )
        shown = ", ".join(f"cast({c} as {kind}) as {c}" for c, kind in columns.items())
        return f"select {shown} from values {tuples} as v({', '.join(columns)})"


def _literal(value: Any) -> str:
    if value is None:
        return "null"
    text = str(value).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{text}'"


@pytest.mark.slow
@pytest.mark.parametrize("number", range(1, 100), ids=lambda n: f"q{n:02}")
def test_it_follows_rounds_of_changes(
    number: int,
    bench: Bench,
    pytestconfig: pytest.Config,
) -> None:
    sql = schema_named(benchmark().queries[number], bench.schema)
    tables = Tables(bench, benchmark().queries[number], random.Random(number))
    view = View(bench, "m", sql)
    run = Run()
    built = view.run().refresh
    if built.reason != "FIRST_BUILD":
        run.reason = f"{built.reason}: {built.explanation}"
    shown = compare(view)
    for _ in range(ROUNDS):
        names = list(tables.columns)
        changed = [n for n in names if tables.shooter.rng.random() < 0.5] or names[:1]
        for name in changed:
            tables.change(name)
        refresh = view.run().refresh
        if refresh.strategy.value == "incremental":
            run.incremental += 1
        elif refresh.strategy.value == "recompute":
            run.recomputed += 1
        elif refresh.strategy.value == "full":
            run.full += 1
            assert run.reason, f"{refresh.reason}: {refresh.explanation}"
        now = compare(view)
        run.moved += now != shown
        shown = now
    print(f"q{number}: {run}")
    if pytestconfig.getoption("ivm_tpcds_report"):
        record("Spark", number, run)


def schema_named(sql: str, schema: str) -> str:
    """A text over the tables of a schema."""
    tree = sqlglot.parse_one(sql, read="spark")
    for table in tree.find_all(exp.Table):
        if table.db == "s":
            table.set("db", exp.to_identifier(schema))
    return tree.sql("spark")


def compare(view: View) -> Any:
    """Fail unless the view equals its query; with LIMIT any choice among ties is right."""
    limit = LIMIT.search(view.sql)
    if limit is not None:
        everything = bag(view.bench.sql(LIMIT.sub("", view.sql)))
        if sum(everything.values()) > int(limit[1]):
            shown = bag(view.bench.sql(f"select * from {view.name}"))
            assert sum(shown.values()) == int(limit[1])
            assert not shown - everything
            return shown
    view.check()
    return bag(view.bench.sql(f"select * from {view.name}"))
