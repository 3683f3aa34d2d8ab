"""Any model, any rows, any changes: the view equals its query after every refresh."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

from hypothesis import given, note
from hypothesis import strategies as st

from python_ivm.refresh.statements import Strategy
from tests.planner.compare import assert_same
from tests.planner.lake import Lake, Row
from tests.planner.queries import (
    DATE,
    DECIMAL,
    DOUBLE,
    INT,
    SPARK_TYPES,
    TEXT,
    Column,
    Relation,
    Writer,
)

# Few values, so that rows meet in joins, share groups and repeat; what is listed twice is twice
# as likely.
VALUES = {
    INT: (1, 1, 2, 2, 0, 3, None),
    TEXT: ("a", "a", "b", "", None),
    DATE: (date(2024, 1, 1), date(2024, 1, 1), date(2024, 2, 29), None),
    DECIMAL: (Decimal("1.50"), Decimal("1.50"), Decimal("-0.25"), Decimal("7.01"), None),
    DOUBLE: (0.25, 0.25, -1.5, 3.0, 0.0, -0.0, float("nan"), float("inf"), float("-inf"), None),
}
NAMES = {INT: ("k", "i", "j"), TEXT: ("s",), DATE: ("d",), DECIMAL: ("m",), DOUBLE: ("f",)}


KINDS = (
    *["insert"] * 4, *["delete"] * 3, *["update"] * 5, "same", "again", "optimize", "all",
)  # fmt: skip


@dataclass(frozen=True)
class Step:
    """One commit: what happens to which table; rows are chosen modulo the table's size."""

    table: int
    kind: str
    chosen: tuple[int, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Case:
    tables: tuple[tuple[dict[str, str], list[Row]], ...]
    sql: str
    full: bool
    rounds: list[list[Step]]


Draw = Callable[[st.SearchStrategy[Any]], Any]


def _rows(columns: list[tuple[str, str]], least: int, most: int) -> st.SearchStrategy[list[Row]]:
    row = st.tuples(*(st.sampled_from(VALUES[kind]) for _, kind in columns))
    return st.integers(least, most).flatmap(lambda n: st.lists(row, min_size=n, max_size=n))


@st.composite
def cases(draw: Draw) -> Case:
    """Two or three tables, a model on them, and rounds of commits."""
    shapes = []
    for _ in range(draw(st.integers(2, 3))):
        kinds = draw(st.lists(st.sampled_from(tuple(VALUES)), min_size=1, max_size=3))
        names = {name: kind for kind in kinds for name in [draw(st.sampled_from(NAMES[kind]))]}
        shapes.append(list({"k": INT, **names}.items()))
    contents = [draw(_rows(shape, draw(st.sampled_from((3, 3, 3, 0))), 7)) for shape in shapes]
    relations = tuple(
        Relation(f"s.t{n}", tuple(Column(name, kind) for name, kind in shape), 6)
        for n, shape in enumerate(shapes, 1)
    )
    writer = Writer(draw, relations)
    sql = writer.model(draw(st.sampled_from((1, 2, 2, 3, 0, 4))))
    read = [n for n in range(len(shapes)) if f"s.t{n + 1}" in sql]

    def step(table: int) -> st.SearchStrategy[Step]:
        chosen = st.lists(st.integers(0, 6), min_size=1, max_size=3).map(tuple)
        inserted = _rows(shapes[table], 1, 3).map(tuple)
        return st.builds(Step, st.just(table), st.sampled_from(KINDS), chosen, inserted)

    one_of_all = st.integers(0, len(shapes) - 1)
    steps = st.one_of(*[st.sampled_from(read)] * 5, one_of_all).flatmap(step)
    rounds = []
    for _ in range(draw(st.integers(2, 4))):
        number = draw(st.sampled_from((1, 1, 2, 2, 3, 4, 0)))
        rounds.append(draw(st.lists(steps, min_size=number, max_size=number)))
    tables = tuple(
        ({name: SPARK_TYPES[kind] for name, kind in shape}, rows)
        for shape, rows in zip(shapes, contents, strict=True)
    )
    return Case(tables, sql, writer.full, rounds)


def apply(lake: Lake, step: Step) -> None:
    """Commit one step."""
    name = f"t{step.table + 1}"
    present = lake.rows[name][-1]
    indexes = {index % len(present) for index in step.chosen} if present else set()
    chosen = [present[index] for index in sorted(indexes)]
    inserted = list(step.rows)
    match step.kind:
        case "insert":
            lake.change(name, insert=inserted)
        case "delete":
            lake.change(name, delete=chosen)
        case "update":
            lake.change(name, delete=chosen, insert=inserted[: len(chosen)])
        case "same":  # an update that changes nothing
            lake.change(name, delete=chosen, insert=chosen)
        case "again":  # deleted, and inserted again by a later commit
            lake.change(name, delete=chosen)
            lake.change(name, insert=chosen)
        case "all":
            lake.change(name, delete=list(present))
        case "optimize":
            lake.optimize(name)


@given(cases())
def test_every_view_equals_its_query_after_every_round_of_changes(case: Case) -> None:
    lake = Lake()
    for number, (columns, rows) in enumerate(case.tables, 1):
        lake.create(f"t{number}", columns, rows)
    note(case.sql)
    first = lake.run("m", case.sql)
    assert first.strategy is Strategy.FULL
    assert_same(lake, "m")
    for steps in case.rounds:
        for step in steps:
            apply(lake, step)
        refresh = lake.run("m", case.sql)
        note("\n".join(s.sql for s in refresh.statements))
        assert_same(lake, "m")
        if not case.full:
            assert refresh.strategy is not Strategy.FULL, refresh.explanation
    assert lake.run("m", case.sql).strategy is Strategy.NOOP
