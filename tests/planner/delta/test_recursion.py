"""WITH RECURSIVE: a recursion over signed rows of what a change begins and ends."""

from __future__ import annotations

import random

import pytest

from python_ivm.refresh.statement import Strategy
from tests.planner.lake import Lake
from tests.planner.stories import View

CHAIN = """with recursive chain as (
    select id, 0 as depth from s.staff where boss is null
    union all
    select s.id, c.depth + 1 from s.staff s join chain c on s.boss = c.id
)"""
ROWS = [(1, None), (2, 1), (3, 1), (4, 2), (4, 2)]


@pytest.fixture
def staff(lake: Lake) -> Lake:
    lake.create("staff", {"id": "int", "boss": "int"}, ROWS)
    return lake


def test_a_large_change(staff: Lake) -> None:
    view = View(staff, f"{CHAIN} select depth, count(*) as n, max(id) as m from chain group by 1")
    staff.change("staff", delete=ROWS, insert=[(n, n // 3 or None) for n in range(1, 90)])
    view.refresh()
    view.shows((0, 2, 2), (1, 6, 8), (2, 18, 26), (3, 54, 80), (4, 9, 89))


def test_a_view_with_a_recursion_and_a_model_over_one(staff: Lake) -> None:
    staff.define("org", f"{CHAIN} select id, depth from chain")
    view = View(staff, "select o.depth, s.id from s.org o join s.staff s on s.boss = o.id")
    staff.run("org_model", f"{CHAIN} select id, depth from chain")
    above = "select depth, count(*) as n from s.org_model group by depth"
    staff.run("above", above)
    staff.change("staff", delete=[(2, 1)], insert=[(2, 3)])
    view.refresh()
    assert staff.run("org_model", f"{CHAIN} select id, depth from chain").strategy is (
        Strategy.INCREMENTAL
    )
    assert staff.run("above", above).strategy is Strategy.INCREMENTAL
    staff.check("above")


REACHES = "with recursive r as ({anchor} union all {step}) "
ANCHORS = (
    "select x.a as k, 0 as d, x.w as v from s.edges x where x.a <= 2",
    "select n.k, 0 as d, n.v from s.nodes n",
    "select k, count(*) - count(*) as d, max(v) as v from s.nodes group by k",
    "select n.k, 0 as d, x.w as v from s.nodes n left join s.edges x on x.b = n.k and n.k < 3",
)
STEPS = (
    "select x.b as k, r.d + 1 as d, r.v from r join s.edges x on x.a = r.k",
    "select x.b as k, r.d + 1 as d, r.v + x.w as v from s.edges x join r on x.a = r.k "
    "join s.nodes n on n.k = x.b",
    "select x.b as k, r.d + 1 as d, x.w as v from r left join s.edges x on x.a = r.k "
    "where r.k is not null",
    "select x.b as k, r.d + 1 as d, r.v from r join s.edges x on x.a = r.k "
    "where not exists (select 1 from s.nodes n where n.k = x.b and n.v > 1)",
    "select x.b as k, r.d + 1 as d, r.v from (select k + 0 as k, d, v from r where d < 3) r "
    "join s.edges x on x.a = r.k where x.b in (select k from s.nodes)",
    "select x.b as k, r.d + 1 as d, q.m as v from r join s.edges x on x.a = r.k "
    "left join (select k, max(v) as m from s.nodes group by k) q on q.k = r.k",
    "select n.k + r.k - r.k as k, r.d + 1 as d, r.v from r, s.nodes n where n.k > r.k + 1",
)
VIEWS = (
    "select k, d, v from r",
    "select k * 2 as k from r where d > 0",
    "select k, v from r order by k, d, v limit 4",
    "select d, count(*) as n, max(v) as m from r group by d",
    "select r.k, n.v from r join s.nodes n on n.k = r.k",
    "select k, row_number() over (partition by d order by k, v) as p from r",
)


def _edge(seeded: random.Random) -> tuple[int | None, int | None, int | None]:
    """From a smaller to a larger number, so that no chain comes back; NULLs lead nowhere."""
    low, high = sorted(seeded.sample(range(1, 7), 2))
    ends = seeded.choice([(low, high)] * 8 + [(None, high), (low, None)])
    return (*ends, seeded.choice([None, 0, 1, 2]))


@pytest.mark.parametrize("seed", range(12))
def test_random_recursions_equal_their_queries(seed: int, pytestconfig: pytest.Config) -> None:
    for number in range((pytestconfig.getoption("ivm_examples") or 36) // 12):
        _random_life(random.Random(seed * 1000 + number))


def _random_life(seeded: random.Random) -> None:
    lake = Lake()
    edges = [_edge(seeded) for _ in range(7)]
    nodes = [(k, seeded.choice([None, 0, 1, 2])) for k in (1, 2, 3, 3, 5, None)]
    lake.create("edges", {"a": "int", "b": "int", "w": "int"}, edges)
    lake.create("nodes", {"k": "int", "v": "int"}, nodes)
    body = REACHES.format(anchor=seeded.choice(ANCHORS), step=seeded.choice(STEPS))
    view = View(lake, body + seeded.choice(VIEWS))
    for _ in range(3):
        for name, rows, new in (
            ("edges", edges, [_edge(seeded) for _ in range(seeded.randint(0, 3))]),
            ("nodes", nodes, [(seeded.randint(1, 6), 1) for _ in range(seeded.randint(0, 2))]),
        ):
            gone = seeded.sample(rows, min(len(rows), seeded.randint(0, 2)))
            if gone or new:
                lake.change(name, delete=gone, insert=new)
            for row in gone:
                rows.remove(row)
            rows += new
        view.refresh(Strategy.INCREMENTAL, Strategy.NOOP)
