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
    db = _empty()
    texts = db.execute("select query_nr, query from tpcds_queries()").fetchall()
    tables = {
        name: {c: spark_type(kind) for c, kind, *_ in db.execute(f"describe {name}").fetchall()}
        for name in tables_in(db)
    }
    return Benchmark({number: _in_spark(number, text, tables) for number, text in texts}, tables)


def columns_of(number: int) -> list[str]:
    """The columns of a query, as DuckDB names them."""
    texts = _empty().execute(f"select query from tpcds_queries() where query_nr = {number}")
    ((text,),) = texts.fetchall()
    return [name for name, *_ in _empty().execute(f"describe {text}").fetchall()]


@cache
def _empty() -> duckdb.DuckDBPyConnection:
    """A database with the tables, without rows."""
    db = generator()
    db.execute("call dsdgen(sf=0)")
    return db


def generator() -> duckdb.DuckDBPyConnection:
    """A database of its own with the extension that has the texts and makes the data."""
    import duckdb_extension_tpcds  # here, as only TPC-DS needs it

    folder = Path(duckdb_extension_tpcds.__file__).parent
    (file,) = folder.rglob("*.duckdb_extension")
    db = duckdb.connect(config={"allow_unsigned_extensions": "true"})
    db.execute(f"load '{file}'")
    return db


def tables_in(db: duckdb.DuckDBPyConnection) -> list[str]:
    """The tables of a database."""
    names = "select table_name from information_schema.tables where table_schema = 'main'"
    return [name for (name,) in db.execute(names).fetchall()]


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
