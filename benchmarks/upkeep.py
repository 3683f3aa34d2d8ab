"""Many small refreshes of two equal views, of which one's state is maintained.

`make bench-upkeep ARGS='--refreshes 10000'` inserts two rows into a table, of a new group and of an
old one, refreshes both views, and does so again and again in one process. Now and then it prints
how long the refreshes since the last print took, beside an insert and a `MERGE` of one row that is
written by hand, how long it takes to read each view, and how many files each state has. At the end
it compares both views with the query.

A refresh takes about a second, so that 10,000 take hours: `--written 1010 9900` leaves these to
`benchmarks/written.py`, which takes some milliseconds for each.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from statistics import mean, median
from typing import Any
from urllib.parse import urlsplit

from benchmarks.written import WrittenState, WrittenTable
from dbt.adapters.sparkivm.bridge.conf import SessionConf
from dbt.adapters.sparkivm.bridge.delta_log import DeltaLogs
from dbt.adapters.sparkivm.bridge.refresher import Refresher
from dbt.adapters.sparkivm.bridge.warehouse import SparkWarehouse
from dbt.adapters.sparkivm.connection.in_process import new_session
from dbt.adapters.sparkivm.credentials import SparkIvmCredentials
from python_ivm.operate.maintenance import maintenance
from python_ivm.refresh.metadata.versions import state_history
from tests.spark.workbench import Bench, View, tuples_of

SUMS = "select k, count(*) as n, sum(v) as s from s.r group by k"
FLOOR = (
    "merge into s.floor as stored using (select {group} as k, 1 as s) as change "
    "on stored.k is not distinct from change.k "
    "when matched then update set s = stored.s + change.s when not matched then insert *"
)
GROUPS = 1000
SOURCE_APART = 100
"""The source's files are written anew after so many inserts, as its owner would do it."""
STATE_APART = 16
"""How many refreshes pass before a state's files are written anew (docs/decisions/0058)."""
READS = 5
FLOORS = 10


class Lane:
    """One of the views, and how long its refreshes took.

    Args:
        view: The view.
        maintained: Whether what its state needs is done after each refresh, as
            `ivm_auto_maintain` does.
    """

    def __init__(self, view: View, maintained: bool) -> None:
        """Take the view."""
        self.view, self._maintained = view, maintained
        self._request = view.request()  # the same each time, as only rows change
        bench = view.bench
        conf = SessionConf(bench.handle)
        self._warehouse = SparkWarehouse(bench.query, DeltaLogs(bench.handle), conf)
        self._refresher = Refresher(
            bench.query,
            conf,
            self._warehouse,
            lambda: None,
            tuples=partial(tuples_of, bench.handle),
        )
        self.took: list[float] = []
        self.upkeep: list[float] = []

    def refresh(self) -> None:
        """Refresh once, and maintain what needs it.

        Raises:
            AssertionError: If the change was not followed.
        """
        outcome, took = timed(lambda: self._refresher.refresh(self._request))
        assert outcome.refresh.strategy.value == "incremental", outcome.refresh
        self.took.append(took)
        if self._maintained:
            self.upkeep.append(timed(self._maintain)[1])

    def _maintain(self) -> None:
        now = round(time.time() * 1000)
        planned = maintenance(self._request, self._warehouse, now)
        if planned.statements:
            self._refresher.run(self._request, planned.statements)

    def written(self) -> WrittenState:
        """What writes further refreshes' commits."""
        view = self.view
        found = state_history(self._warehouse, (view.bench.schema, view.state))
        assert found.bookmark is not None
        apart = STATE_APART if self._maintained else None
        return WrittenState(table(view.bench, view.state), found.bookmark.text(), "s.r", apart)

    def told(self) -> dict[str, Any]:
        """The figures since the last call."""
        bench = self.view.bench
        count = f"select count(*), sum(s) from {self.view.name}"
        read = median(timed(lambda: bench.sql(count))[1] for _ in range(READS))
        detail = bench.query(f"describe detail {self.view.state}")[0]
        figures = {
            "refresh": round(median(self.took), 3), "read": round(read, 3),
            "files": detail["numFiles"], "bytes": detail["sizeInBytes"],
        }  # fmt: skip
        if self._maintained:
            figures["maintenance, mean"] = round(mean(self.upkeep), 3)
        self.took, self.upkeep = [], []
        return figures


def timed(work: Any) -> tuple[Any, float]:
    """What something gives, and the seconds that it takes."""
    began = time.perf_counter()
    return work(), time.perf_counter() - began


def write(bench: Bench, lanes: Iterable[Lane], first: int, last: int) -> None:
    """Write the commits of refreshes, each of a row of a new group."""
    source = table(bench, "r")
    states = [lane.written() for lane in lanes]
    for number in range(first, last + 1):
        if number % SOURCE_APART == 0:
            source.compact()
        version = source.append({"k": GROUPS + number, "v": 1})
        for state in states:
            state.refresh(GROUPS + number, version)


def table(bench: Bench, name: str) -> WrittenTable:
    """A table as it is, to be written without Spark."""
    folder = Path(urlsplit(bench.query(f"describe detail {name}")[0]["location"]).path)
    files = bench.query(f"select distinct _metadata.file_name as file from {name}")
    columns = bench.handle.session.table(name).columns
    return WrittenTable(folder, columns, [row["file"] for row in files])


def main() -> None:
    """Refresh, and print the figures as lines of JSON."""
    parser = argparse.ArgumentParser(prog="benchmarks.upkeep", description=__doc__)
    parser.add_argument("--refreshes", type=int, default=1000)
    parser.add_argument("--every", type=int, default=100, help="print after so many")
    parser.add_argument(
        "--written",
        type=int,
        nargs=2,
        action="append",
        default=[],
        metavar=("FIRST", "LAST"),
        help="the refreshes whose commits are written without Spark",
    )
    given = parser.parse_args()
    if any(last < first for first, last in given.written):
        parser.error("--written: LAST is before FIRST")
    skipped = {first: last for first, last in given.written}
    with tempfile.TemporaryDirectory(prefix="sparkivm-upkeep-") as place:
        profile = {"method": "session", "schema": "s"}
        credentials = SparkIvmCredentials.from_dict(profile)
        credentials.project_root = Path(place)
        bench = Bench(lambda: new_session(credentials), "s")
        bench.table("r", "k int, v int")
        bench.sql(f"insert into r select id, id from range({GROUPS})")
        bench.table("floor", "k int, s bigint")
        bench.sql(f"insert into floor select id, id from range({GROUPS})")
        lanes = {
            "maintained": Lane(bench.view(SUMS), maintained=True),
            "left alone": Lane(bench.view(SUMS), maintained=False),
        }
        inserts: list[float] = []
        floors: list[float] = []
        number = 0
        while number < given.refreshes:
            number += 1
            if number in skipped:
                write(bench, lanes.values(), number, skipped[number])
                number = skipped[number]
                continue
            old = number * 7 % GROUPS
            rows = f"({GROUPS + number}, 1), ({old}, {number})"
            inserts.append(timed(partial(bench.sql, f"insert into r values {rows}"))[1])
            if number % SOURCE_APART == 0:
                bench.sql("optimize r")
            for lane in lanes.values():
                lane.refresh()
            if number % given.every <= FLOORS:
                floors.append(timed(partial(bench.sql, FLOOR.format(group=old)))[1])
            if number % given.every == 0 or number == 1:
                figures: dict[str, Any] = {name: lane.told() for name, lane in lanes.items()}
                others = {"insert": median(inserts), "merge by hand": median(floors)}
                figures.update({what: round(took, 3) for what, took in others.items()})
                inserts, floors = [], []
                print(json.dumps({"refreshes": number, **figures}), flush=True)
        for lane in lanes.values():
            lane.view.check()
        print(json.dumps({"equal to the query": True}))


if __name__ == "__main__":
    main()
