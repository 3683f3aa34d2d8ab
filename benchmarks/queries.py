"""The first benchmark: each query under each change, in every way, one after the other."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from benchmarks import models
from benchmarks.catalog import CHANGES, Change, Query
from benchmarks.changes import SOURCES, Applied, Changes
from benchmarks.workspace import TARGETS, Measured, Workspace

FLOOR_SCHEMA = "bench_floor"
_LARGE = 16 * 2**20


class Queries:
    """Measures queries.

    Args:
        workspace: where.
        queries: which.
        changes: under which changes, of those that the queries have.
        rounds: how often; one round more comes first and is not counted.
        stock: whether to measure dbt's `incremental`, too.
    """

    def __init__(
        self,
        workspace: Workspace,
        queries: Sequence[Query],
        changes: Sequence[Change] = CHANGES,
        rounds: int = 5,
        stock: bool = True,
    ) -> None:
        """Build everything that will be refreshed."""
        self.workspace = workspace
        self.rounds = rounds
        self._began = time.strftime("%Y-%m-%d %H:%M")
        self.changes = Changes(workspace.sql)
        self.plan = [
            (change, measured)
            for change in changes
            if (measured := [query for query in queries if change in query.changes])
        ]
        self.samples: list[dict[str, Any]] = []
        self._rebuilt: set[str] = set()
        workspace.sql(f"create schema if not exists {FLOOR_SCHEMA}")
        names = [query.name for _, measured in self.plan for query in measured]
        workspace.dbt("refresh", "--full-refresh", "--select", *names)
        self.stock = stock
        stocks = [q.name for _, measured in self.plan for q in measured if q.stock and stock]
        if stocks:
            workspace.dbt("stock", "--full-refresh", "--select", *stocks)
        for query in {query.name: query for _, found in self.plan for query in found}.values():
            if query.floor:
                self._build_floor(query)

    def run(self) -> Iterator[Change]:
        """Measure.

        Yields:
            Each change, when its samples are complete and its results were found right.

        Raises:
            SystemExit: a refresh did something else than it should, or a result is wrong.
        """
        for change, measured in self.plan:
            for number in range(self.rounds + 1):
                applied = self.changes.apply(change)
                for query in measured:
                    ways = self._ways(query, change)
                    # A rebuild does not depend on the change: all rounds of a query's first one,
                    # and the last round of each, with which the others are compared.
                    if number == self.rounds or (number and query.name not in self._rebuilt):
                        ways.append("table")
                    turn = number % len(ways)
                    for way in ways[turn:] + ways[:turn]:
                        sample = self._sample(query, change, applied, way)
                        if number:
                            self.samples.append(sample)
            for query in measured:
                self._check(query, change)
                if query.name not in self._rebuilt:
                    self._noops(query, change, applied)
                self._rebuilt.add(query.name)
            print(f"{change.name}: {', '.join(query.name for query in measured)}", flush=True)
            yield change

    def _build_floor(self, query: Query) -> None:
        """A hand-written table; a large one marks deleted rows instead of copying the others."""
        floor = _floor(query)
        own = query.floor.get("create", "").format(sources=SOURCES)
        built = own or models.plain(query.name, SOURCES)
        self.workspace.sql(f"create or replace table {floor} using delta as {built}")
        (detail,) = self.workspace.sql(f"describe detail {floor}")
        if detail["sizeInBytes"] > _LARGE:
            self.workspace.sql(
                f"alter table {floor} set tblproperties (delta.enableDeletionVectors = true)"
            )

    def _ways(self, query: Query, change: Change) -> list[str]:
        return [way for way in query.ways(change) if self.stock or way != "stock"]

    def _sample(self, query: Query, change: Change, applied: Applied, way: str) -> dict[str, Any]:
        if way == "floor":
            values = applied.values | {"floor": _floor(query), "sources": SOURCES}
            measured = self.workspace.statement(query.floor[change.table].format(**values))
        else:
            measured = self.workspace.model(way, query.name)
        sample = self._of(query, change, applied, way, measured)
        if way == "refresh":
            state = f"bench_{TARGETS[way]}.{query.name}__ivm_state"
            (commit,) = self.workspace.sql(f"describe history {state} limit 1")
            sample |= {"parts": _parts(query, measured), "merge": _merge(commit)}
            sample["seen"] = not _is_unseen(measured, query)
        return sample

    def _noops(self, query: Query, change: Change, applied: Applied) -> None:
        """Refresh a model with nothing to do."""
        for number in range(self.rounds + 1):
            measured = self.workspace.model("refresh", query.name)
            assert measured.run is not None
            model = measured.run.models[query.name]
            if model.strategy != "noop":
                raise SystemExit(f"{query.name} had something to do: {model.message}")
            if number:
                self.samples.append(self._of(query, change, applied, "noop", measured))

    def _of(
        self, query: Query, change: Change, applied: Applied, way: str, measured: Measured
    ) -> dict[str, Any]:
        return {
            "run": self._began,
            "query": query.name,
            "change": change.name,
            "rows": applied.rows,
            "way": way,
            "seconds": measured.seconds,
            "work": asdict(measured.work),
        }

    def _check(self, query: Query, change: Change) -> None:
        """Compare what each way has now with the query computed anew."""
        truth = f"select * from bench_table.{query.name}"
        views = {way: f"bench_{TARGETS[way]}.{query.name}" for way in ("refresh", "stock")}
        checks = {way: f"select * from {view}" for way, view in views.items()}
        checks["floor"] = query.floor.get("check", "").format(floor=_floor(query))
        for way in self._ways(query, change):
            one, other = (truth, checks[way]) if way != "floor" else (checks[way], truth)
            if self.workspace.differ(one, other):
                raise SystemExit(f"{query.name} by {way} is wrong after {change.name}")


def _is_unseen(measured: Measured, query: Query) -> bool:
    """Whether a refresh found that the query sees nothing of what changed."""
    assert measured.run is not None and measured.trace is not None
    wrote = any(statement.kind == "write" for statement in measured.trace.inside)
    return wrote and measured.run.models[query.name].strategy == "noop"


def _parts(query: Query, measured: Measured) -> dict[str, float]:
    """Where the time of a refresh went, in seconds."""
    assert measured.run is not None
    model = measured.run.models[query.name]
    if model.strategy not in ("incremental", "recompute") and not _is_unseen(measured, query):
        raise SystemExit(f"{query.name} was not refreshed: {model.message}")
    return measured.parts(query.name)


def _merge(commit: Any) -> dict[str, int]:
    """What Delta says of its MERGE: milliseconds of its steps, and files; an overwrite has none."""
    told = {name: int(value) for name, value in commit["operationMetrics"].items()}
    added = ("numTargetFilesAdded", "numTargetChangeFilesAdded", "numFiles")
    return {
        "source": told.get("materializeSourceTimeMs", 0),
        "scan": told.get("scanTimeMs", 0),
        "rewrite": told.get("rewriteTimeMs", 0),
        "files": sum(told.get(name, 0) for name in added),
    }


def _floor(query: Query) -> str:
    return f"{FLOOR_SCHEMA}.{query.name}"
