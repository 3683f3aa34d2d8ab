"""WITH RECURSIVE: a recursion over signed rows of what a change begins and ends."""

from __future__ import annotations

import random

import pytest

from python_ivm.refresh import rounds_in_memory
from python_ivm.refresh.plan import Strategy
from python_ivm.refresh.statement import StatementKind
from python_ivm.rows.circuit import Limits
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


@pytest.fixture
def in_memory(staff: Lake) -> Lake:
    """Tables of which it is known that they are small."""
    staff.size_of = lambda name: 1000
    staff.without_passes = frozenset({"cheaper_recompute"})
    return staff


def _told(lake: Lake) -> tuple[list[StatementKind], int]:
    """What the last refresh ran, and how often a round changed something."""
    return [statement.kind for statement in lake.executed], lake.looped.rounds


def test_rounds_of_few_rows_are_no_statements(in_memory: Lake) -> None:
    view = View(in_memory, f"{CHAIN} select id, depth from chain")
    in_memory.executed.clear()
    in_memory.change("staff", delete=[(2, 1)], insert=[(2, 3)])
    view.refresh()
    assert _told(in_memory) == ([StatementKind.LOOP, StatementKind.MERGE], 2)
    assert not any("RECURSIVE" in statement.sql for statement in in_memory.executed)
    view.shows((1, 0), (3, 1), (2, 2), (4, 3), (4, 3))


def test_a_circle_has_no_last_round_in_memory_either(in_memory: Lake) -> None:
    in_memory.change("staff", insert=[(5, 4)])
    view = View(in_memory, f"{CHAIN} select id, depth from chain")
    in_memory.change("staff", delete=[(2, 1)], insert=[(2, 5)])
    refresh = view.refresh(Strategy.RECOMPUTE)
    assert refresh.reason == "RECURSION_LIMIT"
    assert "went on for" in refresh.explanation
    view.shows((1, 0), (3, 1))


def test_a_circle_whose_rows_come_and_go_at_once(in_memory: Lake) -> None:
    """One row goes as its way in goes, and comes as the circle is closed: they do not cancel."""
    view = View(in_memory, f"{CHAIN} select id, 0 as d from chain")
    in_memory.change("staff", delete=[(2, 1)], insert=[(2, 4)])
    assert view.refresh(Strategy.RECOMPUTE).reason == "RECURSION_LIMIT"
    view.shows((1, 0), (3, 0))


def test_a_change_of_too_many_rows_is_recomputed(
    in_memory: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rounds_in_memory, "_LIMITS", Limits(rounds=100, rows=4))
    view = View(in_memory, f"{CHAIN} select id, depth from chain")
    for rows, told in (
        ([(n, 1) for n in range(10, 15)], "begins with more than 4 rows"),
        ([(20, 1), (21, 20), (22, 21), (23, 22), (24, 23)], "went on for"),
    ):
        in_memory.change("staff", insert=rows)
        refresh = view.refresh(Strategy.RECOMPUTE)
        assert refresh.reason == "RECURSION_LIMIT"
        assert told in refresh.explanation
    in_memory.change("staff", insert=[(30, 4)])
    view.refresh()


def test_a_number_that_fits_its_column_no_more_is_left_to_the_query(lake: Lake) -> None:
    lake.create("steps", {"k": "int", "next": "int", "n": "int"}, [(1, 2, 1), (2, 3, 1)])
    lake.size_of = lambda name: 1000
    lake.without_passes = frozenset({"cheaper_recompute"})
    sql = (
        "with recursive r as (select k, cast(1 as int) as n from s.steps where k = 1 union all "
        "select x.next, r.n * x.n from r join s.steps x on x.k = r.k) select k, n from r"
    )
    view = View(lake, sql)
    lake.change("steps", delete=[(2, 3, 1)], insert=[(2, 3, 2_000_000_000)])
    view.refresh()
    lake.change("steps", insert=[(3, 4, 2)])
    with pytest.raises(Exception, match=r"(?i)overflow|out of"):
        view.refresh(Strategy.RECOMPUTE)


def test_what_rows_in_memory_do_not_know_is_left_to_spark(in_memory: Lake) -> None:
    body = CHAIN.replace("c.depth + 1", "cast(floor(sqrt(c.depth * c.depth)) as int) + 1")
    view = View(in_memory, f"{body} select id, depth from chain")
    in_memory.executed.clear()
    in_memory.change("staff", delete=[(2, 1)], insert=[(2, 3)])
    view.refresh()
    assert _told(in_memory)[0] == [StatementKind.MERGE]


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
        seeded = random.Random(seed * 1000 + number)
        random_life(seeded, in_memory=seeded.random() < 0.5)


def random_life(seeded: random.Random, in_memory: bool) -> None:
    """A recursion drawn by lot follows three changes, and equals its query after each."""
    lake = Lake()
    if in_memory:
        lake.size_of = lambda name: 1000  # then the rounds are run in memory
        lake.without_passes = frozenset({"cheaper_recompute"})
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
