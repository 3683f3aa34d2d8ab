"""Generates the tables of TPC-DS."""

from __future__ import annotations

from pathlib import Path

from integration_tests.tpcds.texts import generator, tables_in


def generate(scale: float, folder: Path) -> None:
    """Write the tables of TPC-DS as Parquet files, unless they are there already.

    Args:
        scale: TPC-DS's scale factor; 1 is 2.9 million sales in stores, about 400 MB in all.
        folder: where `store_sales.parquet`, `item.parquet` ... go.
    """
    done = folder / f".scale-{scale}"
    if done.exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    db = generator()
    db.execute(f"call dsdgen(sf={scale})")
    for table in tables_in(db):
        db.execute(f"copy {table} to '{folder / table}.parquet'")
    done.touch()
