"""What a model that reads its own rows has to show: each run's query, computed by DuckDB alone.

Nothing of the planner is used: a run's rows are kept in a table, which the next one's text names.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from tests.planner.lake import Lake, Row, bag


class Naive:
    """The runs of one model, each computed from all rows.

    Args:
        lake: Holds the sources.
        sql: The model's text, which names itself ``s.<model>``.
        model: The model's name.
        columns: Its columns and their types, as DuckDB calls them.
    """

    def __init__(self, lake: Lake, sql: str, model: str, columns: str) -> None:
        self.lake, self.before = lake, f"before.{model}"
        self.text = re.sub(rf"\bs\.{model}\b", self.before, sql)
        lake.db.execute("create schema if not exists before")
        lake.db.execute(f"create or replace table {self.before} ({columns})")

    def run(self) -> Counter[Row]:
        """The rows after one more run."""
        rows: Sequence[Row] = self.lake.db.execute(self.lake.duck(self.text)).fetchall()
        self.lake.db.execute(f"delete from {self.before}")
        if rows:
            marks = ", ".join("?" for _ in rows[0])
            self.lake.db.executemany(f"insert into {self.before} values ({marks})", rows)
        return bag(rows)
