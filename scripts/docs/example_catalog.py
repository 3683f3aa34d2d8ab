"""The tables of the pages' examples, as the planner sees them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import sqlglot
from sqlglot import exp

from python_ivm.optimize.cost import Execution
from python_ivm.parse.parser import parse
from python_ivm.parse.views import View
from python_ivm.sources.clock import Instant
from python_ivm.sources.history import Commit, Detail

TABLES: Mapping[str, Mapping[str, str]] = {
    "orders": {
        "id": "bigint", "customer_id": "bigint", "day": "date", "status": "string",
        "total": "decimal(12,2)", "weight": "double",
    },
    "parcels": {"order_id": "bigint", "items": "array<struct<sku:string,pieces:bigint>>"},
    "customers": {"id": "bigint", "name": "string", "nation": "string"},
    "returns": {"order_id": "bigint", "customer_id": "bigint", "total": "decimal(12,2)"},
    "pings": {
        "k": "bigint", "v": "bigint", "t": "timestamp", "day": "date", "local": "timestamp_ntz",
        "text": "string",
    },
    "devices": {"k": "bigint", "name": "string"},
    "r": {
        "id": "bigint", "k": "bigint", "v": "bigint", "m": "map<string,int>",
        "n": "struct<mm:map<string,array<map<int,string>>>>",
        "st": "array<struct<a:int,m:map<string,int>>>", "j": "variant", "s": "string",
    },
    "sessions": {"s": "struct<start:timestamp,end:timestamp>", "k": "bigint", "n": "bigint"},
    **{f"t{n}": {"k": "bigint", "v": "bigint"} for n in range(17)},  # for chains of joins
}  # fmt: skip
TYPES = {name: kind for columns in TABLES.values() for name, kind in columns.items()}


class Catalog:
    """A warehouse of the tables above; a refresh's bookmark becomes the state's only commit."""

    def __init__(self) -> None:
        """Every source stands at version 5, on the first of May."""
        self.today = "2024-05-01"
        self.commits = {name: [Commit(5, f"{name}-5", "WRITE", "Append")] for name in TABLES}

    def history(self, parts: tuple[str, ...], limit: int | None) -> Sequence[Commit] | None:
        """The commits, newest first."""
        commits = self.commits.get(parts[-1])
        return None if commits is None else commits[:limit]

    def history_now(self, parts: tuple[str, ...], limit: int) -> Sequence[Commit] | None:
        """The commits, newest first."""
        return self.history(parts, limit)

    def columns(self, parts: tuple[str, ...]) -> Mapping[str, str] | None:
        """A source's columns."""
        return TABLES.get(parts[-1])

    def properties(self, parts: tuple[str, ...]) -> Mapping[str, str]:
        """Every source has a change feed."""
        return {"delta.enableChangeDataFeed": "true"}

    def detail(self, parts: tuple[str, ...]) -> Detail | None:
        """The newest commit's time, and no size."""
        commits = self.history(parts, 1)
        return Detail(commits[0].timestamp, None) if commits else None

    def namespace(self) -> tuple[str, str]:
        """Where names without a schema are looked up."""
        return "spark_catalog", "shop"

    def instant(self) -> Instant:
        """The time of the refresh."""
        return Instant(self.today, f"{self.today} 08:00:00+00:00", f"{self.today} 08:00:00")

    def definition(self, parts: tuple[str, ...]) -> View | None:
        """There are no views."""
        return None

    def describe(self, sql: str) -> Sequence[tuple[str, str]]:
        """Names and types of a query's columns, as far as the examples need them."""
        query = parse(sql)
        every = [c for t in query.find_all(exp.Table) for c in TABLES.get(t.name, {})]
        shown = [[exp.column(c) for c in every] if i.is_star else [i] for i in query.selects]
        return [
            (item.alias_or_name, TYPES.get(item.unalias().name, "bigint"))
            for items in shown
            for item in items
        ]

    def texts(
        self, sql: str, execution: Execution = Execution.USUAL
    ) -> Sequence[Sequence[str | None]]:
        """The keys of a change: two orders of two days; and how Spark would group by a session."""
        if sql.startswith("EXPLAIN"):
            return [["MergingSessions"]]
        rows: list[list[str | None]] = []
        for change in sqlglot.parse_one(sql, read="spark").find_all(exp.Subquery):
            which, *values = change.this.selects
            columns = [value.find(exp.Column) for value in values if value.alias != "seen"]
            for day, number in (("2024-04-28", "1041"), ("2024-05-01", "1043")):
                texts = [
                    (day if TYPES.get(column.name) == "date" else number) if column else None
                    for column in columns
                ]
                rows.append([which.this.name, *texts, *["true"] * (len(values) - len(texts))])
        return rows

    def doubles_quotes(self) -> bool:
        """As since Spark 4.0."""
        return True

    def is_partitioned(self, parts: tuple[str, ...]) -> bool:
        """No table has partitions."""
        return False

    def user_functions(self, schema: tuple[str, ...] | None = None) -> Sequence[str]:
        """None."""
        return ()

    def setting(self, key: str) -> str | None:
        """None is set."""
        return None

    def enable_change_feed(self, parts: tuple[str, ...]) -> None:
        """Nothing to do."""
