"""The emitted SQL: a few texts for a person to review, and how its size grows."""

from __future__ import annotations

import pytest

from python_ivm.refresh.statement import StatementKind
from python_ivm.render.renderer import Renderer
from tests.planner.lake import Lake
from tests.planner.stories import View


def chain_of_joins(lake: Lake, length: int) -> str:
    for n in range(length):
        lake.create(f"t{n}", {"k": "int", f"v{n}": "int"}, [(1, n), (2, n)])
    joins = " ".join(f"join s.t{n} using (k)" for n in range(1, length))
    return f"select k, v0, v{length - 1} w from s.t0 {joins}"


def nested_aggregates(lake: Lake, depth: int) -> str:
    lake.create("t", {f"k{n}": "int" for n in range(depth + 1)}, [tuple(range(depth + 1))])
    sql = f"select {', '.join(f'k{n}' for n in range(depth + 1))}, 1 as v from s.t"
    for level in range(depth, 0, -1):
        keys = ", ".join(f"k{n}" for n in range(level))
        sql = f"select {keys}, max(v) + count(*) as v from ({sql}) q{level} group by {keys}"
    return sql


def change_all(lake: Lake) -> None:
    for name, versions in list(lake.rows.items()):
        lake.change(name, delete=versions[-1][:1], insert=2 * versions[-1][:1])


def length_of_merge(make: object, size: int) -> int:
    lake = Lake()
    sql = make(lake, size)  # type: ignore[operator]
    view = View(lake, sql)
    change_all(lake)
    return len(view.planned().sql)


@pytest.mark.parametrize("make", [chain_of_joins, nested_aggregates])
def test_the_emitted_sql_grows_with_the_square_of_the_query_at_most(make: object) -> None:
    two, four, eight = (length_of_merge(make, size) for size in (2, 4, 8))
    assert four <= 4.2 * two
    assert eight <= 4.2 * four


@pytest.mark.parametrize("make", [chain_of_joins, nested_aggregates])
def test_planning_visits_each_part_a_bounded_number_of_times(
    make: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rendering a finished part twice at every level took seconds for three levels."""
    visits = 0
    block = Renderer._block

    def counted(self: Renderer, node: object) -> object:
        nonlocal visits
        visits += 1
        return block(self, node)  # type: ignore[arg-type]

    monkeypatch.setattr(Renderer, "_block", counted)
    seen = []
    for size in (3, 6):
        lake = Lake()
        view = View(lake, make(lake, size))  # type: ignore[operator]
        change_all(lake)
        visits = 0
        view.planned()
        seen.append(visits)
    assert seen[1] <= 4.2 * seen[0]


def test_a_six_way_join_is_planned_and_right(lake: Lake) -> None:
    view = View(lake, chain_of_joins(lake, 6))
    change_all(lake)
    for n in range(6):
        lake.change(f"t{n}", insert=[(3, n), (1, n)], delete=[(2, n)])
    view.refresh()


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (
            "a.k in (select b.k from s.b where b.w > 1)",
            "a.k IN ( SELECT subquery.k FROM subquery )",
        ),
        ("a.k in (select -b.k + 4 from s.b)", "a.k IN ( SELECT -subquery.k + 4 FROM subquery )"),
        ("(a.k, a.v) in (select b.k, b.w from s.b)", "(a.k, a.v) IN ( SELECT"),
        ("a.k in (select b.k from s.b join s.a x on x.k = b.w)", "a.k IN ( SELECT"),
        ("a.k in (select b.k from s.b where b.w in (select k from s.a))", "a.k IN ( SELECT"),
        ("a.k in (select b.k from s.b where b.w = a.v)", "LEFT SEMI JOIN"),
        ("a.k in (select b.k from s.b where b.w < a.v)", "LEFT SEMI JOIN"),
        ("a.k + 1 in (select b.k from s.b)", "LEFT SEMI JOIN"),
        ("(not a.yes) in (select b.yes from s.b)", "LEFT SEMI JOIN"),
        ("a.v > 0 and (a.yes or a.k > 1) in (select b.yes from s.b)", "LEFT SEMI JOIN"),
        ("(a.v is null) in (select b.yes from s.b)", "LEFT SEMI JOIN"),
        ("not (not a.yes in (select b.yes from s.b))", "a.yes IN ( SELECT"),
        ("a.k in (select max(b.k) from s.b group by b.w)", "LEFT SEMI JOIN"),
        ("exists (select 1 from s.b where b.k = a.k)", "LEFT SEMI JOIN"),
        ("a.k not in (select b.k from s.b)", "LEFT ANTI JOIN"),
    ],
)
def test_an_in_of_joined_tables_stays_one(lake: Lake, condition: str, text: str) -> None:
    """Spark infers an IN for equal columns, and of a semi join nothing."""
    a = [(1, 1, True), (2, 2, False), (2, None, None), (None, 1, False)]
    b = [(1, 1, False), (2, 2, False), (None, 2, None), (3, 1, False)]
    lake.create("a", {"k": "int", "v": "int", "yes": "boolean"}, a)
    lake.create("b", {"k": "int", "w": "int", "yes": "boolean"}, b)
    view = View(lake, f"select v, count(*) as n from s.a where {condition} group by v")
    (built,) = (s.sql for s in lake.executed if s.kind is StatementKind.BUILD)
    assert text in " ".join(built.split())
    lake.change("a", insert=[(2, 5, True), (3, 3, False)])
    assert "a.k IN (" not in view.planned().sql, "of a delta it is a join"
    view.refresh()
    lake.change("b", insert=[(3, 2, True)], delete=[(2, 2, False)])
    view.refresh()
