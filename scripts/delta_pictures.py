"""Draws how a change of five orders goes through a join, step by step (`make pictures`).

The planner emits the `MERGE`, and DuckDB runs its parts: no row of the pictures is written by
hand.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlglot
from sqlglot import exp

from python_ivm.parse.parser import DIALECT
from python_ivm.refresh.statement import StatementKind
from python_ivm.refresh.strategy import plan_refresh
from scripts.pictures import PICTURES
from tests.planner.lake import Lake

COUNT = "__ivm_count__"
ORDERS = [(101, 1, 20), (102, 1, 15), (103, 2, 40), (104, 9, 5), (105, 2, 30)]
CUSTOMERS = [(1, "France"), (2, "Kenya"), (3, "Peru")]
QUERY = (
    "select o.id, o.total, c.country "
    "from s.orders o {join} s.customers c on o.customer = c.customer"
)
JOINS = {"delta-join": "join", "delta-left-join": "left join"}
KEPT, CAME, GONE = "#ffffff", "#cfe8d5", "#f3cfc9"


@dataclass(frozen=True)
class Panel:
    """A table of a picture.

    Attributes:
        title: what it is.
        columns: their names.
        rows: each with its sign: 0 if it stays, +1 if it comes, -1 if it goes.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[int, tuple[Any, ...]], ...]


@dataclass(frozen=True)
class Steps:
    """A change on its way: the sources, the terms of the delta, and the view."""

    sources: tuple[Panel, ...]
    terms: tuple[Panel, ...]
    view: Panel


def steps(join: str) -> Steps:
    """An order gets another customer, and a customer of an order arrives."""
    lake = Lake()
    lake.create("orders", {"id": "int", "customer": "int", "total": "int"}, ORDERS)
    lake.create("customers", {"customer": "int", "country": "string"}, CUSTOMERS)
    sql = QUERY.format(join=join)
    lake.run("m", sql)
    before = _rows(lake, "select id, total, country from s.m")
    lake.change("orders", delete=[ORDERS[2]], insert=[(103, 3, 60)])
    lake.change("customers", insert=[(9, "Japan")])
    refresh = plan_refresh(lake.request("m", sql), lake)
    merge = next(each.sql for each in refresh.statements if each.kind is StatementKind.MERGE)
    terms = tuple(_terms(lake, merge))
    lake.run("m", sql)
    after = _rows(lake, "select id, total, country from s.m")
    return Steps(
        (
            _changed("orders", ("id", "customer", "total"), ORDERS, lake.rows["orders"][-1]),
            _changed("customers", ("customer", "country"), CUSTOMERS, lake.rows["customers"][-1]),
        ),
        terms,
        _changed("the view", ("id", "total", "country"), before, after),
    )


def _terms(lake: Lake, merge: str) -> Iterator[Panel]:
    """The terms of a MERGE's delta with the rows that they have."""
    source = sqlglot.parse_one(merge, dialect=DIALECT).args["using"].this
    ctes = source.args["with_"].expressions
    delta = next(cte.this for cte in ctes if cte.alias == "delta")
    names = ("id", "total", "country")
    for term in _branches(delta):
        title = " ".join(comment.strip() for comment in term.comments or ())
        with_ = exp.With(expressions=[cte.copy() for cte in ctes if cte.alias != "delta"])
        query = term.copy()
        query.set("with_", with_)
        inner = query.sql(dialect=DIALECT)
        listed = ", ".join((*names, COUNT))
        rows = _rows(lake, f"select {listed} from ({inner}) as term")
        yield Panel(title, names, tuple((row[-1], row[:-1]) for row in rows))


def _branches(query: exp.Expression) -> Iterator[exp.Select]:
    if isinstance(query, exp.Union):
        yield from _branches(query.left)
        yield from _branches(query.right)
    elif isinstance(query, exp.Select):
        yield query


def _rows(lake: Lake, sql: str) -> list[tuple[Any, ...]]:
    rows: list[tuple[Any, ...]] = lake.db.execute(lake.duck(sql)).fetchall()
    return sorted(rows, key=str)


def _changed(
    title: str,
    columns: tuple[str, ...],
    before: Sequence[tuple[Any, ...]],
    after: Sequence[tuple[Any, ...]],
) -> Panel:
    """A table with the rows that stay, come and go."""
    signs = {row: (row in after) - (row in before) for row in [*before, *after]}
    return Panel(title, columns, tuple(sorted(((s, r) for r, s in signs.items()), key=_place)))


def _place(row: tuple[int, tuple[Any, ...]]) -> tuple[str, int]:
    return str(row[1][0]), row[0]


def main() -> None:
    """Draw the pictures."""
    for name, join in JOINS.items():
        _draw(steps(join), PICTURES / f"{name}.svg")


def _draw(made: Steps, file: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "dbt-sparkivm"  # the same rows, the same file
    from matplotlib import pyplot

    columns = (made.sources, made.terms, (made.view,))
    heights = [sum(len(panel.rows) + 3 for panel in column) for column in columns]
    picture, axes = pyplot.subplots(figsize=(10, 0.25 * max(heights) + 0.6))
    axes.set_xlim(0, 30)
    axes.set_ylim(-max(heights), 1.2)
    axes.axis("off")
    for place, (heading, panels) in enumerate(
        zip(("1. sources", "2. terms of the delta", "3. MERGE"), columns, strict=True)
    ):
        left, top = place * 10.3, 0.0
        axes.text(left, top + 0.6, heading, fontsize=11, weight="bold")
        for panel in panels:
            top = _panel(axes, panel, left, top - 0.6)
    picture.tight_layout()
    picture.patch.set_facecolor("white")  # pages have dark modes
    picture.savefig(file, metadata={"Date": None})
    pyplot.close(picture)


def _panel(axes: Any, panel: Panel, left: float, top: float) -> float:
    """Draw a table, and tell where its bottom is."""
    from matplotlib import patches

    title = panel.title.replace("⟕", "left join")  # no font has it
    axes.text(
        left,
        top - 0.5,
        textwrap.shorten(title, 48, placeholder=" …"),
        fontsize=8.5,
        va="center",
        style="italic",
    )
    lines = [(0, panel.columns), *panel.rows] if panel.rows else [(0, ("no row",))]
    for number, (sign, values) in enumerate(lines):
        at = top - 1.5 - number
        color = {0: KEPT, 1: CAME, -1: GONE}[sign]
        axes.add_patch(
            patches.Rectangle((left, at - 0.45), 9, 0.92, fc=color, ec="#999999", lw=0.5)
        )
        mark = {0: "", 1: "+", -1: "-"}[sign]
        axes.text(left + 0.3, at, mark, fontsize=9, va="center", family="monospace")
        for place, value in enumerate(values):
            weight = "bold" if not number and panel.rows else "normal"
            shown = "NULL" if value is None else str(value)
            axes.text(left + 1 + place * 2.8, at, shown, fontsize=8, va="center", weight=weight)
    return top - 1.5 - len(lines)


if __name__ == "__main__":
    main()
