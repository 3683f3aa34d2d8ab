"""Random cases: tables, views and maintained models over them, a model over all, and changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tests.planner.lake import Lake, Row
from tests.planner.queries import Column, Relation, Writer
from tests.planner.queries.kinds import INT, NAMES, SPARK_TYPES, VALUES

KINDS = (
    *["insert"] * 4, *["delete"] * 3, *["update"] * 5, "same", "again", "optimize", "all",
)  # fmt: skip
VIEW, MODEL = "view", "model"


@dataclass(frozen=True)
class Step:
    """One commit: what happens to which table; rows are chosen modulo the table's size."""

    table: int
    kind: str
    chosen: tuple[int, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Round:
    """What happens between two refreshes.

    Attributes:
        steps: The commits.
        days: By how much the clock moves.
        stale: Whether the models below the last one are left out of the run.
    """

    steps: list[Step]
    days: int = 0
    stale: bool = False


@dataclass(frozen=True)
class Below:
    """A view, or a maintained model, that the model may read."""

    name: str
    kind: str
    sql: str


@dataclass(frozen=True)
class Case:
    """Tables with their rows, what stands between them and the model, the model, and changes."""

    tables: tuple[tuple[dict[str, str], list[Row]], ...]
    below: tuple[Below, ...]
    sql: str
    rounds: list[Round]

    def told(self) -> str:
        """The whole as text."""
        between = [f"{b.kind} {b.name}: {b.sql}" for b in self.below]
        return "\n".join([*map(str, self.tables), *between, self.sql, *map(str, self.rounds)])


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
    relations = [
        Relation(f"s.t{n}", tuple(Column(name, kind) for name, kind in shape), 6)
        for n, shape in enumerate(shapes, 1)
    ]
    below: list[Below] = []
    for kind in draw(st.sampled_from(((), (), (), (), (VIEW,), (MODEL,), (VIEW, MODEL),
                                      (MODEL, VIEW), (VIEW, VIEW), (MODEL, MODEL)))):  # fmt: skip
        made = Writer(draw, tuple(relations), subqueries=1).model(draw(st.integers(0, 1)), False)
        name = f"{kind[0]}{len(below) + 1}"
        below.append(Below(name, kind, made.sql))
        seen = [c.name.lower() for c in made.columns]
        if len(set(seen)) == len(seen):
            relations += [Relation(f"s.{name}", made.columns, made.size)] * 2
    writer = Writer(draw, tuple(relations))
    sql = writer.model(draw(st.sampled_from((1, 2, 2, 3, 0, 4)))).sql
    texts = " ".join([sql, *(b.sql for b in below)])
    read = [n for n in range(len(shapes)) if f"s.t{n + 1}" in texts]

    def step(table: int) -> st.SearchStrategy[Step]:
        chosen = st.lists(st.integers(0, 6), min_size=1, max_size=3).map(tuple)
        inserted = _rows(shapes[table], 1, 3).map(tuple)
        return st.builds(Step, st.just(table), st.sampled_from(KINDS), chosen, inserted)

    one_of_all = st.integers(0, len(shapes) - 1)
    steps = st.one_of(*[st.sampled_from(read)] * 5, one_of_all).flatmap(step)
    rounds = []
    for _ in range(draw(st.integers(2, 4))):
        number = draw(st.sampled_from((1, 1, 2, 2, 3, 4, 0)))
        changes = draw(st.lists(steps, min_size=number, max_size=number))
        days = draw(st.sampled_from((0, 0, 0, 1, 31, -30)))
        rounds.append(Round(changes, days, draw(st.integers(0, 9)) == 9))
    tables = tuple(
        ({name: SPARK_TYPES[kind] for name, kind in shape}, rows)
        for shape, rows in zip(shapes, contents, strict=True)
    )
    return Case(tables, tuple(below), sql, rounds)


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
