"""A project of maintained models over tables in DuckDB instead of Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from dbt_common.exceptions import DbtRuntimeError

from python_ivm.operate.maintenance import Maintenance
from python_ivm.refresh.options import Options
from tests.planner.lake import Lake

MODELS = {
    "sums": "select k, sum(v) as t from s.x group by k",
    "above": "select count(*) as n, max(t) as hi from s.sums",
    "bag": "select k, v from s.x where v > 1",
}
READS = {"sums": ["source.x"], "above": ["model.sums"], "bag": ["source.x"], "shown": ["model.bag"]}


def node(name: str, materialized: str, *reads: str, **config: Any) -> dict[str, Any]:
    return {
        "unique_id": f"model.{name}", "name": name, "alias": name,
        "schema": "s", "database": None, "language": "sql",
        "resource_type": "model", "config": {"materialized": materialized, **config},
        "depends_on": {"nodes": list(reads)},
    }  # fmt: skip


class Adapter:
    """dbt's adapter over a lake."""

    def __init__(self, lake: Lake) -> None:
        self.lake = lake
        self.broken: set[str] = set()
        self.config = SimpleNamespace(
            project_name="shop",
            project_target_path="/dev/null/target",
            credentials=SimpleNamespace(secrets=lambda: ["hush-hush"]),
        )
        self.Relation = SimpleNamespace(create=lambda **parts: SimpleNamespace(**parts))

    def _ivm_warehouse(self) -> Lake:
        return self.lake

    def _ivm_warehouse_of(self, graph: Any, uids: list[str]) -> Lake:
        return self.lake

    def _ivm_query(self, sql: str) -> list[dict[str, Any]]:
        cursor = self.lake.db.execute(self.lake.duck(sql))
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def ivm_request(self, model: Any, sql: str, target: Any, *, full_refresh: bool | None) -> Any:
        if model["name"] in self.broken:
            raise DbtRuntimeError("no such luck")
        options = Options.of(model["config"])
        return self.lake.request(model["name"], sql, options=options, full_refresh=full_refresh)

    def get_relation(self, database: None, schema: str, name: str) -> object | None:
        return name if name in self.lake.views or name in self.lake.types else None

    def ivm_maintain_one(self, request: Any, *, forced: bool) -> Maintenance:
        return Maintenance(told="forced" if forced else "nothing is needed")

    def ivm_drop_one(self, request: Any) -> str:
        return f"dropped {request.model}"
