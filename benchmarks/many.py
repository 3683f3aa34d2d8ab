"""Many models: how long runs, previews and reports of a large project take if nothing changed.

`make bench-many ARGS='--models 500 --sources 100'` writes a project of maintained models over
Delta tables in a folder of its own, starts its resident Spark, builds it, and measures commands as
a user calls them, each in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import yaml

SCHEMA = "many"
_BIN = Path(sys.executable).parent

SHAPES: tuple[Callable[[str, str, str], str], ...] = (
    lambda a, b, c: f"select k, v, w from {a} where v % 10 < 5",
    lambda a, b, c: f"select g, count(*) as v, sum(w) as w, min(k) as k from {a} group by g",
    lambda a, b, c: f"select a.k, a.v, b.w from {a} a join {b} b on a.k = b.k",
    lambda a, b, c: (
        f"select a.k, a.v, coalesce(b.w, 0) as w from {a} a left join {b} b "
        "on a.k = b.k where a.v > 3"
    ),
    lambda a, b, c: (
        f"select a.k, max(b.v) as v, sum(c.w) as w from {a} a join {b} b on a.k = b.k "
        f"join {c} c on a.k = c.k group by a.k"
    ),
    lambda a, b, c: f"select k, v, w from {a} union all select k, v, w from {b}",
    lambda a, b, c: (
        f"select k, v, w from (select *, row_number() over (partition by v order by k) "
        f"as n from {a}) where n <= 3"
    ),
)
"""Models by the relations that they read; each shows k, v and w, and those of sources g, too."""

MAKE_SOURCES = """
{% macro make_sources(number) %}
  {% do run_query("create schema if not exists " ~ target.schema) %}
  {% for n in range(number) %}
    {% do run_query("create or replace table " ~ target.schema ~ ".s" ~ n ~ " using delta "
        "tblproperties (delta.enableChangeDataFeed = true) as select id as k, id % 97 as v, "
        "id * 7 % 31 as w, id % 5 as g from range(1000)") %}
  {% endfor %}
{% endmacro %}
{% macro change_sources(number) %}
  {% for n in range(number) %}
    {% do run_query("insert into " ~ target.schema ~ ".s" ~ n ~ " values (1001, 1, 1, 1)") %}
  {% endfor %}
{% endmacro %}
"""


def write(root: Path, models: int, sources: int, threads: int = 4) -> None:
    """Write the project.

    Args:
        root: Its folder.
        models: How many models it has: six of ten over sources, three over those, one at the top.
        sources: How many tables they read.
        threads: dbt's.
    """
    folder = root / "models"
    folder.mkdir(parents=True)
    (root / "macros").mkdir()
    (root / "macros" / "make.sql").write_text(MAKE_SOURCES)
    flags = {"send_anonymous_usage_stats": False}
    config = {"many": {"+materialized": "incremental_ivm"}}
    _yaml(root / "dbt_project.yml", name="many", profile="many", flags=flags, models=config)
    target = {"type": "sparkivm", "method": "connect", "schema": SCHEMA, "threads": threads}
    _yaml(root / "profiles.yml", many={"target": "bench", "outputs": {"bench": target}})
    tables = [{"name": f"s{n}"} for n in range(sources)]
    _yaml(folder / "sources.yml", version=2,
          sources=[{"name": "raw", "schema": SCHEMA, "tables": tables}])  # fmt: skip
    bottom, middle = models * 6 // 10, models * 9 // 10
    for number in range(models):
        (folder / f"m{number}.sql").write_text(_model(number, bottom, middle, sources))


def _model(number: int, bottom: int, middle: int, sources: int) -> str:
    """A model over three relations of the layer below it."""
    if number < bottom:
        read = [f"{{{{ source('raw', 's{(number * 3 + n) % sources}') }}}}" for n in range(3)]
        shape = SHAPES[number % len(SHAPES)]
    else:
        first, last = (0, bottom) if number < middle else (bottom, middle)
        read = [f"{{{{ ref('m{first + (number * 5 + n) % (last - first)}') }}}}" for n in range(3)]
        over_models = [shape for place, shape in enumerate(SHAPES) if place != 1]
        shape = over_models[number % len(over_models)]
    return shape(*read)


def _yaml(path: Path, **content: object) -> None:
    path.write_text(yaml.safe_dump(content, sort_keys=False))


class Bench:
    """Calls commands in a project, and measures them."""

    def __init__(self, root: Path) -> None:
        """Take the project's folder."""
        self._root = root

    def call(self, *command: str) -> float:
        """The seconds of a command, with the start of its process.

        Raises:
            CalledProcessError: If it fails.
        """
        began = time.perf_counter()
        environment = {**os.environ, "DBT_PROFILES_DIR": str(self._root)}
        done = subprocess.run(
            [str(_BIN / command[0]), *command[1:]],
            cwd=self._root, env=environment, capture_output=True, text=True,
        )  # fmt: skip
        if done.returncode:
            print(done.stdout[-4000:], done.stderr[-2000:], file=sys.stderr)
            done.check_returncode()
        return time.perf_counter() - began

    def measured(self, rounds: int, *command: str) -> float:
        """The median of some calls."""
        return median(self.call(*command) for _ in range(rounds))


def main() -> None:
    """Write, build and measure; print the figures as JSON."""
    parser = argparse.ArgumentParser(prog="benchmarks.many", description=__doc__)
    parser.add_argument("--models", type=int, default=500)
    parser.add_argument("--sources", type=int, default=100)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3, help="measurements of each figure")
    parser.add_argument("--into", type=Path, help="keep the project here; use what stands there")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sparkivm-many-") as place:
        root = given.into or Path(place) / "many"
        built = root / "target" / "built"
        if not root.exists():
            write(root, given.models, given.sources, given.threads)
        bench, figures = Bench(root), {"models": given.models, "sources": given.sources}
        bench.call("dbt-sparkivm", "server", "start")
        try:
            if not built.exists():
                arguments = json.dumps({"number": given.sources})
                bench.call("dbt", "run-operation", "make_sources", "--args", arguments)
                figures["first build"] = round(bench.call("dbt", "run"), 1)
                built.touch()
            bench.call("dbt", "run")  # which learns that nothing changed
            for name, command in COMMANDS.items():
                figures[name] = round(bench.measured(given.rounds, *command), 1)
                print(json.dumps(figures), flush=True)
        finally:
            bench.call("dbt-sparkivm", "server", "stop")


COMMANDS = {
    "run, nothing changed": ("dbt", "run"),
    "preview": ("dbt-sparkivm", "preview", "--format", "json"),
    "status": ("dbt-sparkivm", "status", "--format", "json"),
    "report": ("dbt-sparkivm", "report"),
}

if __name__ == "__main__":
    main()
