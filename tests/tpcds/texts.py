"""The 99 texts of TPC-DS in Spark's SQL, and the tables that they read.

Texts and schema are those of the PyPI package ``duckdb-extension-tpcds``; sqlglot transpiles them.
:data:`REWRITES` lists what has to be written otherwise for Spark, with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import duckdb
import sqlglot
from sqlglot import exp

REWRITES: Mapping[int, tuple[str, str, str]] = {}
"""By query: what is replaced, by what, and why."""


@dataclass(frozen=True)
class Benchmark:
    """TPC-DS.

    Attributes:
        queries: The texts by number; tables are named ``s.<table>``.
        tables: For each table its columns and their Spark types.
    """

    queries: Mapping[int, str]
    tables: Mapping[str, Mapping[str, str]]


@cache
def benchmark() -> Benchmark:
    """Read texts and schema from the extension."""
    import duckdb_extension_tpcds  # here, as only these tests need it

    folder = Path(duckdb_extension_tpcds.__file__).parent
    (file,) = folder.rglob("*.duckdb_extension")
    db = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    db.execute(f"load '{file}'")
    texts = db.execute("select query_nr, query from tpcds_queries()").fetchall()
    db.execute("call dsdgen(sf=0)")
    names = db.execute(
        "select table_name from information_schema.tables where table_schema = 'main'"
    ).fetchall()
    tables = {
        name: {c: spark_type(kind) for c, kind, *_ in db.execute(f"describe {name}").fetchall()}
        for (name,) in names
    }
    return Benchmark({number: _in_spark(number, text, tables) for number, text in texts}, tables)


def spark_type(kind: str) -> str:
    """A DuckDB type as Spark's."""
    lower = kind.lower()
    return {"varchar": "string", "integer": "int"}.get(lower, lower)


def _in_spark(number: int, text: str, tables: Mapping[str, Mapping[str, str]]) -> str:
    if number in REWRITES:
        old, new, _ = REWRITES[number]
        if old not in text:
            raise ValueError(f"Query {number} has no {old!r}")
        text = text.replace(old, new)
    tree = sqlglot.parse_one(text, read="duckdb")
    for table in tree.find_all(exp.Table):
        if table.name.lower() in tables:
            table.set("db", exp.to_identifier("s"))
    return tree.sql("spark")


def tables_of(sql: str) -> dict[str, dict[str, str]]:
    """The tables that a text reads, with their keys and the columns that it names."""
    tree = sqlglot.parse_one(sql, read="spark")
    read = sorted({t.name.lower() for t in tree.find_all(exp.Table) if t.db == "s"})
    named = {column.name.lower() for column in tree.find_all(exp.Column)}
    return {
        table: {
            name: kind
            for n, (name, kind) in enumerate(benchmark().tables[table].items())
            if n == 0 or name in named
        }
        for table in read
    }
