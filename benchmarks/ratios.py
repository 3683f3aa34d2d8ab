"""The fourth benchmark: all queries of TPC-H, or of TPC-DS, by how much of the orders changed.

Each is refreshed as it chooses to be, by following what changed though that should cost more, by
computing the query anew though that should, and rebuilt as `table`: one right after the other, as a
noisy machine is slower for minutes. So the code of each way is as warm as that of the others,
whatever is chosen.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any
from unittest.mock import patch

from benchmarks.catalog import OrdersChange
from benchmarks.orders import OrdersChanges
from benchmarks.workspace import TARGETS, Workspace
from python_ivm.optimize.cost import Cost
from python_ivm.state.timings import Expected, Timings

WAYS = ("refresh", "following", "anew", "table")
AGAIN = "again"
"""The rebuild once more, of tables of its own: it tells how much of a difference is noise."""
_REBUILDS = ("table", AGAIN)
SETTINGS = {"spark.databricks.delta.properties.defaults.checkpointInterval": "1000"}
"""Each table writes a checkpoint of its log at every tenth commit, which takes half a second and
more. The tenth commits of all models fall into one round, and would decide what it tells."""
_WARM_UP = 2
"""How many changes are not measured: the code of Spark is cold."""


class Ratios:
    """Measures the queries.

    Args:
        workspace: where.
        models: which, by the names of their models.
        orders: changes what they read.
        changes: which are measured, one after the other.
        rounds: how often each, after a first time that is cold and told by itself.
        ways: in which ways, of which `refresh` and `table` are always some.
        first: whether there is that first time. At large scales cold code takes little of it.
    """

    def __init__(
        self,
        workspace: Workspace,
        models: Sequence[str],
        orders: OrdersChanges,
        changes: Sequence[OrdersChange],
        rounds: int,
        ways: Sequence[str] = WAYS,
        first: bool = True,
    ) -> None:
        """Build all of them in all ways, and refresh each a few times, as the first are slower."""
        self.workspace, self.models, self.orders = workspace, models, orders
        self.rounds, self.ways = range(0 if first else 1, rounds + 1), tuple(ways)
        self.changes = tuple(changes)
        self.samples: list[dict[str, Any]] = []
        self._began = time.strftime("%Y-%m-%d %H:%M")
        for way in self.ways:
            self._run(way, *self.models, options=["--full-refresh"])
        for _ in range(_WARM_UP):
            self.orders.apply(OrdersChange("mixed", 0.0))
            for way in self.ways:
                if first or way not in _REBUILDS:
                    self._run(way, *self.models)

    def run(self) -> Iterator[OrdersChange]:
        """Measure.

        Yields:
            Each change, when its samples are complete and the results were found right.

        Raises:
            SystemExit: a result is wrong.
        """
        for place, change in enumerate(self.changes):
            for number in self.rounds:
                rows = self.orders.apply(change)
                for turn, name in enumerate(self.models, number + place):
                    for way in in_turn(turn, self.ways):
                        model = self._run(way, name)[name]
                        self.samples.append(
                            {
                                "run": self._began,
                                "query": name.partition("_")[2],
                                "change": change.name,
                                "kind": change.kind,
                                "ratio": change.ratio,
                                "rows": rows,
                                "round": number,
                                "way": way,
                                "strategy": model.strategy,
                                "how": model.message.partition(":")[0],
                                "seconds": model.seconds,
                            }
                        )
            self._check(change)
            yield change

    def _run(self, way: str, *names: str, options: Sequence[str] = ()) -> Any:
        with _FORCED.get(way, nullcontext)():
            return self.workspace.run(way, "--select", *names, *options).models

    def _check(self, change: OrdersChange) -> None:
        for way in (way for way in self.ways if way not in _REBUILDS):
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


@contextmanager
def _only_anew() -> Iterator[None]:
    """All rows are written wherever a refresh might choose that."""
    with (
        patch.object(Timings, "faster_anew", lambda *given: Expected(0, float("inf"))),
        patch.object(Timings, "may_be_unseen", lambda *given: False),
    ):
        yield


_FORCED: Mapping[str, Callable[[], AbstractContextManager[None]]] = {
    "following": _only_following,
    "anew": _only_anew,
}
"""How the ways are forced that a refresh would not always choose."""


def in_turn(turn: int, ways: Sequence[str]) -> Sequence[str]:
    """The ways in another order for each turn: each comes as often before another as after it."""
    turns, first = divmod(turn, len(ways))
    order = [*ways[first:], *ways[:first]]
    return order[::-1] if turns % 2 else order
