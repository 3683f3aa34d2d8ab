"""Writes the support matrix, `docs/support.md`, from the queries that the tests run (`make docs`).

What the page says of a query is what the planner does with it.
"""

from __future__ import annotations

from pathlib import Path

from docs.examples import Catalog
from python_ivm.explain.explain import explain
from python_ivm.refresh.request import Request
from tests.planner.lake import Lake
from tests.planner.test_operators import NESTED, QUERIES, TABLES
from tests.planner.test_rebuilt import REBUILT
from tests.spark import test_incomparable as incomparable
from tests.spark import test_time_windows as time_windows

PAGE = Path(__file__).with_name("support.md")
FULL = "rebuilt in full"

TITLE = """# Support matrix

This page shows for each query of the test suite how its view follows its sources.

`make docs` writes it from the tests. [Limits](limits.md) says more about what is not maintained.

- **incremental**: computed from the changed rows, and lookups of the rows that they match.
- **affected groups**: the groups, partitions or limits that a change affects are recomputed from
  the pre-state and the post-state, and the difference is written. `ivm_explain` shows for a model
  which parts these are, and why.
- **rebuilt in full**: whenever a source changed.

Tables: `a(k, v)`, `b(k, w)`, `c(w, z)` of whole numbers, and `d` with an array `xs`, a map `m`, a
struct `p` and an array of structs `st`. Time windows run on Spark only: `pings(k, v, t, day,
local)` with a time, a date and a time without zone, and `devices(k, name)`. So do maps `m`,
variants `j`, structs `n` and arrays `st` with maps in them, of the table `r`.
"""


def page() -> str:
    """The page's text."""
    lake = Lake()
    for table, columns in TABLES.items():
        lake.create(table, dict.fromkeys(columns, "int"))
    lake.create("d", NESTED)
    rows = [(how(lake, sql), name, sql) for name, sql in {**QUERIES, **REBUILT}.items()]
    timed = time_windows.MAINTAINED | time_windows.REBUILT
    on_spark = timed | incomparable.MAINTAINED
    rows += [(how(Catalog(), sql), name, sql) for name, sql in on_spark.items()]
    counts = {kind: sum(k == kind for k, _, _ in rows) for kind, _, _ in rows}
    told = ", ".join(f"{number} {kind}" for kind, number in counts.items())
    lines = [
        f"{TITLE}\nOf {len(rows)} queries: {told}.\n",
        "| query | how | SQL |",
        "|---|---|---|",
    ]
    for kind, name, sql in rows:
        escaped = " ".join(sql.split()).replace("|", "\\|")
        lines.append(f"| {name.replace('_', ' ')} | {kind} | `{escaped}` |")
    return "\n".join(lines) + "\n"


def how(warehouse: Lake | Catalog, sql: str) -> str:
    """How the planner maintains a query."""
    request = Request("m", sql, view=("s", "m"), state=("s", "m__ivm_state"))
    text = explain(request, warehouse)
    if "Every change rebuilds the view in full" in text:
        return FULL
    return "affected groups" if "Recomputed where a change touches it" in text else "incremental"


if __name__ == "__main__":
    PAGE.write_text(page())
