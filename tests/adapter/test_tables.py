"""Columns, comments and constraints of tables, as dbt and Spark tell of them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from dbt_common.exceptions import DbtDatabaseError

from dbt.adapters.sparkivm.bridge.comments import described
from dbt.adapters.sparkivm.impl import SparkIvmAdapter
from dbt.adapters.sparkivm.tables import constraints as module
from dbt.adapters.sparkivm.tables.columns import SparkIvmColumn


@pytest.mark.parametrize(
    ("kind", "types"),
    [
        ("is_integer", ["tinyint", "smallint", "int", "INTEGER", "bigint"]),
        ("is_float", ["float", "double"]),
        ("is_numeric", ["decimal(10,2)", "decimal"]),
        ("is_string", ["string", "varchar(20)", "char(3)"]),
        ("", ["boolean", "date", "timestamp", "array<int>", "struct<a:decimal(1,0)>"]),
    ],
)
def test_a_columns_type_is_known_by_sparks_name(kind: str, types: list[str]) -> None:
    for dtype in types:
        column = SparkIvmColumn(column="c", dtype=dtype)
        told = {each for each in ("is_integer", "is_float", "is_numeric", "is_string")
                if getattr(column, each)()}  # fmt: skip
        assert told == ({kind} if kind else set())
        assert column.is_number() == (kind in ("is_integer", "is_float", "is_numeric"))
        assert not column.can_expand_to(column)


def test_comments_are_those_of_the_columns_and_of_the_whole() -> None:
    told = [
        ("id", "int", "the key"),
        ("Comment", "string", None),
        ("# Partition Information", "", ""),
        ("Comment", "string", "of the partitions"),
        ("", "", ""),
        ("# Detailed Table Information", "", ""),
        ("Comment", "all of it", ""),
    ]
    rows = [dict(zip(("col_name", "data_type", "comment"), row, strict=True)) for row in told]
    comments, details = described(lambda sql: rows, ("s", "t"))
    assert comments == {"id": "the key", "Comment": ""}
    assert details["Comment"] == "all of it"
    del rows[-1]
    assert "Comment" not in described(lambda sql: rows, ("s", "t"))[1]


def node(**told: Any) -> dict[str, Any]:
    return {"name": "m", **told}


def column(name: str, *given: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "constraints": list(given)}


def added(model: dict[str, Any]) -> list[str]:
    """What is added to a table that violates nothing."""
    table: Any = Table()
    SparkIvmAdapter.ivm_add_constraints(table, RELATION, model)
    return [sql.removeprefix("ALTER TABLE `s`.`t` ADD CONSTRAINT ") for sql in table.run]


def test_delta_checks_conditions(monkeypatch: pytest.MonkeyPatch) -> None:
    warned: list[str] = []
    monkeypatch.setattr(module, "warn", warned.append)
    check = {"type": "check", "expression": "n > 0", "name": "Positive"}
    known = {"type": "unique", "columns": ["n"], "warn_unenforced": False}
    model = node(
        columns={"n": column("n", {"type": "not_null"}, check, {"type": "primary_key"})},
        constraints=[{"type": "not_null", "columns": ["a b", "c`d"]}, known],
    )
    assert added(model) == [
        "`not_null_n` CHECK (`n` IS NOT NULL)",
        "`positive` CHECK (n > 0)",
        "`not_null_a_b_c_d` CHECK (`a b` IS NOT NULL AND `c``d` IS NOT NULL)",
    ]
    (text,) = warned
    assert "primary_key (n)" in text


def test_checks_without_a_name_get_one_each() -> None:
    checks = [{"type": "check", "expression": text} for text in ("n > 0", "n > 1")]
    assert added(node(columns={"n": column("n", *checks)})) == [
        "`check_n` CHECK (n > 0)",
        "`check_n_2` CHECK (n > 1)",
    ]


RELATION: Any = SimpleNamespace(schema="s", identifier="t")


class Table:
    """A Delta table, which may refuse constraints, and its log."""

    _take_back = module.ConstraintsMixin._take_back

    def __init__(self, *operations: str, refuses: bool = False) -> None:
        self.refuses = refuses
        numbered = list(enumerate(operations))
        self.commits = [SimpleNamespace(version=v, operation=o) for v, o in reversed(numbered)]
        self.run: list[str] = []

    def _ivm_query(self, sql: str) -> list[Any]:
        self.run.append(sql)
        if self.refuses and sql.startswith("ALTER"):
            raise DbtDatabaseError("violated")
        return []

    def _ivm_warehouse(self) -> Any:
        return SimpleNamespace(history=lambda parts, limit: self.commits)

    def drop_relation(self, relation: Any) -> None:
        self.run.append("DROP")


@pytest.mark.parametrize(
    ("operations", "undone"),
    [
        (["CREATE TABLE AS SELECT"], "DROP"),
        (
            ["CREATE TABLE AS SELECT", "WRITE", "CREATE OR REPLACE TABLE AS SELECT",
             "ADD CONSTRAINT"],
            "RESTORE TABLE `s`.`t` TO VERSION AS OF 1",
        ),
    ],
)  # fmt: skip
def test_a_table_that_violates_its_contract_is_taken_back(
    operations: list[str], undone: str
) -> None:
    table: Any = Table(*operations, refuses=True)
    model = node(columns={"n": column("n", {"type": "not_null"})})
    with pytest.raises(DbtDatabaseError, match=r"violated\n.*again"):
        SparkIvmAdapter.ivm_add_constraints(table, RELATION, model)
    assert table.run[1:] == [undone]
