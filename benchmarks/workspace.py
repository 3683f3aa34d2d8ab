"""A folder outside the project with a copy of the dbt project, its data and its Spark."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from benchmarks import models
from benchmarks.catalog import PROJECT
from benchmarks.changes import SOURCES
from benchmarks.status import Status, Work
from benchmarks.trace import Trace, traced
from demo.commands import Dbt, Run
from integration_tests.tpch import load

TARGETS = {
    "refresh": "ivm",
    "following": "following",
    "anew": "anew",
    "stock": "stock",
    "table": "table",
    "again": "again",
}
"""The dbt target of each way in which dbt brings a model up to date."""


def target_path(target: str) -> str:
    """Where dbt keeps what it parsed: for each target, or it would parse all anew every time."""
    return f"target/{target}"


@dataclass(frozen=True)
class Data:
    """The tables of a benchmark.

    Attributes:
        schema: where they are loaded.
        generate: writes them as Parquet files, at a scale factor, into a folder.
        more: columns that they get besides their own.
    """

    schema: str
    generate: Callable[[float, Path], None]
    more: str = ""


TPCH = Data(SOURCES, load.generate, ", 0 as loaded")
"""With a column for the number of the load that wrote a row."""


@dataclass
class Measured:
    """One measurement.

    Attributes:
        seconds: by the wall; of a model of dbt its execution time, without dbt's own start.
        work: what Spark did.
        run: dbt's results, if it was dbt.
        trace: its statements, if they were traced.
    """

    seconds: float
    work: Work
    run: Run | None = None
    trace: Trace | None = None

    def parts(self, model: str) -> dict[str, float]:
        """Where the time of a traced model went: seconds, and numbers of statements."""
        assert self.run is not None and self.trace is not None
        trace = self.trace
        others = trace.planning + sum(statement.seconds for statement in trace.inside)
        return {
            "dbt": self.run.models[model].seconds - others,
            "planning": trace.planning,
            "metadata": trace.seconds("metadata"),
            "settings": trace.seconds("setting"),
            "merge": trace.seconds("write"),
            "statements": len(trace.inside),
            "statements_metadata": sum(s.kind == "metadata" for s in trace.inside),
            "statements_settings": sum(s.kind == "setting" for s in trace.inside),
        }


class Workspace:
    """Where one scale is measured. One process can have one, as its Spark keeps its places.

    Args:
        folder: an empty folder, or one of an earlier workspace of the same scale and data.
        scale: the scale factor.
        data: the tables.
        settings: Spark's, beside the adapter's own.
    """

    def __init__(
        self,
        folder: Path,
        scale: float,
        data: Data = TPCH,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """Generate and load the data, unless that was done already."""
        self.project, self.schema = folder / "project", data.schema
        if not self.project.exists():
            shutil.copytree(PROJECT, self.project, ignore=shutil.ignore_patterns(".*", "target"))
            models.write(self.project)
            if settings:
                _set(self.project / "profiles.yml", settings)
        data.generate(scale, folder / "data")
        self.session = load.session_of_profile(self.project)
        self.session.conf.set("spark.sql.ansi.enabled", "false")  # as dbt-spark has it
        self.sql = load.sql_of(self.session)
        loaded = folder / "loaded"
        if not loaded.exists():
            self._load(data, folder / "data")
            loaded.touch()
        self.status = Status(self.session)
        self._dbt = {
            way: Dbt(self.project, target, lambda model: None) for way, target in TARGETS.items()
        }

    def run(self, way: str, *options: str) -> Run:
        """A warm `dbt run`, in this process."""
        return self._dbt[way].run(*options, "--target-path", target_path(TARGETS[way]))

    def dbt(self, way: str, *options: str) -> Measured:
        """The same, with what it cost; traced if it refreshes."""
        self.status.since()
        with traced() as trace:
            began = time.perf_counter()
            run = self.run(way, *options)
            wall = time.perf_counter() - began
        return Measured(wall, self.status.since(), run, trace)

    def model(self, way: str, name: str, *options: str) -> Measured:
        """A model brought up to date by a warm `dbt run`: its execution time."""
        measured = self.dbt(way, "--select", name, *options)
        assert measured.run is not None
        measured.seconds = measured.run.models[name].seconds
        return measured

    def statement(self, sql: str) -> Measured:
        """A statement on the warm session."""
        return self.measured(lambda: self.sql(sql))

    def measured(self, work: Callable[[], Any]) -> Measured:
        """Anything else on the warm session."""
        self.status.since()
        began = time.perf_counter()
        work()
        seconds = time.perf_counter() - began
        return Measured(seconds, self.status.since())

    def differ(self, one: str, other: str) -> bool:
        """Whether two queries with the same columns give different bags of rows.

        Of floating-point numbers the last digits hang on the order in which they were added.
        """
        columns = self.session.sql(one).dtypes
        shown = ", ".join(_comparable(*column) for column in columns)
        named = ", ".join(f"`{name}`" for name, _ in columns)
        sums = [
            self.sql(
                f"select count(*), sum(cast(xxhash64({shown}) as decimal(38, 0))) "
                f"from (select {named} from ({query}))"
            )[0]
            for query in (one, other)
        ]
        return bool(sums[0] != sums[1])

    def _load(self, data: Data, folder: Path) -> None:
        self.sql(f"create schema if not exists {data.schema}")
        for file in sorted(folder.glob("*.parquet")):
            self.sql(
                f"create or replace table {data.schema}.{file.stem} using delta tblproperties "
                f"(delta.enableChangeDataFeed = true) as select *{data.more} from parquet.`{file}`"
            )


def _set(profiles: Path, settings: Mapping[str, str]) -> None:
    """Start each Spark of dbt's own process with these settings."""
    read = yaml.safe_load(profiles.read_text())
    for target in read["benchmark"]["outputs"].values():
        if target["method"] == "session":
            target["server_side_parameters"] = dict(settings)
    profiles.write_text(yaml.safe_dump(read, sort_keys=False))


def _comparable(name: str, kind: str) -> str:
    column = f"cast(`{name}` as decimal(38, 6))" if kind in ("float", "double") else f"`{name}`"
    return f"coalesce(cast({column} as string), 'NULL')"
