"""How the rows of seeds go into statements."""

from __future__ import annotations

import datetime as dt
import json
from base64 import b64decode
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from dbt_common.clients.agate_helper import from_csv

from dbt.adapters.sparkivm.impl import SparkIvmAdapter
from dbt.adapters.sparkivm.tables.seeds import SeedColumn, batches, signature


def decoded(text: str) -> Any:
    return json.loads(b64decode(text))


def test_values_become_texts() -> None:
    utc = dt.timezone.utc
    row = (
        *(None, True, 3, Decimal("1E+3"), Decimal("0.10"), Decimal("NaN"), 'O\'Neil \\ "x" 🚲'),
        *(dt.date(2024, 2, 29), dt.datetime(2024, 2, 29, 1), dt.datetime(2024, 2, 29, tzinfo=utc)),
    )
    (batch,) = batches([row])
    assert decoded(batch) == [
        [
            *(None, "true", "3", "1000", "0.10", "NaN", 'O\'Neil \\ "x" 🚲'),
            *("2024-02-29", "2024-02-29 01:00:00", "2024-02-29 00:00:00+00:00"),
        ]
    ]
    assert batch.isascii() and not set(batch) & set("'\"\\%?${}\n")


def test_rows_go_into_as_many_statements_as_they_need() -> None:
    rows = [(f"row {n}",) for n in range(1000)]
    pieces = [decoded(batch) for batch in batches(rows, size=1000)]
    assert [tuple(row) for piece in pieces for row in piece] == rows
    assert len(pieces) == 11
    assert [decoded(batch) for batch in batches([("x" * 5000,)] * 2, size=1000)] == [
        [["x" * 5000]],
        [["x" * 5000]],
    ]
    assert list(batches([])) == []


def test_a_type_is_asked_for_once_a_column(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "s.csv"
    file.write_text("a,b,c\n" + "".join(f"{n},{n}.5,x\n" for n in range(3000)))
    table = from_csv(file, text_columns={"c"})
    adapter = SparkIvmAdapter.__new__(SparkIvmAdapter)
    asked: list[int] = []
    inferred = SparkIvmAdapter.convert_type
    monkeypatch.setattr(
        SparkIvmAdapter, "convert_type", lambda _, t, n: asked.append(n) or inferred(t, n)
    )
    columns = adapter.ivm_seed_columns(table, {"c": "varchar(3)"})
    assert [(column.name, column.dtype) for column in columns] == [
        *(("a", "bigint"), ("b", "double"), ("c", "varchar(3)")),
    ]
    assert asked == [0, 1]


def test_a_table_is_known_by_names_and_types() -> None:
    columns = [SeedColumn("a`b c", "int", 0), SeedColumn("v", "VarChar( 5 )", 1)]
    assert signature(columns) == "`a``b c` int, `v` VarChar( 5 )"


@pytest.mark.parametrize("dtype", ["char(5)", "CHARACTER (5)", "variant"])
def test_what_spark_pads_or_does_not_compare_is_never_the_same(dtype: str) -> None:
    assert signature([SeedColumn("a", "int", 0), SeedColumn("b", dtype, 1)]) is None
