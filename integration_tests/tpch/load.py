"""Generates TPC-H and loads it into Delta tables with a change feed.

From this project's folder: `python -m tpch.load --scale 0.01`.
"""

from __future__ import annotations

import argparse
import subprocess
import sysconfig
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import yaml

PROJECT = Path(__file__).resolve().parent.parent
SCHEMA = "tpch_sources"
TABLES = (
    "customer",
    "lineitem",
    "nation",
    "orders",
    "part",
    "partsupp",
    "region",
    "supplier",
)

Sql = Callable[[str], Sequence[Any]]
"""Runs a statement and gives its rows."""


def generate(scale: float, folder: Path, tables: Sequence[str] = TABLES) -> None:
    """Write tables of TPC-H as Parquet files, unless they are there already.

    Args:
        scale: TPC-H's scale factor; 1 is 6 million lines of orders, about 350 MB.
        folder: where `customer.parquet`, `lineitem.parquet` ... go.
        tables: which; always the same ones of a folder.
    """
    done = folder / f".scale-{scale}"
    if done.exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob(".scale-*"):
        old.unlink()
    program = Path(sysconfig.get_path("scripts")) / "tpchgen-cli"
    command = [str(program), "parquet", "-s", str(scale), "--output-dir", str(folder)]
    command += ["--tables", ",".join(tables)]
    subprocess.run(command, check=True, capture_output=True)
    done.touch()


def load(
    sql: Sql, folder: Path, schema: str = SCHEMA, rows_per_file: int | None = None
) -> dict[str, int]:
    """Create or replace the source tables, whose rows lie in the order of their keys.

    Args:
        sql: runs a statement in the Spark that dbt will use.
        folder: with the files of `generate`.
        schema: where the tables go; made if missing.
        rows_per_file: how many rows a file of them has at most; None leaves it to Spark.

    Returns:
        The number of rows of each table.
    """
    sql(f"create schema if not exists {schema}")
    if rows_per_file is not None:
        sql(f"set spark.sql.files.maxRecordsPerFile = {rows_per_file}")
    counts = {}
    for table in TABLES:
        sql(
            f"create or replace table {schema}.{table} using delta "
            "tblproperties (delta.enableChangeDataFeed = true) "
            f"as select * from parquet.`{(folder / table).with_suffix('.parquet')}`"
        )
        counts[table] = int(sql(f"select count(*) from {schema}.{table}")[0][0])
    if rows_per_file is not None:
        sql("reset spark.sql.files.maxRecordsPerFile")
    return counts


def session_of_profile(project: Path = PROJECT, target: str | None = None) -> Any:
    """A Spark session with the settings of a dbt profile, so on the same tables as dbt.

    Args:
        project: a dbt project with its `profiles.yml` beside it.
        target: the profile's target; its default target by default.
    """
    # Imported here, as these import Spark, which the rest of this module does not need.
    from dbt.adapters.sparkivm.connection.in_process import new_session
    from dbt.adapters.sparkivm.credentials import SparkIvmCredentials

    name = yaml.safe_load((project / "dbt_project.yml").read_text())["profile"]
    profile = yaml.safe_load((project / "profiles.yml").read_text())[name]
    options = dict(profile["outputs"][target or profile["target"]])
    for key in ("type", "threads"):
        options.pop(key, None)
    credentials = SparkIvmCredentials.from_dict(options)
    credentials.project_root = project
    return new_session(credentials)


def sql_of(session: Any) -> Sql:
    """Runs statements in a Spark session."""
    return lambda text: list(session.sql(text).collect())


def main() -> None:
    """Generate and load, as asked for on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=float, default=0.01, help="TPC-H's scale factor")
    parser.add_argument("--schema", default=SCHEMA, help="where the tables go")
    given = parser.parse_args()
    folder = PROJECT / ".sparkivm" / "tpch"
    generate(given.scale, folder)
    for table, rows in load(sql_of(session_of_profile()), folder, given.schema).items():
        print(f"{given.schema}.{table}: {rows:,} rows")


if __name__ == "__main__":
    main()
