"""Writes the support matrix, `docs/support.md`, from the queries that the tests run (`make docs`).

What the page says of a query is what the planner does with it.
"""

from __future__ import annotations

from python_ivm.explain.explain import explain
from python_ivm.refresh.request import Request
from scripts.docs import DOCS
from scripts.docs.example_catalog import Catalog
from scripts.docs.marked_blocks import filled
from tests.planner.lake import Lake
from tests.planner.test_operators import NESTED, QUERIES, TABLES
from tests.planner.test_rebuilt import REBUILT
from tests.spark import test_incomparable as incomparable
from tests.spark import test_time_windows as time_windows

PAGE = DOCS / "support.md"
FULL = "rebuilt in full"


def page(text: str) -> str:
    """The page's text with the queries of the tests."""
    return filled(text, {"queries": queries()}.__getitem__)


def queries() -> str:
    """How each query is maintained, as a table."""
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
        f"Of {len(rows)} queries: {told}.\n",
        "| query | how | SQL |",
        "|---|---|---|",
    ]
    for kind, name, sql in rows:
        escaped = " ".join(sql.split()).replace("|", "\\|")
        lines.append(f"| {name.replace('_', ' ')} | {kind} | `{escaped}` |")
    return "\n".join(lines)


def how(warehouse: Lake | Catalog, sql: str) -> str:
    """How the planner maintains a query."""
    request = Request("m", sql, view=("s", "m"), state=("s", "m__ivm_state"))
    text = explain(request, warehouse)
    if "Every change rebuilds the view in full" in text:
        return FULL
    return "affected groups" if "Recomputed where a change touches it" in text else "incremental"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text()))
