"""The fourth benchmark: all queries of TPC-H by how much of the orders changed.

Each is refreshed as it chooses to be, by following what changed though that should cost more, and
rebuilt as `table`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any
from unittest.mock import patch

from benchmarks.catalog import KINDS, OrdersChange
from benchmarks.changes import SOURCES
from benchmarks.workspace import TARGETS, Workspace
from python_ivm.optimize.cost import Cost
from python_ivm.state.timings import Timings

WAYS = ("refresh", "following", "table")
PICKED = f"{SOURCES}.picked"
_WARM_UP = 2
"""So many changes are not measured: the code of Spark is cold."""


class Ratios:
    """Measures the queries of TPC-H.

    Args:
        workspace: where.
        models: which, by the names of their models.
        ratios: by how much of the orders changed.
        rounds: how often each.
    """

    def __init__(
        self, workspace: Workspace, models: Sequence[str], ratios: Sequence[float], rounds: int
    ) -> None:
        """Build all of them in all ways, and refresh each a few times, as the first are slower."""
        self.workspace, self.models, self.rounds = workspace, models, rounds
        self.changes = [OrdersChange(kind, ratio) for ratio in ratios for kind in KINDS]
        self.samples: list[dict[str, Any]] = []
        self._began = time.strftime("%Y-%m-%d %H:%M")
        self._applied = 0
        for way in WAYS:
            self._run(way, "--full-refresh")
        for _ in range(_WARM_UP):
            self._apply(OrdersChange("mixed", 0.0))
            for way in WAYS:
                self._run(way)

    def run(self) -> Iterator[OrdersChange]:
        """Measure.

        Yields:
            Each change, when its samples are complete and the results were found right.

        Raises:
            SystemExit: a result is wrong.
        """
        for place, change in enumerate(self.changes):
            for number in range(self.rounds):
                rows = self._apply(change)
                turn = (number + place) % len(WAYS)
                for way in WAYS[turn:] + WAYS[:turn]:
                    for model in self._run(way).values():
                        self.samples.append(
                            {
                                "run": self._began,
                                "query": model.name.removeprefix("tpch_"),
                                "change": change.name,
                                "kind": change.kind,
                                "ratio": change.ratio,
                                "rows": rows,
                                "way": way,
                                "strategy": model.strategy,
                                "how": model.message.partition(":")[0],
                                "seconds": model.seconds,
                            }
                        )
            self._check(change)
            yield change

    def _run(self, way: str, *options: str) -> Any:
        with _only_following() if way == "following" else nullcontext():
            return self.workspace.run(way, "--select", *self.models, *options).models

    def _apply(self, change: OrdersChange) -> int:
        """Change orders and their lines; those that go and are updated are the newest ones.

        Returns:
            How many orders.
        """
        sql, orders, lines = self.workspace.sql, f"{SOURCES}.orders", f"{SOURCES}.lineitem"
        self._applied += 1
        total, last = sql(f"select count(*), max(o_orderkey) from {orders}")[0]
        number = max(1, round(change.ratio * total))
        third = number // 3 if change.kind == "mixed" else 0
        some = number if change.kind == "inserts" else third
        if third:
            oldest = self._oldest_of_newest(third)
            for table, key in ((orders, "o_orderkey"), (lines, "l_orderkey")):
                sql(f"delete from {table} where {key} >= {oldest}")
        updated = number - some - third
        if updated:
            oldest = self._oldest_of_newest(updated)
            sql(f"update {orders} set o_totalprice = o_totalprice + 1 where o_orderkey >= {oldest}")
            more = "l_quantity = l_quantity + 1, l_extendedprice = l_extendedprice + 1"
            sql(f"update {lines} set {more} where l_orderkey >= {oldest}")
        if some:
            sql(
                f"create or replace table {PICKED} using delta as select o_orderkey as old, {last} "
                "+ row_number() over (order by o_orderkey) as new from (select o_orderkey from "
                f"{orders} order by xxhash64(o_orderkey, {self._applied}) limit {some})"
            )
            for table, key in ((orders, "o_orderkey"), (lines, "l_orderkey")):
                sql(
                    f"insert into {table} by name select t.* except ({key}), new as {key} "
                    f"from {table} t join {PICKED} on {key} = old"
                )
        for table in (orders, lines):  # who comes first would read what is new of the log
            sql(f"select count(*) from {table}")
        return int(number)

    def _oldest_of_newest(self, number: int) -> int:
        newest = f"select o_orderkey from {SOURCES}.orders order by 1 desc limit {number}"
        return int(self.workspace.sql(f"select min(o_orderkey) from ({newest})")[0][0])

    def _check(self, change: OrdersChange) -> None:
        for way in WAYS[:2]:
            for model in self.models:
                views = (f"select * from bench_{TARGETS[of]}.{model}" for of in (way, "table"))
                if self.workspace.differ(*views):
                    raise SystemExit(f"{model} by {way} is wrong after {change.name}")


@contextmanager
def _only_following() -> Iterator[None]:
    """What changed is followed wherever there is a rule for it."""
    with (
        patch.object(Cost, "is_more_expensive", lambda *plans: False),
        patch.object(Timings, "faster_anew", lambda *given: None),
    ):
        yield
