"""Two sources and a view, and the processes that refresh it, one after the other or at once."""

from __future__ import annotations

import random
from contextlib import suppress
from typing import Any

from dbt.adapters.sparkivm.bridge.warehouse import Row
from dbt.adapters.sparkivm.connection.session import SessionHandle
from tests.spark.crash.faults import Fault, FaultyRunner, Killed, writes
from tests.spark.workbench import Bench, View, bag, query

SUMS = (
    "select c.name, count(*) as n, sum(o.v) as total, max(o.v) as top "
    "from o left join c on o.k = c.k group by c.name"
)
NAMES = {"o", "c", "m", "m__ivm_state"}
ROWS = 40


class Process:
    """The bench as one process sees it: with a session of its own, or a runner that dies.

    Args:
        bench: The bench.
        handle: The session.
        runner: What runs statements in place of the session.
    """

    def __init__(
        self, bench: Bench, handle: SessionHandle, runner: FaultyRunner | None = None
    ) -> None:
        self.schema, self.handle = bench.schema, handle
        self._runner = runner

    def query(self, sql: str) -> list[Row]:
        """A statement's rows."""
        return self._runner(sql) if self._runner is not None else query(self.handle, sql)

    def view(self, view: View) -> View:
        """A view of the bench, whose statements run in this process."""
        return View(self, view.name, view.sql, view.options)  # type: ignore[arg-type]


def new_process(bench: Bench, fault: Fault | None = None) -> tuple[Process, FaultyRunner]:
    """A session of its own, as each dbt process has one; the bench goes on with it, too."""
    bench.handle.close()
    bench.handle = SessionHandle(bench.new_session())
    bench.sql(f"use {bench.schema}")
    runner = FaultyRunner(bench.handle, fault)
    return Process(bench, bench.handle, runner), runner


class World:
    """Two sources and a view, whose runs can be killed; one for all trials."""

    def __init__(self, bench: Bench, seed: int) -> None:
        self.bench = bench
        self.random = random.Random(seed)
        self.view = View(bench, "m", SUMS)
        bench.table("c", "k int, name string", "(1, 'a')", "(2, 'b')", "(3, 'b')", "(4, null)")
        rows = (f"({i}, {i % 5}, {i * 3 % 7})" for i in range(ROWS))
        bench.table("o", "id int, k int, v int", *rows)
        self.view.refresh("full")
        self.next_id = ROWS

    def insert(self) -> None:
        """A row that the view sees."""
        self.next_id += 1
        self.bench.sql(f"insert into o values ({self.next_id}, 1, 1)")

    def change(self) -> None:
        """Some rows of the sources change."""
        pick = self.random.randrange
        self.next_id += 1
        changes = (
            f"insert into o values ({self.next_id}, {pick(6)}, {pick(9)})",
            f"update o set v = v + 1 where id % 7 = {pick(7)}",
            f"delete from o where id = {pick(self.next_id)}",
            f"update c set name = '{pick(3)}' where k = {1 + pick(4)}",
        )
        self.bench.sql(self.random.choice(changes))

    def rows(self) -> Any:
        """What a reader sees; None without a view."""
        session = self.bench.handle.session
        if not session.catalog.tableExists(f"{self.bench.schema}.m"):
            return None
        return bag(session.sql("select * from m").collect())

    def process(self, fault: Fault | None, **changes: Any) -> FaultyRunner:
        """A run in a process of its own."""
        process, runner = new_process(self.bench, fault)
        with suppress(Killed):
            process.view(self.view).run(**changes)
        return runner

    def mended(self, told: str) -> None:
        """Fail unless a plain run makes all right, the next one has nothing to do, and no more
        tables are there than belong here."""
        self.process(None)
        self.view.check()
        again = self.process(None)
        assert not any(map(writes, again.run)), told
        found = {
            row["tableName"] for row in self.bench.query(f"show tables in {self.bench.schema}")
        }
        assert found == NAMES, told


def tables_of(bench: Bench | Process) -> set[str]:
    """The tables and views of a schema."""
    return {row["tableName"] for row in bench.query(f"show tables in {bench.schema}")}
